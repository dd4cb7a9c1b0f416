package dashboard

import (
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
)

var settingsRoutes = []route{
	{"/settings", forSignedIn, map[string]handler{"GET": (*Server).settings}},
	{"/settings/keys", forAdmins, map[string]handler{"POST": (*Server).addKey}},
	{"/settings/keys/{key_id}/revoke", forAdmins, map[string]handler{"POST": (*Server).revokeKey}},
	{"/settings/signing-secret", forAdmins, map[string]handler{"POST": (*Server).rotateSecret}},
	{"/settings/password", forPersons, map[string]handler{"POST": (*Server).changePassword}},
	{"/settings/delete", forOwners, map[string]handler{"POST": (*Server).deleteAccount}},
}

func (s *Server) settings(c *call) error {
	d, err := s.readSettings(c)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, view.SettingsPage(d))
}

func (s *Server) readSettings(c *call) (*view.Settings, error) {
	// Read again, since the form may have just changed it.
	account, err := s.Auth.CurrentAccount(c.r.Context(), c.owner().Number)
	if err != nil {
		return nil, err
	}
	person, err := s.People.Person(c.r.Context(), c.visit.Person.ID)
	if err != nil {
		return nil, err
	}
	d := &view.Settings{
		Admin: c.may(identity.RoleAdmin), Owner: c.may(identity.RoleOwner), Person: person.Email, Role: string(c.viewer.role),
		HasPassword: person.Password != "" && !s.People.NoPasswords,
		Provider:    c.session.Provider.Issuer, SessionMaxAge: s.People.SessionMaxAge,
		EmailConfirmed: person.EmailState == identity.EmailConfirmed,
		CanChangeEmail: s.People.Mails() && person.Password != "",
		CanConfirm:     s.People.Mails() && person.EmailState != identity.EmailConfirmed && person.Password != "",
		ID:             account.ID.String(), Email: account.Email, CreatedAt: account.CreatedAt, NewKey: c.newKey(), Notice: c.notice(),
		Scopes: scopeChoices, Expiries: expiryChoices, SecondFactor: auth.HasTOTP(person), Retention: "For ever",
	}
	if err := quota.Suspended(account); err != nil {
		d.Suspension = ui.Sentence(err.Error())
	}
	if s.Retention > 0 {
		d.Retention = ui.Period(s.Retention)
	}
	if !d.Admin {
		return d, s.readSessions(c, d)
	}
	for _, secret := range account.Secrets {
		d.Secrets = append(d.Secrets, view.Secret{Value: secret.Value, CreatedAt: secret.CreatedAt, ExpiresAt: secret.ExpiresAt})
	}
	if err := s.readKeys(c, d); err != nil {
		return nil, err
	}
	return d, s.readSessions(c, d)
}

// ofForm reports whether an error is shown in the form that was sent: about what was
// entered, or how often.
func ofForm(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Invalid || code == fault.TooMany
}

// ofRecordForm reports the same for the form of a record, which may also conflict with
// another change.
func ofRecordForm(err error) bool { return ofForm(err) || fault.CodeOf(err) == fault.Conflict }

// refuseForm shows the settings again with what is wrong with a form.
func (s *Server) refuseForm(c *call, form string, err error) error {
	if !ofForm(err) {
		return err
	}
	d, readErr := s.readSettings(c)
	if readErr != nil {
		return readErr
	}
	d.Refusal = view.Refusal{Form: form, Values: c.r.PostForm, Err: err}
	return c.render(c.statusOf(err), view.SettingsPage(d))
}

func (s *Server) revokeKey(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("key_id"))
	if !ok {
		return fault.NoSuch("key")
	}
	if err := s.Auth.RevokeKey(c.r.Context(), c.owner(), id, uuid.Nil, c.actor()); err != nil {
		return err
	}
	return c.redirect("/settings?done=revoked")
}

func (s *Server) rotateSecret(c *call) error {
	if _, err := s.Auth.Rotate(c.r.Context(), c.owner(), c.actor()); err != nil {
		return err
	}
	return c.redirect("/settings?done=rotated")
}

func (s *Server) changePassword(c *call) error {
	form := c.r.PostForm
	err := s.People.ChangePassword(c.r.Context(), c.visit, form.Get("current"), form.Get("password"), form.Get("revoke_keys") != "",
		c.address())
	if err != nil {
		return s.refuseForm(c, "password", err)
	}
	if form.Get("revoke_keys") != "" {
		return c.redirect("/settings?done=passwordkeys")
	}
	return c.redirect("/settings?done=password")
}

func (s *Server) deleteAccount(c *call) error {
	form := c.r.PostForm
	if err := s.People.Delete(c.r.Context(), c.visit, form.Get("password"), form.Get("code"), c.address()); err != nil {
		return s.refuseForm(c, "delete", err)
	}
	c.setCookie(sessionCookie, "", 0)
	http.Redirect(c, c.r, "/sign-in?done=deleted", http.StatusSeeOther)
	return nil
}

// usage returns what an account uses of its limits.
func (s *Server) usage(c *call, account int64, limits quota.Limits) (view.Usage, error) {
	u, err := s.Quotas.Usage(c.r.Context(), account, limits)
	if err != nil {
		return view.Usage{}, err
	}
	usage := view.Usage{Calls: rateOf(limits.Rate), PendingJobs: used(u.Pending, limits.Pending),
		Schedules: used(u.Schedules, limits.Schedules)}
	if limits.Stored > 0 {
		usage.Stored = stored(u, limits.Stored)
	}
	return usage, nil
}

// rateOf formats a limit of calls.
func rateOf(r quota.Rate) string {
	if r == 0 {
		return "Any number of calls a second"
	}
	return strconv.FormatFloat(float64(r), 'f', -1, 64) + " calls a second"
}

// used formats a number of records and its limit, where 0 is unlimited.
func used(n, limit int64) string {
	text := ui.Count(n)
	if limit == 0 && n >= quota.Counted {
		text += "+"
	}
	if limit > 0 {
		text += " of " + ui.Count(limit)
	}
	return text
}

// stored formats the size of an account's records and its limit.
func stored(u quota.Usage, limit int64) string {
	if u.SampledAt.IsZero() {
		return "at most " + quota.FormatSize(limit)
	}
	return ui.Size(int(u.Stored)) + " of " + quota.FormatSize(limit)
}

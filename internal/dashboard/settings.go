package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/store"
)

var settingsRoutes = []route{
	{"/settings", forOwners, map[string]handler{"GET": (*Server).settings}},
	{"/settings/keys", forOwners, map[string]handler{"POST": (*Server).addKey}},
	{"/settings/keys/{key_id}/revoke", forOwners, map[string]handler{"POST": (*Server).revokeKey}},
	{"/settings/signing-secret", forOwners, map[string]handler{"POST": (*Server).rotateSecret}},
	{"/settings/password", forOwners, map[string]handler{"POST": (*Server).changePassword}},
	{"/settings/delete", forOwners, map[string]handler{"POST": (*Server).deleteAccount}},
}

// keysShown is how many keys a page of the settings has.
const keysShown = 20

// settings is what the page of an account's settings shows.
type settings struct {
	account   *store.Account
	newKey    string       // shown this once
	keys      []*store.Key // those that work, newest first, a page of them
	working   int
	revoked   int
	next      string
	first     string
	limits    quota.Limits
	usage     quota.Usage
	retention string
	notice    string
	sessions  []*store.Session // those used last
	others    int              // sessions that are not shown
	session   []byte           // the hash of the one that shows the page
	values    url.Values       // of the form that was refused
	refusal
}

// refusal is a form that was refused, and why.
type refusal struct {
	form string
	err  error
}

// at gives the problem with a field of a form; "" when it was not that form.
func (d *refusal) at(form, pointer string) string {
	if d.form != form {
		return ""
	}
	return problemAt(d.err, pointer)
}

// said gives what is wrong with a form as a whole.
func (d *refusal) said(form string) string {
	f, ok := d.err.(*fault.Error)
	if !ok || d.form != form {
		return ""
	}
	if len(f.Problems) > 0 && f.Problems[0].Pointer != "#" {
		return "This can't be taken yet. Please check what is marked below."
	}
	return capital(f.Message)
}

func (s *Server) settings(c *call) error {
	d, err := s.readSettings(c)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, settingsPage(d))
}

func (s *Server) readSettings(c *call) (*settings, error) {
	// Anew, since the form before may have changed it.
	account, err := s.Store.AccountOf(c.r.Context(), c.owner().Number)
	if err != nil {
		return nil, err
	}
	keys, err := s.Store.KeyList(c.r.Context(), account.Number)
	if err != nil {
		return nil, err
	}
	d := &settings{account: account, newKey: c.newKey(), notice: c.notice(), retention: "For ever"}
	if d.limits, err = s.Quotas.Limits(c.r.Context(), account.Number); err != nil {
		return nil, err
	}
	if d.usage, err = s.Quotas.Usage(c.r.Context(), account.Number, d.limits); err != nil {
		return nil, err
	}
	if s.Retention > 0 {
		d.retention = ui.Period(s.Retention)
	}
	all := len(keys)
	keys = slices.DeleteFunc(keys, func(k *store.Key) bool { return !auth.Works(k, s.Store.Now()) })
	slices.Reverse(keys)
	d.working, d.revoked = len(keys), all-len(keys)
	if err := s.readSessions(c, d); err != nil {
		return nil, err
	}
	from, _ := strconv.Atoi(c.param("from")) // anything else is the beginning
	from = min(max(from, 0), len(keys))
	d.keys = keys[from:min(from+keysShown, len(keys))]
	if from+keysShown < len(keys) {
		d.next = c.here("from", strconv.Itoa(from+keysShown))
	}
	if from > 0 {
		d.first = c.here("from", "")
	}
	return d, nil
}

// refuse shows the settings again with what is wrong with a form.
func (s *Server) refuseForm(c *call, form string, err error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.TooMany:
	default:
		return err
	}
	d, readErr := s.readSettings(c)
	if readErr != nil {
		return readErr
	}
	d.refusal, d.values = refusal{form, err}, c.r.PostForm
	return c.render(c.statusOf(err), settingsPage(d))
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
	err := s.People.ChangePassword(c.r.Context(), c.viewer().Account, c.session, form.Get("current"), form.Get("password"), form.Get("revoke_keys") != "", c.address())
	if err != nil {
		return s.refuseForm(c, "password", err)
	}
	if form.Get("revoke_keys") != "" {
		return c.redirect("/settings?done=passwordkeys")
	}
	return c.redirect("/settings?done=password")
}

func (s *Server) deleteAccount(c *call) error {
	if err := s.People.Delete(c.r.Context(), c.viewer().Account, c.r.PostForm.Get("password"), c.address()); err != nil {
		return s.refuseForm(c, "delete", err)
	}
	c.setCookie(sessionCookie, "", 0)
	http.Redirect(c, c.r, "/sign-in?done=deleted", http.StatusSeeOther)
	return nil
}

// lastUsed says when a key was last used, exact to half a minute.
func lastUsed(k *store.Key) string {
	if k.LastUsedAt.IsZero() {
		return "never used"
	}
	return ""
}

// keyName is what a key is called.
func keyName(k *store.Key) string {
	if k.Name == "" {
		return "Key without a name"
	}
	return k.Name
}

// maxKeys is told when there can't be more.
const maxKeys = auth.MaxKeys

// rateOf says how many calls a second there may be.
func rateOf(r quota.Rate) string {
	if r == 0 {
		return "Any number of calls a second"
	}
	return strconv.FormatFloat(float64(r), 'f', -1, 64) + " calls a second"
}

// used says how many there are of how many there may be; 0 is any number.
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

// stored says how much space an account's records take up.
func stored(u quota.Usage, limit int64) string {
	if u.SampledAt.IsZero() {
		return "at most " + quota.FormatSize(limit)
	}
	return ui.Size(int(u.Stored)) + " of " + quota.FormatSize(limit)
}

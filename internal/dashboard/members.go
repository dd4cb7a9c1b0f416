package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// switchPath is where the form of the switcher is sent.
const switchPath = "/account/switch"

var memberRoutes = []route{
	{"/settings/members", forSignedIn, map[string]handler{"GET": (*Server).members}},
	{"/settings/members/invite", forAdmins, map[string]handler{"POST": (*Server).inviteMember}},
	{"/settings/members/{member_id}/role", forAdmins, map[string]handler{"POST": (*Server).changeMember}},
	{"/settings/members/{member_id}/remove", forPersons, map[string]handler{"POST": (*Server).removeMember}},
	{switchPath, forPersons, map[string]handler{"POST": (*Server).switchAccount}},
}

func (s *Server) members(c *call) error {
	return s.showMembers(c, http.StatusOK, &view.Members{Notice: c.notice()})
}

// showMembers shows the persons and invitations of the account.
func (s *Server) showMembers(c *call, status int, d *view.Members) error {
	members, err := s.Members.List(c.r.Context(), c.owner())
	if err != nil {
		return err
	}
	d.Account, d.Admin = c.account().Email, c.may(identity.RoleAdmin)
	for _, role := range identity.Roles {
		if c.may(role) {
			d.Roles = append(d.Roles, ui.Choice{Value: string(role), Label: roleWords[role]})
		}
	}
	for _, m := range members {
		d.All = append(d.All, view.Member{
			ID: m.ID.String(), Email: m.Email, Role: string(m.Role), Invited: m.Invited(), Self: m.Person == c.visit.Person.ID,
			Since: m.CreatedAt, Until: m.ExpiresAt, Changeable: d.Admin && c.may(m.Role),
		})
	}
	return c.render(status, view.MembersPage(d))
}

// roleWords describe the roles.
var roleWords = map[identity.Role]string{
	identity.RoleViewer: "viewer: see jobs, schedules and logs",
	identity.RoleEditor: "editor: also create and change jobs and schedules",
	identity.RoleAdmin:  "admin: also keys, secrets and people",
	identity.RoleOwner:  "owner: also owners, and deleting the account",
}

// refuseMember shows the page again with what is wrong with a form.
func (s *Server) refuseMember(c *call, form string, err error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.TooMany, fault.Conflict:
		return s.showMembers(c, c.statusOf(err), &view.Members{Refusal: view.Refusal{Form: form, Values: c.r.PostForm, Err: err}})
	}
	return err
}

func (s *Server) inviteMember(c *call) error {
	form := c.r.PostForm
	member, link, err := s.Members.Invite(c.r.Context(), c.owner(), form.Get("email"), identity.Role(form.Get("role")), edge.Origin(c.r),
		c.actor())
	if err != nil {
		return s.refuseMember(c, "invite", err)
	}
	return s.showMembers(c, http.StatusOK, &view.Members{Link: link, LinkFor: member.Email})
}

// memberID returns the ID of the member that the path names.
func (c *call) memberID() (uuid.UUID, error) {
	id, ok := job.ParseID(c.r.PathValue("member_id"))
	if !ok {
		return id, fault.NoSuch("member")
	}
	return id, nil
}

func (s *Server) changeMember(c *call) error {
	id, err := c.memberID()
	if err == nil {
		_, err = s.Members.Change(c.r.Context(), c.owner(), id, identity.Role(c.r.PostForm.Get("role")), c.actor())
	}
	if err != nil {
		return s.refuseMember(c, "change", err)
	}
	return c.redirect("/settings/members?done=rolechanged")
}

func (s *Server) removeMember(c *call) error {
	id, err := c.memberID()
	if err == nil {
		err = s.Members.Remove(c.r.Context(), c.owner(), id, c.visit.Person.ID, c.actor())
	}
	if err != nil {
		return s.refuseMember(c, "remove", err)
	}
	return c.redirect("/settings/members?done=memberremoved")
}

// switchAccount has the session show another account, on the same page.
func (s *Server) switchAccount(c *call) error {
	id, err := uuid.Parse(c.r.PostForm.Get("account"))
	if err != nil {
		return fault.NoSuch("account")
	}
	if err := s.People.Switch(c.r.Context(), c.visit, id); err != nil {
		return err
	}
	http.Redirect(c, c.r, s.elsewhere(c.r.PostForm.Get("to")), http.StatusSeeOther)
	return nil
}

// elsewhere returns the page of another account that corresponds to one: the same or,
// if it shows a single record, the list of such records.
func (s *Server) elsewhere(to string) string {
	to = local(to)
	u, err := url.Parse(to)
	if err != nil {
		return "/"
	}
	_, pattern := s.mux.Handler(&http.Request{Method: http.MethodGet, URL: u, Host: "localhost"})
	if pattern == "" || u.Path == "/welcome" {
		return "/"
	}
	if strings.Contains(strings.TrimSuffix(pattern, "{$}"), "{") {
		first, _, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
		return "/" + first
	}
	query := u.Query()
	for _, name := range []string{"done", "count", "part", "cursor", "after"} {
		query.Del(name)
	}
	return (&url.URL{Path: u.Path, RawQuery: query.Encode()}).String()
}

var joinRoutes = []route{
	{auth.JoinPath + "{code}", forAnyone, map[string]handler{"GET": (*Server).invitation, "POST": (*Server).join}},
}

func (s *Server) invitation(c *call) error { return s.showInvitation(c, http.StatusOK, nil) }

func (s *Server) showInvitation(c *call, status int, refusal error) error {
	code := c.r.PathValue("code")
	i, err := s.People.Invitation(c.r.Context(), code)
	if err != nil {
		return err
	}
	d := &view.Invitation{
		Provider: s.providerHref(auth.JoinPath + code), NoPasswords: s.People.NoPasswords,
		Email: i.Email, Role: string(i.Role), Account: i.Account, Known: i.Known, Err: refusal, Path: auth.JoinPath + code,
	}
	if c.visit != nil {
		d.SignedIn = c.visit.Person.Email
	}
	return c.render(status, view.InvitationPage(d))
}

// join accepts an invitation: for who is signed in, or for a new person.
func (s *Server) join(c *call) error {
	code := c.r.PathValue("code")
	if c.visit != nil {
		if err := s.People.Accept(c.r.Context(), c.visit, code, c.address()); err != nil {
			return err
		}
		return c.redirect("/?done=joined")
	}
	token, err := s.People.Join(c.r.Context(), code, c.r.PostForm.Get("password"), c.client())
	if err != nil {
		if ofForm(err) {
			return s.showInvitation(c, c.statusOf(err), err)
		}
		return err
	}
	return s.begin(c, token, "/?done=joined")
}

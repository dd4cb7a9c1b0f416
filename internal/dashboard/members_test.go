package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// joins invites somebody with a role, and returns their browser after they have joined.
func (w *site) joins(account job.Owner, email string, role identity.Role) *browser {
	w.Helper()
	b := w.browser()
	link := w.invited(account, email, role)
	b.want(b.get(link), 200, `name="password"`)
	b.want(b.post(link, "password", secretWords), 303, "/?done=joined")
	return b
}

// invited returns the path of an invitation's link.
func (w *site) invited(account job.Owner, email string, role identity.Role) string {
	w.Helper()
	_, link, err := w.members.Invite(w.Context(), account, email, role, "", audit.Actor{Kind: audit.ByCommand})
	if err != nil {
		w.Fatal(err)
	}
	return link
}

// TestRoutes_ByRole opens every route with every method as a person of every role.
func TestRoutes_ByRole(t *testing.T) {
	w := newSite(t, false)
	w.citizen()
	account := w.owner("ann@example.com")
	cells := 0
	values := regexp.MustCompile(`\{[^}]*\}`)
	for _, role := range []identity.Role{identity.RoleViewer, identity.RoleEditor, identity.RoleAdmin} {
		b := w.joins(account, string(role)+"@example.com", role)
		for _, r := range allRoutes() {
			if r.access == forAnyone || slices.Contains([]string{"/events", "/welcome/events", "/settings/sessions/end-others"}, r.path) {
				continue // streams last, and the session is still needed
			}
			path := values.ReplaceAllString(strings.TrimSuffix(r.path, "{$}"), "01a05e38-6689-7c3e-9d41-0b6f2a5c8e17")
			for method := range r.methods {
				cells++
				got := b.do(method, path, url.Values{}).StatusCode
				switch least := r.least(method); {
				case r.access == forOperators:
					if got != http.StatusNotFound {
						t.Errorf("%s: %s %s: status %d, want 404", role, method, r.path, got)
					}
				case role.Includes(least) == (got == http.StatusForbidden), got >= 500:
					t.Errorf("%s: %s %s: status %d, and it needs %q", role, method, r.path, got, least)
				}
			}
		}
	}
	if cells < 200 {
		t.Errorf("only %d pages were opened", cells)
	}
}

// TestRoutes_LeastRoles writes out what needs more than the rule for its method.
func TestRoutes_LeastRoles(t *testing.T) {
	t.Parallel()
	var admins, owners, viewers []string
	for _, r := range allRoutes() {
		for method := range r.methods {
			name := method + " " + r.path
			switch least := r.least(method); {
			case least == identity.RoleAdmin:
				admins = append(admins, name)
			case least == identity.RoleOwner && r.access != forOperators:
				owners = append(owners, name)
			case least == identity.RoleViewer && method != http.MethodGet:
				viewers = append(viewers, name)
			}
		}
	}
	for what, c := range map[string][2]string{
		"admins": {show(admins), "GET /secrets, GET /settings/audit, POST /secrets, POST /secrets/{name}/delete, POST /settings/keys, POST /settings/keys/{key_id}/revoke, " +
			"POST /settings/members/invite, POST /settings/members/{member_id}/role, POST /settings/signing-secret, POST /welcome/key"},
		"owners": {show(owners), "POST /settings/delete"},
		"viewers": {show(viewers), "POST /account/switch, POST /jobs/preview, POST /jobs/{job_id}/when/preview, POST /preferences, POST /settings/confirm-email, POST /settings/email, POST /settings/members/{member_id}/remove, POST /settings/password, " +
			"POST /settings/second-factor, POST /settings/second-factor/confirm, POST /settings/second-factor/disable, POST /settings/second-factor/recovery-codes, " +
			"POST /settings/sessions/end-others, POST /settings/sessions/{session}/end"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %s\nwant %s", what, c[0], c[1])
		}
	}
}

func show(names []string) string {
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func TestMembers_InviteChangeAndRemove(t *testing.T) {
	w := newSite(t, false)
	ann := w.citizen()
	page := ann.want(ann.post("/settings/members/invite", "email", "bob@example.com", "role", "editor"), 200, "bob@example.com")
	link := regexp.MustCompile(`/join/join_\w{43}`).FindString(page.body)
	ann.want(ann.post("/settings/members/invite", "email", "nobody", "role", "boss"), 422, "must be an email address")
	again := ann.want(ann.post("/settings/members/invite", "email", "Bob@example.com", "role", "viewer"), 200, "invited")
	replaced := regexp.MustCompile(`/join/join_\w{43}`).FindString(again.body)
	bob := w.browser()
	bob.want(bob.get(link), 404, "not known")
	bob.want(bob.get("/join/join_"+strings.Repeat("x", 43)), 404, "not known")
	bob.want(bob.get("/join/%00"), 404, "")
	ann.want(ann.get(replaced), 200, "You are signed in as ann@example.com")
	ann.want(ann.post(replaced), 403, "This invitation is for bob@example.com")
	bob.want(bob.post(replaced, "password", "short"), 422, "must have at least 10")
	bob.want(bob.post(replaced, "password", secretWords), 303, "/?done=joined")
	bob.want(bob.get("/settings/members"), 200, "ann@example.com")
	bob.want(bob.post("/jobs", "url", "https://example.com/"), 403, "needs the role editor in this account, and yours is viewer")
	if page := bob.get("/settings").body; strings.Contains(page, "whsec_") || strings.Contains(page, "Delete this account") {
		t.Error("a viewer sees signing secrets, or the form that deletes the account")
	}
	members, err := w.s.MemberList(t.Context(), 1)
	if err != nil || len(members) != 2 {
		t.Fatalf("%d members, %v", len(members), err)
	}
	first, second := "/settings/members/"+members[0].ID.String(), "/settings/members/"+members[1].ID.String()
	ann.want(ann.post(first+"/role", "role", "admin"), 409, "This is the last owner")
	ann.want(ann.post(first+"/remove"), 409, "This is the last owner")
	ann.want(ann.post(second+"/role", "role", "admin"), 303, "/settings/members?done=rolechanged")
	// An admin makes nobody an owner, neither in the dashboard nor with a key.
	bob.want(bob.post(second+"/role", "role", "owner"), 403, "needs the role owner")
	bob.want(bob.post(first+"/role", "role", "viewer"), 403, "needs the role owner")
	bob.want(bob.post("/settings/members/invite", "email", "eve@example.com", "role", "owner"), 403, "needs the role owner")
	bob.want(bob.post("/settings/keys", "name", "mine", "scope", "admin"), 303, "/settings?done=key")
	keys, err := w.s.KeyList(t.Context(), 1)
	made := map[string]identity.Role{}
	for _, k := range keys {
		made[k.MadeBy] = k.Role()
	}
	if err != nil || len(keys) != 2 || made["bob@example.com"] != identity.RoleAdmin || made["ann@example.com"] != identity.RoleEditor {
		t.Errorf("the keys are made by %v, %v", made, err)
	}
	// Transfer: ann makes bob an owner, then leaves.
	ann.want(ann.post(second+"/role", "role", "owner"), 303, "/settings/members?done=rolechanged")
	ann.want(ann.post(first+"/remove"), 303, "/settings/members?done=memberremoved")
	ann.want(ann.get("/settings"), 303, "/sign-in?to=%2Fsettings")
	ann.want(ann.post("/sign-in", "email", "ann@example.com", "password", secretWords), 401, "")
	bob.want(bob.get("/settings/audit"), 200, "Person left")
	if log := bob.get("/settings/audit").body; !strings.Contains(log, "Dashboard bob@example.com") ||
		!strings.Contains(log, "Dashboard ann@example.com") {
		t.Error("the audit log does not name who did it")
	}
}

func TestSwitch_KeepsThePage(t *testing.T) {
	w := newSite(t, false)
	ann := w.citizen()
	other := w.owner("ann@example.com")
	second := &identity.Account{Owner: job.Owner{ID: job.NewID(noon)}, Email: "team@example.com", CreatedAt: noon}
	if err := w.s.AccountInsert(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	link := w.invited(second.Owner, "ann@example.com", identity.RoleViewer)
	stranger := w.browser()
	stranger.want(stranger.get(link), 200, "Sign in to accept")
	stranger.want(stranger.post(link, "password", secretWords), 422, "")
	ann.want(ann.post(link), 303, "/?done=joined")
	ann.want(ann.get("/settings"), 200, "team@example.com")
	ann.want(ann.post("/settings/delete", "password", secretWords), 403, "needs the role owner")
	for to, want := range map[string]string{
		"/logs?event=x&done=y": "/logs?event=x", "/jobs/17": "/jobs", "/schedules": "/schedules", "/": "/", "https://evil.example/": "/",
		"/nowhere": "/", "//evil.example": "/",
	} {
		ann.want(ann.post("/account/switch", "account", other.ID.String(), "to", to), 303, want)
	}
	ann.want(ann.get("/settings"), 200, "Delete this account")
	ann.want(ann.post("/account/switch", "account", second.ID.String(), "to", "/jobs"), 303, "/jobs")
	ann.want(ann.post("/account/switch", "account", job.NewID(noon).String()), 404, "")
	stranger.want(stranger.post("/account/switch", "account", other.ID.String()), 303, "/sign-in")
	// Signing in again shows the account of the latest session.
	ann.want(ann.post("/sign-in", "email", "ann@example.com", "password", secretWords), 303, "/")
	ann.want(ann.get("/settings"), 200, "team@example.com")
	if least := access.Least["service.Create"]; least != identity.RoleEditor {
		t.Errorf("creating a job needs %s", least)
	}
}

package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// The names of cookies. Over https they have a prefix that prevents other hosts of
// the domain from setting them.
const (
	sessionCookie = "punctual-session"
	pendingCookie = "punctual-pending" // of a sign-in that waits for its code
	keyCookie     = "punctual-key"
	securePrefix  = "__Host-"
)

// cookieName returns the name of a cookie with its prefix.
func (c *call) cookieName(name string) string {
	if edge.IsHTTPS(c.r) {
		return securePrefix + name
	}
	return name
}

// setCookie sets a cookie with a lifetime; the value "" removes it.
func (c *call) setCookie(name, value string, lasts time.Duration) {
	cookie := &http.Cookie{
		Name: c.cookieName(name), Value: value, Path: "/", MaxAge: int(lasts / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: edge.IsHTTPS(c.r),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(c, cookie)
}

// cookie returns the value of a cookie; "" if it is missing.
func (c *call) cookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// readViewer returns the viewer: under /public the public account, else the account
// of the session cookie; nil without one.
func (s *Server) readViewer(c *call, public bool) (*viewer, error) {
	if public {
		return &viewer{account: s.Public, role: identity.RoleEditor, public: true, signedIn: s.signedIn(c)}, nil
	}
	token := c.cookie(sessionCookie)
	if token == "" {
		return nil, nil
	}
	v, err := s.People.Session(c.r.Context(), token)
	if err != nil && fault.CodeOf(err) == fault.Unauthorized {
		c.setCookie(sessionCookie, "", 0)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	session := v.Session
	if s.Service.Now().Sub(session.SeenAt) < time.Second {
		// The session was just extended, so extend the cookie too.
		c.setCookie(sessionCookie, token, session.ExpiresAt.Sub(session.SeenAt))
	}
	c.session, c.visit = session, v
	accounts, err := s.People.Memberships(c.r.Context(), v.Person.ID)
	return &viewer{account: v.Account, role: v.Role, accounts: accounts, operator: v.Account.Operator && v.Role == identity.RoleOwner}, err
}

// signedIn returns the email of the person whose session the browser has, for the
// way back from public pages; "" without one.
func (s *Server) signedIn(c *call) string {
	token := c.cookie(sessionCookie)
	if token == "" {
		return ""
	}
	v, err := s.People.Session(c.r.Context(), token)
	if err != nil {
		return "" // public pages don't need it
	}
	return v.Person.Email
}

// permit returns an Unauthorized fault once the viewer's session has ended. Streams
// call it while they are open.
func (c *call) permit(ctx context.Context) error {
	if c.viewer.public {
		return nil
	}
	v, err := c.server.People.Session(ctx, c.cookie(sessionCookie))
	if err == nil && v.Account.Number != c.owner().Number { // another tab shows another account now
		err = fault.New(fault.Unauthorized, "this session shows another account now")
	}
	return err
}

// askToSignIn redirects to the page to sign in, which leads back.
func (s *Server) askToSignIn(c *call) error {
	policy, err := s.People.SignupPolicy(c.r.Context())
	if err != nil {
		return err
	}
	to := "/sign-in"
	if policy.First && !s.People.NoPasswords && policy.Signup != auth.SignupClosed {
		to = "/sign-up"
	} else if readsOnly(c.r) && c.r.URL.Path != "/" && c.r.Header.Get("HX-Request") == "" {
		to += "?to=" + url.QueryEscape(c.r.URL.RequestURI())
	}
	if c.r.Header.Get("HX-Request") != "" {
		// A redirect would replace only a part of the page; this header makes htmx
		// load the whole page.
		c.Header().Set("HX-Redirect", to)
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(c, c.r, to, http.StatusSeeOther)
	return nil
}

// local returns an address if it belongs to this dashboard, else "/".
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") ||
		strings.ContainsAny(to, "\\\t\r\n") {
		return "/"
	}
	return to
}

// address returns the network address of the client.
func (c *call) address() string { return edge.ClientAddr(c.r).String() }

// client returns the client of a new session.
func (c *call) client() auth.Client { return auth.Client{Address: c.address(), Agent: c.r.UserAgent()} }

// begin sets the session cookie and redirects. If the account has never had a key, and
// the person may create one, begin does and redirects to the first steps.
func (s *Server) begin(c *call, token, to string) error {
	v, err := s.People.Session(c.r.Context(), token)
	if err != nil {
		return err
	}
	c.setCookie(sessionCookie, token, v.Session.ExpiresAt.Sub(v.Session.SeenAt))
	keys, err := s.Auth.Keys(c.r.Context(), v.Account.Number)
	if err == nil && len(keys) == 0 && v.Role.Includes(access.Least["auth.Authenticator.AddKey"]) && !strings.HasPrefix(to, auth.JoinPath) {
		c.visit, c.session = v, v.Session
		c.setViewer(&viewer{account: v.Account, role: v.Role})
		err = s.createKey(c, v.Account, auth.KeySpec{Name: "first key", Scope: identity.ScopeJobs})
		to = "/welcome"
	}
	if err != nil {
		return err
	}
	http.Redirect(c, c.r, local(to), http.StatusSeeOther)
	return nil
}

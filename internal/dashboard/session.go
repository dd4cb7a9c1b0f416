package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// The names of cookies. Over https they have a prefix that keeps other hosts of
// the domain from setting them.
const (
	sessionCookie = "punctual-session"
	pendingCookie = "punctual-pending" // of a sign-in that waits for its code
	keyCookie     = "punctual-key"
	securePrefix  = "__Host-"
)

// cookieName gives the name under which a cookie is kept.
func (c *call) cookieName(name string) string {
	if edge.IsHTTPS(c.r) {
		return securePrefix + name
	}
	return name
}

// setCookie gives the browser a cookie for as long as it says; "" takes it away.
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

// cookie gives what the browser kept; "" for nothing.
func (c *call) cookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// viewer tells who looks: under /public the public account, else the account
// whose session the browser carries; nil when it carries none.
func (s *Server) viewer(c *call, public bool) (*Viewer, error) {
	if public {
		return &Viewer{Account: s.Public, Public: true}, nil
	}
	token := c.cookie(sessionCookie)
	if token == "" {
		return nil, nil
	}
	account, session, err := s.People.Session(c.r.Context(), token)
	if err != nil && fault.CodeOf(err) == fault.Unauthorized {
		c.setCookie(sessionCookie, "", 0)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Store.Now().Sub(session.SeenAt) < time.Second {
		// It was just prolonged, and so is the cookie.
		c.setCookie(sessionCookie, token, session.ExpiresAt.Sub(session.SeenAt))
	}
	c.session = session
	return &Viewer{Account: account, Operator: account.Operator}, nil
}

// permit reports whether whoever opened a page may still look: an Unauthorized
// fault once the session has ended.
func (c *call) permit(ctx context.Context) error {
	if c.viewer().Public {
		return nil
	}
	_, _, err := c.server.People.Session(ctx, c.cookie(sessionCookie))
	return err
}

// askToSignIn leads to where somebody can sign in, and then back.
func (s *Server) askToSignIn(c *call) error {
	door, err := s.People.Door(c.r.Context())
	if err != nil {
		return err
	}
	to := "/sign-in"
	if door.First && door.Signup != auth.SignupClosed {
		to = "/sign-up"
	} else if readsOnly(c.r) && c.r.URL.Path != "/" && c.r.Header.Get("HX-Request") == "" {
		to += "?to=" + url.QueryEscape(c.r.URL.RequestURI())
	}
	if c.r.Header.Get("HX-Request") != "" {
		// A part of a page can't become another page: the whole one goes there.
		c.Header().Set("HX-Redirect", to)
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	http.Redirect(c, c.r, to, http.StatusSeeOther)
	return nil
}

// local gives an address of this dashboard to go on to; "/" for any other.
func local(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\t\r\n") {
		return "/"
	}
	return to
}

// address gives the address of the network that a request comes from.
func (c *call) address() string { return edge.ClientAddr(c.r).String() }

// client is where the request comes from, for a session that begins with it.
func (c *call) client() auth.Client { return auth.Client{Address: c.address(), Agent: c.r.UserAgent()} }

// begin gives the browser a session and leads on: to the first steps when the
// account has never had a key, which is made then, else to where the person
// wanted to go.
func (s *Server) begin(c *call, token, to string) error {
	account, _, err := s.People.Session(c.r.Context(), token)
	if err != nil {
		return err
	}
	c.setCookie(sessionCookie, token, auth.SessionLasts)
	keys, err := s.Store.KeyList(c.r.Context(), account.Number)
	if err == nil && len(keys) == 0 {
		err = s.makeKey(c, account, auth.KeySpec{Name: "first key", Scope: store.ScopeJobs})
		to = "/welcome"
	}
	if err != nil {
		return err
	}
	http.Redirect(c, c.r, local(to), http.StatusSeeOther)
	return nil
}

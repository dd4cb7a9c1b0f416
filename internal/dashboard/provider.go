package dashboard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/oidc"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// providerRoutes are the sign-in at the OpenID provider.
var providerRoutes = []route{
	{"/sign-in/provider", forAnyone, map[string]handler{"GET": (*Server).goToProvider}},
	{oidc.CallbackPath, forAnyone, map[string]handler{"GET": (*Server).backFromProvider}},
	{oidc.LogoutPath, forAnyone, map[string]handler{"POST": (*Server).providerLogout}},
}

// flowCookie has the sign-in that this browser has begun at the provider.
const flowCookie = "punctual-flow"

const (
	// flowLasts is how long a sign-in at the provider may take.
	flowLasts = 10 * time.Minute
	// maxTo is how long the address may be that a sign-in at the provider leads to.
	maxTo = 2000
)

// goToProvider sends the browser to the provider.
func (s *Server) goToProvider(c *call) error {
	if s.Provider == nil {
		return errNoPage
	}
	to := local(c.param("to"))
	if len(to) > maxTo {
		to = "/"
	}
	address, secret, err := s.Provider.Begin(c.r.Context(), edge.Origin(c.r))
	if err != nil {
		return s.refusedByProvider(c, "", err, &view.SignIn{To: to})
	}
	began := strconv.FormatInt(s.Service.Now().Unix(), 10)
	c.setCookie(flowCookie, secret+"."+began+"."+base64.RawURLEncoding.EncodeToString([]byte(to)), flowLasts)
	http.Redirect(c, c.r, address, http.StatusSeeOther)
	return nil
}

// flow returns the sign-in that this browser has begun at the provider, and where it leads
// to; "" and "/" if there is none.
func (s *Server) flow(c *call) (secret, to string) {
	parts := strings.Split(c.cookie(flowCookie), ".")
	if len(parts) != 3 {
		return "", "/"
	}
	began, err := strconv.ParseInt(parts[1], 10, 64)
	path, err2 := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || err2 != nil || s.Service.Now().Sub(time.Unix(began, 0)) > flowLasts {
		return "", "/"
	}
	return parts[0], local(string(path))
}

// backFromProvider signs in who comes back from the provider.
func (s *Server) backFromProvider(c *call) error {
	if s.Provider == nil {
		return errNoPage
	}
	secret, to := s.flow(c)
	e := &view.SignIn{To: to}
	claims, err := s.Provider.Finish(c.r.Context(), secret, edge.Origin(c.r), c.r.URL.Query())
	if err != nil {
		s.People.ProviderFailed(c.r.Context(), "", err, c.client())
		return s.refusedByProvider(c, secret, err, e)
	}
	c.setCookie(flowCookie, "", 0)
	code := ""
	if rest, ok := strings.CutPrefix(to, auth.JoinPath); ok {
		code = rest
	}
	in, err := s.People.ProviderSignIn(c.r.Context(), (*auth.ProviderClaims)(claims), code, c.client())
	if err != nil {
		return s.refusedByProvider(c, "", err, e)
	}
	if in.NeedsCode {
		c.setCookie(pendingCookie, in.Token, pendingLasts)
		http.Redirect(c, c.r, codeHref(to), http.StatusSeeOther)
		return nil
	}
	return s.begin(c, in.Token, s.joinedTo(c, to, claims.Email))
}

// joinedTo returns where a sign-in leads to: the page of an invitation that it has just
// used up is not there any more.
func (s *Server) joinedTo(c *call, to, email string) string {
	code, ok := strings.CutPrefix(to, auth.JoinPath)
	if !ok {
		return to
	}
	if _, err := s.People.Invitation(c.r.Context(), code); err != nil {
		return "/?done=joined"
	}
	return to
}

// refusedByProvider shows the page to sign in with what is wrong.
func (s *Server) refusedByProvider(c *call, secret string, err error, e *view.SignIn) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	if f.Code == fault.Unauthorized && secret != "" {
		c.setCookie(flowCookie, "", 0)
	}
	switch f.Code {
	case fault.Unauthorized, fault.Forbidden, fault.Conflict, fault.TooMany, fault.Unavailable:
		e.Err = f
		return s.showSignIn(c, c.statusOf(f), e)
	}
	return err
}

// providerHref returns the address that begins a sign-in at the provider; "" without one.
func (s *Server) providerHref(to string) string {
	switch {
	case s.Provider == nil:
		return ""
	case to == "" || to == "/":
		return "/sign-in/provider"
	}
	return "/sign-in/provider?to=" + url.QueryEscape(to)
}

// providerLogout ends the sessions that a logout token of the provider names (OpenID
// Connect Back-Channel Logout 1.0, section 2.5). Programs call it, so it responds in JSON.
func (s *Server) providerLogout(c *call) error {
	if s.Provider == nil {
		return errNoPage
	}
	l, err := s.Provider.Logout(c.r.Context(), c.r.PostForm.Get("logout_token"))
	if err == nil {
		err = s.People.ProviderLogout(c.r.Context(), l, c.address())
	}
	if err == nil {
		c.WriteHeader(http.StatusOK)
		return nil
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	status := http.StatusBadRequest
	if f.Code == fault.Unavailable || f.Code == fault.Internal {
		status = http.StatusServiceUnavailable
	}
	s.Log.Warn("a logout token was refused", "request", c.id, "address", c.address(), "error", err)
	c.Header().Set("Content-Type", "application/json")
	c.WriteHeader(status)
	_, _ = fmt.Fprintf(c, "{\"error\": \"invalid_request\", \"error_description\": %s}\n", rawjson.Quote(f.Message))
	return nil
}

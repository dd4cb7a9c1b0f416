package dashboard

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
)

var signInRoutes = []route{
	{"/sign-up", forAnyone, map[string]handler{"GET": (*Server).signUpPage, "POST": (*Server).signUp}},
	{"/sign-in", forAnyone, map[string]handler{"GET": (*Server).signInPage, "POST": (*Server).signIn}},
	{"/sign-in/code", forAnyone, map[string]handler{"GET": (*Server).codePage, "POST": (*Server).enterCode}},
	{"/sign-out", forAnyone, map[string]handler{"POST": (*Server).signOut}},
}

func (s *Server) signUpPage(c *call) error {
	if c.viewer != nil {
		return c.redirect("/")
	}
	return s.showSignUp(c, http.StatusOK, &view.SignIn{Invite: c.param("invite"), Setup: c.param("setup")})
}

func (s *Server) showSignUp(c *call, status int, e *view.SignIn) error {
	if err := s.readPolicy(c, e); err != nil {
		return err
	}
	return c.render(status, view.SignUpPage(e))
}

// readPolicy sets who may sign up.
func (s *Server) readPolicy(c *call, e *view.SignIn) error {
	policy, err := s.People.SignupPolicy(c.r.Context())
	if err != nil {
		return err
	}
	e.Provider, e.NoPasswords, e.Mails = s.providerHref(e.To), s.People.NoPasswords, s.People.Mails()
	e.First, e.Closed, e.ByInvite = policy.First, policy.Signup == auth.SignupClosed, policy.Signup == auth.SignupInvite
	return nil
}

func (s *Server) signUp(c *call) error {
	form := c.r.PostForm
	e := &view.SignIn{Email: form.Get("email"), Invite: form.Get("invite"), Setup: form.Get("setup")}
	token, err := s.People.SignUp(c.r.Context(), auth.SignUp{
		Email: e.Email, Password: form.Get("password"), Invite: e.Invite, Setup: e.Setup, Address: c.address(), Agent: c.r.UserAgent(),
	})
	if err != nil {
		return c.refused(err, e, func() error { return s.showSignUp(c, c.statusOf(err), e) })
	}
	if token != "" {
		return s.begin(c, token, "/welcome")
	}
	e.Notice = "Sign in now with your email and password."
	if s.People.Mails() {
		e.Notice = "A link was sent to your email address. Open it to confirm the address, then sign in. It works for a day."
	}
	return s.showSignIn(c, http.StatusOK, e)
}

func (s *Server) signInPage(c *call) error {
	if c.viewer != nil {
		return c.redirect("/")
	}
	e := &view.SignIn{To: local(c.param("to"))}
	if c.param("done") == "deleted" {
		e.Notice = "The account is deleted. Its keys no longer work, and its records are being deleted."
	}
	if c.param("done") == "reset" {
		e.Notice = "The password is set, and you are signed out everywhere. Sign in with it now."
	}
	return s.showSignIn(c, http.StatusOK, e)
}

func (s *Server) showSignIn(c *call, status int, e *view.SignIn) error {
	if err := s.readPolicy(c, e); err != nil {
		return err
	}
	return c.render(status, view.SignInPage(e))
}

func (s *Server) signIn(c *call) error {
	form := c.r.PostForm
	e := &view.SignIn{Email: form.Get("email"), To: local(form.Get("to"))}
	in, err := s.People.SignIn(c.r.Context(), e.Email, form.Get("password"), c.client())
	if err != nil {
		return c.refused(err, e, func() error { return s.showSignIn(c, c.statusOf(err), e) })
	}
	if in.NeedsCode {
		c.setCookie(pendingCookie, in.Token, pendingLasts)
		http.Redirect(c, c.r, codeHref(e.To), http.StatusSeeOther)
		return nil
	}
	return s.begin(c, in.Token, e.To)
}

// pendingLasts is how long the cookie of a sign-in that needs a code lasts. The
// service forgets the sign-in sooner.
const pendingLasts = time.Hour

// codeHref returns the address of the page that asks for the code.
func codeHref(to string) string {
	if to == "/" {
		return "/sign-in/code"
	}
	return "/sign-in/code?to=" + url.QueryEscape(to)
}

func (s *Server) codePage(c *call) error {
	if c.viewer != nil {
		return c.redirect("/")
	}
	if c.cookie(pendingCookie) == "" {
		http.Redirect(c, c.r, "/sign-in", http.StatusSeeOther)
		return nil
	}
	return c.render(http.StatusOK, view.CodePage(&view.SignIn{To: local(c.param("to"))}))
}

func (s *Server) enterCode(c *call) error {
	e := &view.SignIn{To: local(c.r.PostForm.Get("to"))}
	token, err := s.People.GiveCode(c.r.Context(), c.cookie(pendingCookie), c.r.PostForm.Get("code"), c.client())
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		c.setCookie(pendingCookie, "", 0)
		e.Notice = "That took too long. Please sign in again."
		return s.showSignIn(c, http.StatusOK, e)
	}
	if err != nil {
		return c.refused(err, e, func() error { return c.render(c.statusOf(err), view.CodePage(e)) })
	}
	c.setCookie(pendingCookie, "", 0)
	return s.begin(c, token, e.To)
}

// refused shows a form again with its error. An error that the user can't fix is
// returned, and becomes an error page.
func (c *call) refused(err error, e *view.SignIn, show func() error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.Unauthorized, fault.Forbidden, fault.TooMany:
		e.Err = err
		return show()
	}
	return err
}

// statusOf returns the status of a fault and sets Retry-After.
func (c *call) statusOf(err error) int {
	var f *fault.Error
	if errors.As(err, &f) && f.RetryAfter > 0 {
		c.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(f.RetryAfter.Seconds())))))
	}
	return failures[fault.CodeOf(err)].status
}

func (s *Server) signOut(c *call) error {
	if token := c.cookie(sessionCookie); token != "" {
		if err := s.People.SignOut(c.r.Context(), token, c.address()); err != nil {
			return err
		}
	}
	c.setCookie(sessionCookie, "", 0)
	c.setCookie(keyCookie, "", 0)
	c.setCookie(pendingCookie, "", 0)
	c.setCookie(flowCookie, "", 0)
	http.Redirect(c, c.r, "/sign-in", http.StatusSeeOther)
	return nil
}

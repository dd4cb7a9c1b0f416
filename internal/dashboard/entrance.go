package dashboard

import (
	"errors"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
)

var entranceRoutes = []route{
	{"/sign-up", forAnyone, map[string]handler{"GET": (*Server).signUpPage, "POST": (*Server).signUp}},
	{"/sign-in", forAnyone, map[string]handler{"GET": (*Server).signInPage, "POST": (*Server).signIn}},
	{"/sign-in/code", forAnyone, map[string]handler{"GET": (*Server).codePage, "POST": (*Server).giveCode}},
	{"/sign-out", forAnyone, map[string]handler{"POST": (*Server).signOut}},
}

// entrance is what the pages for signing up and in show.
type entrance struct {
	door   auth.Door
	email  string
	invite string
	setup  string
	to     string
	notice string // said above the form
	err    error  // what was wrong with the form
}

// problem gives the fault to show above the form; nil when none is.
func (e *entrance) problem() *fault.Error {
	var f *fault.Error
	errors.As(e.err, &f)
	return f
}

func (s *Server) signUpPage(c *call) error {
	if c.viewer() != nil {
		return c.redirect("/")
	}
	door, err := s.People.Door(c.r.Context())
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, signUpPage(&entrance{door: door, invite: c.param("invite"), setup: c.param("setup")}))
}

func (s *Server) signUp(c *call) error {
	form := c.r.PostForm
	e := &entrance{email: form.Get("email"), invite: form.Get("invite"), setup: form.Get("setup")}
	token, err := s.People.SignUp(c.r.Context(), auth.SignUp{
		Email: e.email, Password: form.Get("password"), Invite: e.invite, Setup: e.setup, Address: c.address(), Agent: c.r.UserAgent(),
	})
	if err != nil {
		var doorErr error
		if e.door, doorErr = s.People.Door(c.r.Context()); doorErr != nil {
			return doorErr
		}
		return c.refused(err, e, func() error { return c.render(c.statusOf(err), signUpPage(e)) })
	}
	if token != "" {
		return s.begin(c, token, "/welcome")
	}
	e.notice = "Sign in now, with the email and the password you have chosen."
	return s.showSignIn(c, http.StatusOK, e)
}

func (s *Server) signInPage(c *call) error {
	if c.viewer() != nil {
		return c.redirect("/")
	}
	e := &entrance{to: local(c.param("to"))}
	if c.param("done") == "deleted" {
		e.notice = "The account is deleted. Nothing of it works any more, and what it stored is being removed."
	}
	return s.showSignIn(c, http.StatusOK, e)
}

func (s *Server) showSignIn(c *call, status int, e *entrance) error {
	door, err := s.People.Door(c.r.Context())
	if err != nil {
		return err
	}
	e.door = door
	return c.render(status, signInPage(e))
}

func (s *Server) signIn(c *call) error {
	form := c.r.PostForm
	e := &entrance{email: form.Get("email"), to: local(form.Get("to"))}
	in, err := s.People.SignIn(c.r.Context(), e.email, form.Get("password"), c.client())
	if err != nil {
		return c.refused(err, e, func() error { return s.showSignIn(c, c.statusOf(err), e) })
	}
	if in.NeedsCode {
		c.setCookie(pendingCookie, in.Token, pendingLasts)
		http.Redirect(c, c.r, codeHref(e.to), http.StatusSeeOther)
		return nil
	}
	return s.begin(c, in.Token, e.to)
}

// pendingLasts is how long the browser keeps what a sign-in needs that waits for
// its code; the service forgets it sooner.
const pendingLasts = time.Hour

// codeHref gives where the code of a second factor is asked for.
func codeHref(to string) string {
	if to == "/" {
		return "/sign-in/code"
	}
	return "/sign-in/code?to=" + url.QueryEscape(to)
}

func (s *Server) codePage(c *call) error {
	if c.viewer() != nil {
		return c.redirect("/")
	}
	if c.cookie(pendingCookie) == "" {
		http.Redirect(c, c.r, "/sign-in", http.StatusSeeOther)
		return nil
	}
	return c.render(http.StatusOK, codePage(&entrance{to: local(c.param("to"))}))
}

func (s *Server) giveCode(c *call) error {
	e := &entrance{to: local(c.r.PostForm.Get("to"))}
	token, err := s.People.GiveCode(c.r.Context(), c.cookie(pendingCookie), c.r.PostForm.Get("code"), c.client())
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		c.setCookie(pendingCookie, "", 0)
		e.notice = "That took too long. Please sign in again."
		return s.showSignIn(c, http.StatusOK, e)
	}
	if err != nil {
		return c.refused(err, e, func() error { return c.render(c.statusOf(err), codePage(e)) })
	}
	c.setCookie(pendingCookie, "", 0)
	return s.begin(c, token, e.to)
}

// refused shows a form again with what was wrong; anything that is not for the
// person to mend becomes an error page.
func (c *call) refused(err error, e *entrance, show func() error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.Unauthorized, fault.Forbidden, fault.TooMany:
		e.err = err
		return show()
	}
	return err
}

// statusOf gives the status of a fault, and says when to try again.
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
	http.Redirect(c, c.r, "/sign-in", http.StatusSeeOther)
	return nil
}

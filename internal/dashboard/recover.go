package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/identity"
)

// recoverRoutes are the pages of links that people get by e-mail. Mail servers follow
// links, so that only a form changes something.
var recoverRoutes = []route{
	{"/forgot-password", forAnyone, map[string]handler{"GET": (*Server).forgotPage, "POST": (*Server).forgot}},
	{auth.ResetPath + "{token}", forAnyone, map[string]handler{"GET": (*Server).resetPage, "POST": (*Server).reset}},
	{auth.ConfirmPath + "{token}", forAnyone, map[string]handler{"GET": (*Server).confirmPage, "POST": (*Server).confirmEmail}},
	{auth.ChangePath + "{token}", forAnyone, map[string]handler{"GET": (*Server).newEmailPage, "POST": (*Server).useNewEmail}},
	{"/settings/email", forPersons, map[string]handler{"POST": (*Server).changeEmail}},
	{"/settings/confirm-email", forPersons, map[string]handler{"POST": (*Server).askToConfirm}},
}

func (s *Server) forgotPage(c *call) error {
	if !s.People.Mails() {
		return errNoPage
	}
	return c.render(http.StatusOK, view.ForgotPage(&view.SignIn{Email: c.param("email")}))
}

// forgot responds in the same way whether anybody has the email.
func (s *Server) forgot(c *call) error {
	e := &view.SignIn{Email: c.r.PostForm.Get("email")}
	if err := s.People.ForgotPassword(c.r.Context(), e.Email, c.address()); err != nil {
		return c.refused(err, e, func() error { return c.render(c.statusOf(err), view.ForgotPage(e)) })
	}
	e.Notice = "If somebody signs in with this email, a link was sent there. It works for an hour."
	return c.render(http.StatusOK, view.ForgotPage(e))
}

func (s *Server) resetPage(c *call) error { return s.showReset(c, http.StatusOK, nil) }

func (s *Server) showReset(c *call, status int, refusal error) error {
	person, _, err := s.People.Linked(c.r.Context(), identity.ForReset, c.r.PathValue("token"))
	if err != nil {
		return err
	}
	return c.render(status, view.ResetPage(&view.SignIn{Email: person.Email, Err: refusal}))
}

func (s *Server) reset(c *call) error {
	err := s.People.ResetPassword(c.r.Context(), c.r.PathValue("token"), c.r.PostForm.Get("password"), c.address())
	if err != nil {
		if ofForm(err) {
			return s.showReset(c, c.statusOf(err), err)
		}
		return err
	}
	c.setCookie(sessionCookie, "", 0)
	http.Redirect(c, c.r, "/sign-in?done=reset", http.StatusSeeOther)
	return nil
}

func (s *Server) confirmPage(c *call) error { return s.showConfirm(c, http.StatusOK, nil) }

func (s *Server) showConfirm(c *call, status int, refusal error) error {
	person, _, err := s.People.Linked(c.r.Context(), identity.ForConfirmation, c.r.PathValue("token"))
	if err != nil {
		return err
	}
	return c.render(status, view.ConfirmEmailPage(&view.SignIn{Email: person.Email, Err: refusal}))
}

func (s *Server) confirmEmail(c *call) error {
	in, err := s.People.ConfirmEmail(c.r.Context(), c.r.PathValue("token"), c.r.PostForm.Get("password"), c.client())
	if err != nil {
		if ofForm(err) {
			return s.showConfirm(c, c.statusOf(err), err)
		}
		return err
	}
	return s.enter(c, in)
}

// enter begins a session of who has entered their password, or asks for the second factor.
func (s *Server) enter(c *call, in auth.SignedIn) error {
	if in.NeedsCode {
		c.setCookie(pendingCookie, in.Token, pendingLasts)
		http.Redirect(c, c.r, codeHref("/"), http.StatusSeeOther)
		return nil
	}
	return s.begin(c, in.Token, "/")
}

func (s *Server) changeEmail(c *call) error {
	form := c.r.PostForm
	if err := s.People.ChangeEmail(c.r.Context(), c.visit, form.Get("new_email"), form.Get("email_password"), c.address()); err != nil {
		return s.refuseForm(c, "email", err)
	}
	return c.redirect("/settings?done=newemail")
}

func (s *Server) newEmailPage(c *call) error { return s.showNewEmail(c, http.StatusOK, nil) }

func (s *Server) showNewEmail(c *call, status int, refusal error) error {
	person, email, err := s.People.Linked(c.r.Context(), identity.ForChange, c.r.PathValue("token"))
	if err != nil {
		return err
	}
	return c.render(status, view.NewEmailPage(&view.SignIn{Email: person.Email, Err: refusal}, email))
}

func (s *Server) useNewEmail(c *call) error {
	in, err := s.People.UseNewEmail(c.r.Context(), c.r.PathValue("token"), c.r.PostForm.Get("password"), c.client())
	if err != nil {
		if ofForm(err) {
			return s.showNewEmail(c, c.statusOf(err), err)
		}
		return err
	}
	return s.enter(c, in)
}

func (s *Server) askToConfirm(c *call) error {
	if err := s.People.AskToConfirm(c.r.Context(), c.visit); err != nil {
		return s.refuseForm(c, "email", err)
	}
	return c.redirect("/settings?done=asked")
}

package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
)

var factorRoutes = []route{
	{"/settings/second-factor", forPersons, map[string]handler{"GET": (*Server).factor, "POST": (*Server).startFactor}},
	{"/settings/second-factor/confirm", forPersons, map[string]handler{"POST": (*Server).confirmFactor}},
	{"/settings/second-factor/disable", forPersons, map[string]handler{"POST": (*Server).disableFactor}},
	{"/settings/second-factor/recovery-codes", forPersons, map[string]handler{"POST": (*Server).replaceRecovery}},
}

func (s *Server) factor(c *call) error { return s.showFactor(c, http.StatusOK, nil, view.Refusal{}) }

func (s *Server) showFactor(c *call, status int, codes []string, r view.Refusal) error {
	// Read again, since the form may have just changed it.
	person, err := s.People.Person(c.r.Context(), c.visit.Person.ID)
	if err != nil {
		return err
	}
	d := &view.Factor{
		Email: person.Email, On: auth.HasTOTP(person), Enrolling: auth.Enrolling(person, s.Service.Now()), NewRecovery: codes,
		HasPassword: person.Password != "" && !s.People.NoPasswords, Notice: c.notice(), Refusal: r,
	}
	if d.On {
		d.ConfirmedAt, d.RecoveryLeft = person.TOTP.ConfirmedAt, len(person.TOTP.Recovery)
	}
	if d.Enrolling {
		d.Address, d.Secret = auth.TOTPAddress(person.TOTP, person.Email), auth.TOTPText(person.TOTP)
		if d.QR, err = view.NewQRCode(d.Address); err != nil {
			return err
		}
	}
	return c.render(status, view.FactorPage(d))
}

// refuseFactor shows the page again with what is wrong with a form.
func (s *Server) refuseFactor(c *call, form string, err error) error {
	if !ofForm(err) {
		return err
	}
	return s.showFactor(c, c.statusOf(err), nil, view.Refusal{Form: form, Err: err})
}

func (s *Server) startFactor(c *call) error {
	if err := s.People.StartTOTP(c.r.Context(), c.visit.Person, c.r.PostForm.Get("password"), c.address()); err != nil {
		return s.refuseFactor(c, "start", err)
	}
	return c.redirect("/settings/second-factor")
}

func (s *Server) confirmFactor(c *call) error {
	codes, err := s.People.ConfirmTOTP(c.r.Context(), c.visit.Person, c.session, c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "confirm", err)
	}
	return s.showFactor(c, http.StatusOK, codes, view.Refusal{})
}

func (s *Server) disableFactor(c *call) error {
	form := c.r.PostForm
	if err := s.People.DisableTOTP(c.r.Context(), c.visit.Person, form.Get("password"), form.Get("code"), c.address()); err != nil {
		return s.refuseFactor(c, "disable", err)
	}
	return c.redirect("/settings/second-factor?done=factoroff")
}

func (s *Server) replaceRecovery(c *call) error {
	codes, err := s.People.ReplaceRecovery(c.r.Context(), c.visit.Person, c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "recovery", err)
	}
	return s.showFactor(c, http.StatusOK, codes, view.Refusal{})
}

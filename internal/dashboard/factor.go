package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
)

var factorRoutes = []route{
	{"/settings/second-factor", forOwners, map[string]handler{"GET": (*Server).factor, "POST": (*Server).startFactor}},
	{"/settings/second-factor/confirm", forOwners, map[string]handler{"POST": (*Server).confirmFactor}},
	{"/settings/second-factor/disable", forOwners, map[string]handler{"POST": (*Server).disableFactor}},
	{"/settings/second-factor/recovery-codes", forOwners, map[string]handler{"POST": (*Server).replaceRecovery}},
}

func (s *Server) factor(c *call) error { return s.showFactor(c, http.StatusOK, nil, view.Refusal{}) }

func (s *Server) showFactor(c *call, status int, codes []string, r view.Refusal) error {
	// Read again, since the form may have just changed it.
	account, err := s.Auth.CurrentAccount(c.r.Context(), c.owner().Number)
	if err != nil {
		return err
	}
	d := &view.Factor{
		Email: account.Email, On: auth.HasTOTP(account), Enrolling: auth.Enrolling(account, s.Service.Now()), NewRecovery: codes, Notice: c.notice(), Refusal: r,
	}
	if d.On {
		d.ConfirmedAt, d.RecoveryLeft = account.TOTP.ConfirmedAt, len(account.TOTP.Recovery)
	}
	if d.Enrolling {
		d.Address, d.Secret = auth.TOTPAddress(account.TOTP, account.Email), auth.TOTPText(account.TOTP)
		if d.QR, err = view.NewQRCode(d.Address); err != nil {
			return err
		}
	}
	return c.render(status, view.FactorPage(d))
}

// refuseFactor shows the page again with what is wrong with a form.
func (s *Server) refuseFactor(c *call, form string, err error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.TooMany:
		return s.showFactor(c, c.statusOf(err), nil, view.Refusal{Form: form, Err: err})
	}
	return err
}

func (s *Server) startFactor(c *call) error {
	if err := s.People.StartTOTP(c.r.Context(), c.account(), c.r.PostForm.Get("password"), c.address()); err != nil {
		return s.refuseFactor(c, "start", err)
	}
	return c.redirect("/settings/second-factor")
}

func (s *Server) confirmFactor(c *call) error {
	codes, err := s.People.ConfirmTOTP(c.r.Context(), c.account(), c.session, c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "confirm", err)
	}
	return s.showFactor(c, http.StatusOK, codes, view.Refusal{})
}

func (s *Server) disableFactor(c *call) error {
	form := c.r.PostForm
	if err := s.People.DisableTOTP(c.r.Context(), c.account(), form.Get("password"), form.Get("code"), c.address()); err != nil {
		return s.refuseFactor(c, "disable", err)
	}
	return c.redirect("/settings/second-factor?done=factoroff")
}

func (s *Server) replaceRecovery(c *call) error {
	codes, err := s.People.ReplaceRecovery(c.r.Context(), c.account(), c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "recovery", err)
	}
	return s.showFactor(c, http.StatusOK, codes, view.Refusal{})
}

package dashboard

import (
	"image/color"
	"net/http"
	"strconv"
	"strings"

	"github.com/boombuler/barcode/qr"

	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

var factorRoutes = []route{
	{"/settings/second-factor", forOwners, map[string]handler{"GET": (*Server).factor, "POST": (*Server).startFactor}},
	{"/settings/second-factor/confirm", forOwners, map[string]handler{"POST": (*Server).confirmFactor}},
	{"/settings/second-factor/disable", forOwners, map[string]handler{"POST": (*Server).disableFactor}},
	{"/settings/second-factor/recovery-codes", forOwners, map[string]handler{"POST": (*Server).replaceRecovery}},
}

// factor is what the page of the second factor shows.
type factor struct {
	account   *store.Account
	enrolling bool
	qr        *qrCode
	codes     []string // recovery codes, shown this once
	notice    string
	refusal
}

func (s *Server) factor(c *call) error { return s.showFactor(c, http.StatusOK, nil, refusal{}) }

func (s *Server) showFactor(c *call, status int, codes []string, r refusal) error {
	// Anew, since the form before may have changed it.
	account, err := s.Store.AccountOf(c.r.Context(), c.owner().Number)
	if err != nil {
		return err
	}
	d := &factor{account: account, enrolling: auth.Enrolling(account, s.Store.Now()), codes: codes, notice: c.notice(), refusal: r}
	if d.enrolling {
		if d.qr, err = newQRCode(auth.TOTPAddress(account.TOTP, account.Email)); err != nil {
			return err
		}
	}
	return c.render(status, factorPage(d))
}

// refuseFactor shows the page again with what is wrong with a form.
func (s *Server) refuseFactor(c *call, form string, err error) error {
	switch fault.CodeOf(err) {
	case fault.Invalid, fault.TooMany:
		return s.showFactor(c, c.statusOf(err), nil, refusal{form, err})
	}
	return err
}

func (s *Server) startFactor(c *call) error {
	if err := s.People.StartTOTP(c.r.Context(), c.viewer().Account, c.r.PostForm.Get("password"), c.address()); err != nil {
		return s.refuseFactor(c, "start", err)
	}
	return c.redirect("/settings/second-factor")
}

func (s *Server) confirmFactor(c *call) error {
	codes, err := s.People.ConfirmTOTP(c.r.Context(), c.viewer().Account, c.session, c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "confirm", err)
	}
	return s.showFactor(c, http.StatusOK, codes, refusal{})
}

func (s *Server) disableFactor(c *call) error {
	form := c.r.PostForm
	if err := s.People.DisableTOTP(c.r.Context(), c.viewer().Account, form.Get("password"), form.Get("code"), c.address()); err != nil {
		return s.refuseFactor(c, "disable", err)
	}
	return c.redirect("/settings/second-factor?done=factoroff")
}

func (s *Server) replaceRecovery(c *call) error {
	codes, err := s.People.ReplaceRecovery(c.r.Context(), c.viewer().Account, c.r.PostForm.Get("code"), c.address())
	if err != nil {
		return s.refuseFactor(c, "recovery", err)
	}
	return s.showFactor(c, http.StatusOK, codes, refusal{})
}

// qrCode is a QR code as an SVG draws it.
type qrCode struct {
	path string // its dark modules, of 1 by 1
	side int    // with the quiet zone around
}

// quietZone is how many modules stay empty around a QR code (ISO/IEC 18004).
const quietZone = 4

func newQRCode(text string) (*qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return nil, err
	}
	bounds := code.Bounds()
	dark := func(x, y int) bool {
		return color.GrayModel.Convert(code.At(x, y)).(color.Gray).Y < 128
	}
	var path strings.Builder
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; {
			from := x
			for x < bounds.Max.X && dark(x, y) {
				x++
			}
			if x == from {
				x++
				continue
			}
			n := strconv.Itoa(x - from)
			path.WriteString("M" + strconv.Itoa(from-bounds.Min.X+quietZone) + " " + strconv.Itoa(y-bounds.Min.Y+quietZone) + "h" + n + "v1h-" + n + "z")
		}
	}
	return &qrCode{path: path.String(), side: bounds.Dx() + 2*quietZone}, nil
}

// recoveryLeft says how many recovery codes are left.
func recoveryLeft(v *store.TOTP) string {
	switch n := len(v.Recovery); n {
	case 0:
		return "No recovery code is left. Make new ones now."
	case 1:
		return "One recovery code is left."
	default:
		return strconv.Itoa(n) + " recovery codes are left."
	}
}

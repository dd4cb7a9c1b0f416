package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// viewer tells who looks: under /public the public account, else the account
// whose session the browser carries; nil when it carries none.
func (s *Server) viewer(_ *http.Request, public bool) (*Viewer, error) {
	if public {
		return &Viewer{Account: s.Public, Public: true}, nil
	}
	return nil, nil
}

// askToSignIn leads to where somebody can sign in.
func (s *Server) askToSignIn(c *call) error {
	to := "/docs"
	if s.Public != nil {
		to = ui.PublicPrefix
	}
	http.Redirect(c, c.r, to, http.StatusSeeOther)
	return nil
}

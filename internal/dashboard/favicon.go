package dashboard

import "github.com/punctual-dev/punctual/internal/dashboard/assets"

var assetRoutes = []route{
	{"/favicon.ico", forAnyone, map[string]handler{"GET": (*Server).favicon}},
}

// favicon is what browsers request for pages without a <link>, such as plain text.
func (s *Server) favicon(c *call) error {
	assets.ServeIcon(c, c.r)
	return nil
}

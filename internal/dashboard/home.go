package dashboard

import "net/http"

var homeRoutes = []route{
	{"/{$}", forMembers, map[string]handler{"GET": (*Server).home}},
}

// home leads to the jobs.
func (s *Server) home(c *call) error {
	http.Redirect(c, c.r, c.href("/jobs"), http.StatusSeeOther)
	return nil
}

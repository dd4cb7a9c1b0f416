package dashboard

import "github.com/punctual-dev/punctual/internal/edge"

var liveRoutes = []route{
	{"/events", forMembers, map[string]handler{"GET": (*Server).events}},
}

// events is the stream after whose events an open page fetches its live parts
// again. Events carry no data.
func (s *Server) events(c *call) error {
	stream, err := s.Events.OpenHints(c.r.Context(), c.owner(), edge.ClientAddr(c.r))
	if err != nil {
		return err
	}
	stream.Serve(c, c.r, c.permit)
	return nil
}

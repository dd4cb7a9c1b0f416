package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/edge"
)

var liveRoutes = []route{
	{"/events", forMembers, map[string]handler{"GET": (*Server).events}},
}

// events is the stream after whose events an open page fetches its live parts
// again. Events carry no data. The parameter since is when the page was rendered: the
// first event comes at once if something has changed since then.
func (s *Server) events(c *call) error {
	since, _ := time.Parse(time.RFC3339, c.param("since")) // anything else is long ago
	stream, err := s.Events.OpenHints(c.r.Context(), c.owner(), edge.ClientAddr(c.r), since)
	if err != nil {
		return err
	}
	stream.Serve(c, c.r, c.permit)
	return nil
}

package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/stats"
)

// punctualityPath is a page for those who are signed in; everyone sees it if the
// operator says so.
const punctualityPath = "/punctuality"

var punctualityRoutes = []route{
	{punctualityPath, forSignedIn, map[string]handler{"GET": (*Server).punctuality}},
}

// punctuality shows how late the jobs of all accounts began.
func (s *Server) punctuality(c *call) error {
	p, err := s.Stats.Punctuality(c.r.Context())
	if err != nil {
		return err
	}
	row := func(name string, l *stats.Lateness) view.LatenessRow {
		return view.LatenessRow{
			Name: name, Since: l.Since, Attempts: ui.Count(int64(l.Attempts)),
			P50: orDash(l.P50), P99: orDash(l.P99), P999: orDash(l.P999), Worst: orDash(l.Worst),
		}
	}
	return c.render(http.StatusOK, view.PunctualityPage([]view.LatenessRow{
		row("Last hour", &p.Hour), row("Last day", &p.Day), row("Last week", &p.Week),
	}))
}

package dashboard

import (
	"context"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

var failingRoutes = []route{
	{"/failing", forMembers, map[string]handler{"GET": (*Server).showFailing}},
}

// failingWithin is how long a page waits for the number of failing schedules.
const failingWithin = 250 * time.Millisecond

// showFailing renders how many schedules fail, for an open page.
func (s *Server) showFailing(c *call) error {
	n, err := s.countFailing(c.r.Context(), c)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, ui.Failing(n))
}

// countFailing counts the schedules that fail and are not muted, of the first
// ui.FailingCounted that fail.
func (s *Server) countFailing(ctx context.Context, c *call) (int, error) {
	failing, err := s.Service.SchedulesFailing(ctx, c.owner(), ui.FailingCounted)
	if err != nil || len(failing) == 0 {
		return 0, err
	}
	mutes, err := s.Service.Mutes(ctx, c.owner(), nil)
	n := 0
	for _, f := range failing {
		if mutes[f.ID] == nil {
			n++
		}
	}
	return n, err
}

// readFailing reads how many schedules fail, for the frame of a page. A page is shown
// without the number if it can't be read soon.
func (c *call) readFailing() {
	if c.viewer == nil || c.part() != "" || c.r.Header.Get("HX-Request") != "" {
		return
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), failingWithin)
	defer cancel()
	if n, err := c.server.countFailing(ctx, c); err == nil {
		ui.From(c.r.Context()).Failing = n
	}
}

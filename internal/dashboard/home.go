package dashboard

import (
	"net/http"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
)

var homeRoutes = []route{
	{"/{$}", forMembers, map[string]handler{"GET": (*Server).overview}},
}

const (
	// maxFailing is how many failing schedules are read at most.
	maxFailing = 1000
	// maxRetrying is how many jobs of a state are counted.
	maxRetrying = 1000
)

func (s *Server) overview(c *call) error {
	ctx := c.r.Context()
	o := &view.Overview{Self: c.here("part", "overview"), Notice: c.notice()}
	series, err := s.readCharts(c, o)
	if err != nil {
		return err
	}
	failing, err := s.failing(c)
	if err != nil {
		return err
	}
	if o.Grid, err = s.readGrid(c, failing.Schedules); err != nil {
		return err
	}
	if o.Triage, err = s.readTriage(c, failing, o.Grid); err != nil {
		return err
	}
	if o.Signals, err = s.readSignals(c); err != nil {
		return err
	}
	wanted := job.Query{States: []job.State{job.Retryable}}
	if o.Newcomer = series.Total.Runs() == 0; o.Newcomer {
		wanted.States = nil // a job in any state makes the account no newcomer
	}
	counts, _, err := s.Service.Counts(ctx, c.owner(), wanted, maxRetrying)
	if err != nil {
		return err
	}
	o.Triage.FailedAttempts = series.Total.Failed
	if n := counts[job.Retryable]; n > 0 {
		o.Triage.Retrying = ui.Count(n)
		if n >= maxRetrying {
			o.Triage.Retrying += "+"
		}
	}
	for _, n := range counts {
		o.Newcomer = o.Newcomer && n == 0
	}
	if c.part() == "overview" {
		return c.render(http.StatusOK, view.OverviewPart(o))
	}
	c.undoPause()
	return c.render(http.StatusOK, view.OverviewPage(o))
}

// failing returns the schedules that fail, at most maxFailing.
func (s *Server) failing(c *call) (f view.Failing, err error) {
	f.Schedules, err = s.Service.SchedulesFailing(c.r.Context(), c.owner(), maxFailing+1)
	if f.More = len(f.Schedules) > maxFailing; f.More {
		f.Schedules = f.Schedules[:maxFailing]
	}
	return f, err
}

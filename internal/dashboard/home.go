package dashboard

import (
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
)

var homeRoutes = []route{
	{"/{$}", forMembers, map[string]handler{"GET": (*Server).overview}},
}

const (
	// failedWithin is how far back the overview lists failures.
	failedWithin = 24 * time.Hour
	// maxFailing is how many failing schedules are read at most.
	maxFailing = 1000
	// maxRetrying is how many jobs of a state are counted.
	maxRetrying = 1000
)

func (s *Server) overview(c *call) error {
	ctx := c.r.Context()
	o := &view.Overview{Self: c.here("part", "overview")}
	series, err := s.readCharts(c, o)
	if err != nil {
		return err
	}
	if err := s.readFailures(c, o, s.Service.Now().Add(-failedWithin)); err != nil {
		return err
	}
	if o.Grid, err = s.readGrid(c, o.Failing.Schedules); err != nil {
		return err
	}
	o.Failing.Link(o.Grid)
	if o.Signals, err = s.readSignals(c, o.Failing.Schedules); err != nil {
		return err
	}
	counts, _, err := s.Service.Counts(ctx, c.owner(), job.Query{}, maxRetrying)
	if err != nil {
		return err
	}
	o.Newcomer = series.Total.Runs() == 0
	if n := counts[job.Retryable]; n > 0 {
		o.Retrying = ui.Count(n)
		if n >= maxRetrying {
			o.Retrying += "+"
		}
	}
	for _, n := range counts {
		o.Newcomer = o.Newcomer && n == 0
	}
	if c.part() == "overview" {
		return c.render(http.StatusOK, view.OverviewPart(o))
	}
	return c.render(http.StatusOK, view.OverviewPage(o))
}

// readFailures reads which schedules fail, and what has failed since a time.
func (s *Server) readFailures(c *call, o *view.Overview, since time.Time) error {
	var err error
	if o.Failing, err = s.failing(c); err != nil {
		return err
	}
	failed, err := s.Service.FailuresSince(c.r.Context(), c.owner(), since, view.FailuresRead+1)
	if err != nil {
		return err
	}
	if o.FailuresPartly = len(failed) > view.FailuresRead; o.FailuresPartly {
		failed = failed[:view.FailuresRead]
	}
	o.Failures = view.GroupFailures(failed)
	return nil
}

// failing returns the schedules that fail, at most maxFailing.
func (s *Server) failing(c *call) (f view.Failing, err error) {
	f.Schedules, err = s.Service.SchedulesFailing(c.r.Context(), c.owner(), maxFailing+1)
	if f.More = len(f.Schedules) > maxFailing; f.More {
		f.Schedules = f.Schedules[:maxFailing]
	}
	return f, err
}

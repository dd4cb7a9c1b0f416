package dashboard

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
)

// schedulesScanned is how many schedules are read at most to find those due next.
const schedulesScanned = 1000

// readGrid reads the schedules that the overview shows with their last runs: those
// that fail and, if there is room, those that are due next.
func (s *Server) readGrid(c *call, failing []job.FailingSchedule) (*view.Grid, error) {
	ctx, g := c.r.Context(), &view.Grid{More: len(failing) > view.GridRows}
	if asTable(c) { // the page would be too large
		return g, nil
	}
	shown := map[uuid.UUID]bool{}
	add := func(one *job.Schedule) {
		shown[one.ID] = true
		g.Rows = append(g.Rows, &view.GridRow{ScheduleRow: view.ScheduleRow{Schedule: one}})
	}
	for _, f := range failing[:min(view.GridRows, len(failing))] {
		add(&job.Schedule{ID: f.ID, Name: f.Name, Failures: f.Failures, FailingSince: f.Since, Failure: f.Cause})
	}
	if room := view.GridRows - len(g.Rows); room > 0 {
		due, err := s.Service.SchedulesDue(ctx, c.owner(), view.GridRows+1, schedulesScanned)
		if err != nil {
			return nil, err
		}
		for _, one := range due.Schedules {
			if shown[one.ID] {
				continue
			}
			if g.More = len(g.Rows) == view.GridRows; g.More {
				break
			}
			add(&job.Schedule{ID: one.ID, Name: one.Name})
		}
	}
	if err := s.readGridRuns(c, g); err != nil {
		return nil, err
	}
	g.Order(s.Service.Now())
	return g, nil
}

// readGridRuns reads the last runs of the schedules, and why they failed.
func (s *Server) readGridRuns(c *call, g *view.Grid) error {
	ids := make([]uuid.UUID, len(g.Rows))
	for i, r := range g.Rows {
		ids[i] = r.ID
	}
	runs, err := s.Service.Runs(c.r.Context(), c.owner(), ids, view.GridRead)
	if err != nil {
		return err
	}
	var failed []int64
	for _, of := range runs {
		for _, run := range of {
			if run.State == job.Discarded || run.State == job.Retryable {
				failed = append(failed, run.Number)
			}
		}
	}
	causes, err := s.Service.JobFailures(c.r.Context(), c.owner(), failed)
	for _, r := range g.Rows {
		r.Runs, r.Causes = runs[r.ID], causes
	}
	return err
}

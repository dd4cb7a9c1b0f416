package service

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// RunsAhead returns how many runs the owner's schedules will have between two of the
// bounds, which are in order, besides the pending run of each. It reads the newest
// schedules, at most so many; partly is set if there are more. Waits for limits, failures
// and changes are not foreseen, and of the runs that max_runs leaves only the most there
// can be.
func (s *Service) RunsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, schedules int) (counts []int64, partly bool, err error) {
	counts = make([]int64, len(bounds)-1)
	page, err := s.Schedules(ctx, owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: schedules}})
	if err != nil {
		return nil, false, err
	}
	for _, one := range page.Items {
		if !one.Live() {
			continue
		}
		if grid, spec := one.Grid(); grid != nil {
			left := int64(-1)
			if spec.MaxRuns > 0 {
				left = spec.MaxRuns - 1
			}
			addAhead(counts, bounds, grid, left)
		}
	}
	return counts, page.Next != nil, nil
}

// addAhead adds the points of a grid behind the next one, at most left of them unless
// that is negative.
func addAhead(counts []int64, bounds []time.Time, grid *schedule.Grid, left int64) {
	pending := grid.Next(time.Time{}, bounds[0])
	if pending.IsZero() || !pending.Before(bounds[len(bounds)-1]) || left == 0 {
		return
	}
	for i := range counts {
		from := schedule.Later(bounds[i], pending)
		if !from.Before(bounds[i+1]) {
			continue
		}
		n := grid.Count(from, bounds[i+1])
		if left >= 0 {
			n = min(n, left)
			left -= n
		}
		counts[i] += n
	}
}

package service

import (
	"context"
	"math"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
)

// RunsAhead returns how many runs the owner's schedules will have between two of the
// bounds, which are in order, besides the pending run of each. It reads the newest
// schedules, at most so many; partly is set if there are more. Waits for limits, failures
// and changes are not foreseen, and of the runs that max_runs leaves only the most there
// can be.
func (s *Service) RunsAhead(ctx context.Context, owner job.Owner, bounds []time.Time,
	schedules int) (counts []int64, partly bool, err error) {
	counts = make([]int64, len(bounds)-1)
	page, err := s.Schedules(ctx, owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: schedules}})
	if err != nil {
		return nil, false, err
	}
	known := map[string][]int64{} // by the text of a cron expression and its shift
	for _, one := range page.Items {
		grid, spec := one.Grid()
		if !one.Live() || grid == nil {
			continue
		}
		key := ""
		if spec.Cron != "" && spec.MaxRuns == 0 && grid.Until.IsZero() && grid.Except.Empty() && grid.Begin.Before(bounds[0]) {
			key = spec.Cron + " " + spec.Timezone + " " + grid.Shift.String()
		}
		ahead := known[key]
		if ahead == nil {
			ahead = runsAhead(bounds, grid, spec.MaxRuns)
			if key != "" {
				known[key] = ahead
			}
		}
		for i, n := range ahead {
			counts[i] += n
		}
	}
	return counts, page.Next != nil, nil
}

// runsAhead counts the points of a grid behind the next one; most, unless it is 0, is how
// many runs there can be, with the pending one.
func runsAhead(bounds []time.Time, grid *schedule.Grid, most int64) []int64 {
	counts, end := make([]int64, len(bounds)-1), bounds[len(bounds)-1]
	pending := grid.Next(time.Time{}, bounds[0])
	if pending.IsZero() || !pending.Before(end) {
		return counts
	}
	left := int64(math.MaxInt64)
	if most > 0 {
		left = most - 1
	}
	for i := range counts {
		from := schedule.Later(bounds[i], pending)
		if !from.Before(bounds[i+1]) || left == 0 {
			continue
		}
		counts[i] = min(left, grid.Count(from, bounds[i+1]))
		left -= counts[i]
	}
	return counts
}

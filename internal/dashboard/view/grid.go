package view

import (
	"cmp"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// GridRows is how many schedules the grid of the overview has.
	GridRows = 16
	// gridRuns is how many of the last runs it shows of each.
	gridRuns = 16
	// GridRead is how many runs are read of each: one of them may not be due.
	GridRead = gridRuns + 1
)

// Grid shows schedules by their last runs: those that fail, those that are late, and
// those that are due next.
type Grid struct {
	Rows []*GridRow
	// More is set if the account has other schedules.
	More bool
}

// GridRow is a schedule with its last runs, newest first. Of the schedule, it has what
// its title and its health need.
type GridRow struct {
	ScheduleRow
	Causes map[int64]job.LastFailure // of the runs that failed, by number
}

// Order puts the schedules that fail first, those that fail longest before others,
// then those that are late, then those that are due next.
func (g *Grid) Order(now time.Time) {
	rank := func(r *GridRow) int {
		switch r.health(now).Label {
		case "Failing":
			return 0
		case "Late":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(g.Rows, func(a, b *GridRow) int {
		if n := rank(a) - rank(b); n != 0 || rank(a) == 0 {
			return cmp.Or(n, a.FailingSince.Compare(b.FailingSince))
		}
		return a.due().Compare(b.due())
	})
}

// due returns when the pending run is due; zero without one.
func (r *GridRow) due() time.Time {
	if next := r.next(); next != nil {
		return next.DueAt
	}
	return time.Time{}
}

// cells returns the last runs, oldest first.
func (r *GridRow) cells(href func(format string, args ...any) string) []ui.Run {
	runs := r.past()
	runs = runs[:min(gridRuns, len(runs))]
	cells := make([]ui.Run, len(runs))
	for i := range runs {
		run := &runs[i]
		cells[len(runs)-1-i] = ui.Run{Href: href("/jobs/%d", run.Number), State: run.State, At: changedAt(run), Text: r.runText(run)}
	}
	return cells
}

// runText returns why a run failed, or how long it took.
func (r *GridRow) runText(run *job.RunSummary) string {
	if failure, failed := r.Causes[run.Number]; failed {
		return ui.Cause(failure.Cause)
	}
	if took, ended := duration(run); ended {
		return ui.Millis(took)
	}
	return ""
}

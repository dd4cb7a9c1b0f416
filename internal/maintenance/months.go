package maintenance

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// maxMonthsLag is how long after their end runs are counted: the ends of most are
	// stored by then. A run whose end is stored later is counted with the next one.
	maxMonthsLag = 5 * time.Second
	// monthsScan is how many jobs are looked at for schedules whose runs have ended,
	// monthsBatch of how many schedules runs are counted at once, monthsRuns how many of
	// each.
	monthsScan, monthsBatch, monthsRuns = 1000, 64, 100
	// maxMonthsRest is the pause when nothing is left to count. Counting costs as much for
	// one run of a schedule as for some dozens.
	maxMonthsRest = 10 * time.Minute
	// monthsFactor: while there is something to count, the pause is so many times the
	// duration of a step, so that counting takes at most a quarter of the time.
	monthsFactor = 3
	// maxUncounted is how long jobs are kept longer than the retention until their runs are
	// counted.
	maxUncounted = 24 * time.Hour
)

// monthly counts ended runs for monthly reports.
type monthly struct {
	pending []store.ScheduleKey // whose runs are to be counted
	until   time.Time           // of the search that found them
	next    store.PruneCursor   // is stored when none is pending
	more    bool                // there are jobs behind next
}

// countMonths does a step and returns the pause until the next. The pauses are shorter with
// a short retention: jobs are pruned after their runs are counted.
func (w *Worker) countMonths(ctx context.Context, m *monthly) time.Duration {
	rest, lag := maxMonthsRest, maxMonthsLag
	if w.Retention > 0 {
		rest, lag = min(max(w.Retention/10, minPruneRest), rest), min(w.Retention/10, lag)
	}
	start := time.Now()
	more, err := w.monthsStep(ctx, m, lag)
	switch {
	case err != nil && ctx.Err() == nil:
		w.Log.Error("counting runs for monthly reports failed; retrying", "error", err)
		*m = monthly{}
		return min(rest, maxPruneRest)
	case more:
		return max(prunePause, monthsFactor*time.Since(start))
	}
	return rest
}

// counted returns until when ended runs are counted, but not more than a time: jobs that
// ended later must not be pruned yet. Counting that fails keeps jobs for maxUncounted at
// most.
func (w *Worker) counted(before time.Time) time.Time {
	until := w.months.Load()
	if until == nil || !until.Before(before) {
		return before
	}
	if least := before.Add(-maxUncounted); until.Before(least) {
		return least
	}
	return *until
}

// monthsStep looks for schedules whose runs have ended, or counts runs of some of those
// found. It reports whether there is more to do. The cursor is stored when all of them are
// counted: a crash repeats the search, which changes nothing.
func (w *Worker) monthsStep(ctx context.Context, m *monthly, lag time.Duration) (more bool, err error) {
	if len(m.pending) > 0 {
		return true, w.countPending(ctx, m)
	}
	if m.next != (store.PruneCursor{}) {
		if err := w.Store.MonthsCursorPut(ctx, m.next); err != nil {
			return false, err
		}
		w.countedUntil(m.next.At)
		if m.next = (store.PruneCursor{}); !m.more {
			w.countedUntil(m.until)
			return false, nil
		}
	}
	cursor, err := w.Store.MonthsCursor(ctx)
	if err != nil {
		return false, err
	}
	m.until = w.Store.Now().Add(-lag)
	ended, err := w.Store.MonthsEnded(ctx, cursor, m.until, monthsScan)
	if err != nil {
		return false, err
	}
	if ended.Next == cursor {
		w.countedUntil(m.until)
		return false, nil
	}
	m.pending, m.next, m.more = ended.Keys, ended.Next, ended.More
	return true, nil
}

func (w *Worker) countedUntil(until time.Time) { w.months.Store(&until) }

// countPending counts runs of the first schedules. If that fails for several, it is tried
// for each, so that one that can't be counted stops no other.
func (w *Worker) countPending(ctx context.Context, m *monthly) error {
	batch := m.pending[:min(len(m.pending), monthsBatch)]
	m.pending = m.pending[len(batch):]
	unfinished, err := w.countRuns(ctx, batch)
	if err == nil {
		m.pending = append(m.pending, unfinished...)
		return nil
	}
	failed := 0
	for i := range batch {
		unfinished, one := w.countRuns(ctx, batch[i:i+1])
		if m.pending = append(m.pending, unfinished...); one != nil {
			failed++
		}
	}
	if failed == 0 {
		return nil
	}
	if _, away := w.Store.MonthsCursor(ctx); away != nil {
		return err // it is the store
	}
	w.Log.Error("runs of some schedules can't be counted for monthly reports; going on with the others", "schedules", failed, "error", err)
	return nil
}

// countRuns counts up to monthsRuns runs of each schedule, and returns those that have more.
func (w *Worker) countRuns(ctx context.Context, keys []store.ScheduleKey) (unfinished []store.ScheduleKey, err error) {
	read, err := w.Store.MonthsRead(ctx, keys, monthsRuns)
	if err != nil {
		return nil, err
	}
	now := w.Store.Now()
	var changes []store.MonthsChange
	for i := range read {
		of := &read[i]
		var months []*store.ScheduleMonth
		if err := fault.Guard(func() error {
			months = stats.CountRuns(of, now)
			return nil
		}); err != nil {
			return nil, err
		}
		if len(months) > 0 {
			changes = append(changes, store.MonthsChange{ScheduleKey: of.ScheduleKey, Through: of.Through, Months: months})
		}
		if of.More {
			unfinished = append(unfinished, of.ScheduleKey)
		}
	}
	if len(changes) == 0 {
		return unfinished, nil
	}
	return unfinished, w.Store.MonthsWrite(ctx, changes)
}

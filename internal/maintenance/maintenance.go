package maintenance

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
)

// Config configures a Worker.
type Config struct {
	Store     Store
	Metrics   *metrics.Metrics
	Log       *slog.Logger
	Retention time.Duration // 0: keep everything forever
}

// Worker runs the maintenance tasks.
type Worker struct {
	Config
	// months is until when ended runs are counted for monthly reports; nil if they are not
	// being counted.
	months atomic.Pointer[time.Time]
}

const (
	pruneBatch = 200
	// prunePause is the pause between two batches. The pause when no records are left is
	// a tenth of the retention, within the bounds below.
	prunePause   = 20 * time.Millisecond
	minPruneRest = time.Second
	maxPruneRest = time.Minute
	// perKept is by how much a record that a round has examined and kept delays the next
	// round. Reading it takes about 20 µs, so this takes 0.2 % of the time.
	perKept = 10 * time.Millisecond
	// countRest is the least pause between two counts. The pause is at least
	// countFactor times the duration of a count, so that counting takes at most
	// 1 % of the time.
	countRest   = 15 * time.Second
	countFactor = 100
	// sweepRest is the pause between two rounds of sweep, expireRest of expire.
	sweepRest  = 2 * time.Second
	expireRest = time.Minute
	// afterPanic is the pause of a task after a panic.
	afterPanic = time.Minute
	// settles is how long after an account's deletion its records are looked
	// for: by then no attempt is under way that could store another.
	settles = time.Hour
	// statsKept is how long statistics are kept, in minutes.
	statsKept = 7 * 24 * 60
	// countLimit is how many operations are counted.
	countLimit = 100_000
)

// Run runs the tasks until ctx ends.
func (w *Worker) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { w.every(ctx, w.count) })
	tasks.Go(func() { w.every(ctx, w.sweep) })
	tasks.Go(func() { w.every(ctx, w.expire) })
	counted := &monthly{}
	w.countedUntil(time.Time{})
	tasks.Go(func() { w.every(ctx, func(ctx context.Context) time.Duration { return w.countMonths(ctx, counted) }) })
	if w.Retention > 0 {
		for _, p := range w.prunings() {
			tasks.Go(func() { w.every(ctx, func(ctx context.Context) time.Duration { return w.prune(ctx, p) }) })
		}
	}
	tasks.Wait()
}

// every calls a step, pauses for as long as it returns, and repeats until ctx
// ends. A step that panics is called again after afterPanic.
func (w *Worker) every(ctx context.Context, step func(context.Context) time.Duration) {
	for ctx.Err() == nil {
		rest := afterPanic
		if err := fault.Guard(func() error {
			rest = step(ctx)
			return nil
		}); err != nil {
			w.Log.Error("a maintenance task failed; it goes on in a minute", "error", err)
		}
		pause.For(ctx, rest)
	}
}

// sweep removes one batch of deleted records and returns the pause until the next.
func (w *Worker) sweep(ctx context.Context) time.Duration {
	found, err := w.SweepStep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		w.Log.Error("removing deleted records failed; retrying", "error", err)
		return sweepRest
	case found:
		return prunePause
	default:
		return sweepRest
	}
}

// SweepStep removes a batch of deleted accounts' records, and operations that ended
// longer ago than the retention, with what is left of stopped ones. It reports whether
// there may be more.
func (w *Worker) SweepStep(ctx context.Context) (found bool, err error) {
	now := w.Store.Now()
	purged, err := w.Store.AccountPurge(ctx, now.Add(-settles), pruneBatch)
	if err != nil {
		return false, err
	}
	var before time.Time
	if w.Retention > 0 {
		before = now.Add(-w.Retention)
	}
	operations, err := w.Store.OperationPrune(ctx, before, pruneBatch)
	return purged > 0 || operations > 0, err
}

// expire removes one batch of each kind of expired records and returns the pause until
// the next.
func (w *Worker) expire(ctx context.Context) time.Duration {
	found, err := w.ExpireStep(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		w.Log.Error("removing expired records failed; retrying", "error", err)
		return sweepRest
	case found:
		return prunePause
	default:
		return expireRest
	}
}

// ExpireStep removes up to a batch each of expired sessions, requests, recipients that
// never confirmed, old statistics and old months. It reports whether there may be more.
func (w *Worker) ExpireStep(ctx context.Context) (found bool, err error) {
	now := w.Store.Now()
	for _, remove := range []func() (int, error){
		func() (int, error) { return w.Store.SessionPrune(ctx, now, pruneBatch) },
		func() (int, error) { return w.Store.StatsPrune(ctx, now.Unix()/60-statsKept, pruneBatch) },
		func() (int, error) {
			return w.Store.MonthsPrune(ctx, stats.MonthOf(now)-stats.MonthsKept+1, pruneBatch)
		},
		func() (int, error) { return w.Store.RecipientPrune(ctx, now.Add(-store.RecipientLasts), pruneBatch) },
		func() (int, error) { return w.Store.RequestPrune(ctx, now, pruneBatch) },
	} {
		n, err := remove()
		if err != nil {
			return false, err
		}
		found = found || n >= pruneBatch
	}
	return found, nil
}

// count updates the gauges of stored records and returns the pause until the
// next count.
func (w *Worker) count(ctx context.Context) time.Duration {
	start := time.Now()
	if err := w.CountStep(ctx); err != nil && ctx.Err() == nil {
		w.Log.Warn("counting stored records failed", "error", err)
	}
	return max(countRest, countFactor*time.Since(start))
}

// CountStep counts jobs by state, due queue items by kind, what limits hold and
// running operations, for the metrics.
func (w *Worker) CountStep(ctx context.Context) error {
	jobs, err := w.Store.JobCounts(ctx)
	if err != nil {
		return err
	}
	for _, state := range []job.State{job.Available, job.Retryable, job.Executing, job.Completed, job.Cancelled, job.Discarded} {
		w.Metrics.Stored(state.String(), jobs[state])
	}
	due, err := w.Store.QueueCounts(ctx)
	if err != nil {
		return err
	}
	w.Metrics.Due("job", due[store.KindJob])
	w.Metrics.Due("delivery", due[store.KindDelivery])
	waiting, err := w.Store.LimitWaiting(ctx)
	if err != nil {
		return err
	}
	w.Metrics.LimitWaiting(waiting)
	running, err := w.Store.OperationsRunning(ctx, countLimit)
	if err != nil {
		return err
	}
	w.Metrics.OperationsRunning(running)
	return nil
}

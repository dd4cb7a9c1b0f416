package release

import (
	"context"
	"log/slog"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// Steps carries out steps; *service.Service implements it.
type Steps interface {
	WaitTurn(ctx context.Context, after int64) (account int64, err error)
	ReleaseJobs(ctx context.Context, account int64, limit int) (considered int, refused, err error)
	SweepWaits(ctx context.Context, after store.WaitCursor, limit int) (next store.WaitCursor, stored int, err error)
}

const (
	// every is how often a worker looks for ends that no notice has announced: those
	// that a node has stored which stopped before it noted them.
	every = time.Second
	// sweepEvery is how often it looks for ends that were not stored.
	sweepEvery = time.Minute
	// sweepSize is how many awaited jobs a sweep reads at once, sweepPause the pause after
	// that.
	sweepSize  = 500
	sweepPause = 10 * time.Millisecond
)

// Worker releases jobs of all accounts, one step at a time.
type Worker struct {
	log    *slog.Logger
	steps  Steps
	wake   chan struct{}
	swept  store.WaitCursor // how far the sweep under way is
	failed bool             // the last step failed, which was logged
}

// New returns a Worker.
func New(log *slog.Logger) *Worker { return &Worker{log: log, wake: make(chan struct{}, 1)} }

// Wake makes the worker look for ends now. It does not block.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run releases jobs until ctx ends.
func (w *Worker) Run(ctx context.Context, steps Steps) {
	w.steps = steps
	var next time.Time // when to sweep the next part
	look := ctx
	for ctx.Err() == nil {
		for w.round(look) && ctx.Err() == nil {
			look = ctx
		}
		if !time.Now().Before(next) {
			next = time.Now().Add(w.sweep(ctx))
		}
		if look = ctx; !pause.Woken(ctx, min(every, time.Until(next)), w.wake) {
			look = store.Routine(ctx)
		}
	}
}

// round makes a step for each account that has ends, and reports whether one of them
// has considered any.
func (w *Worker) round(ctx context.Context) (more bool) {
	for account := int64(0); ctx.Err() == nil; {
		next, err := w.steps.WaitTurn(ctx, account)
		if err != nil || next == 0 {
			w.report(ctx, err)
			return more && err == nil
		}
		account = next
		more = w.step(ctx, account) || more
	}
	return false
}

// step makes a step for an account. It then pauses for as long as the step took, so that
// releasing jobs uses at most half of the store's time for writes.
func (w *Worker) step(ctx context.Context, account int64) (more bool) {
	began := time.Now()
	considered := 0
	err := fault.Guard(func() (err error) {
		var refused error
		considered, refused, err = w.steps.ReleaseJobs(ctx, account, store.MaxWaitLimit)
		if refused != nil {
			w.log.Error("a job that waits for others can't be released; it is tried again in a minute", "account", account, "error",
				refused)
		}
		return err
	})
	w.report(ctx, err)
	pause.For(ctx, time.Since(began))
	return considered > 0 && err == nil
}

// sweep looks at the next part of all awaited jobs, and returns when to go on.
func (w *Worker) sweep(ctx context.Context) time.Duration {
	next, _, err := w.steps.SweepWaits(ctx, w.swept, sweepSize)
	w.report(ctx, err)
	if w.swept = next; err != nil || next == (store.WaitCursor{}) {
		w.swept = store.WaitCursor{}
		return sweepEvery
	}
	return sweepPause
}

// report logs the first of several failures.
func (w *Worker) report(ctx context.Context, err error) {
	if err != nil && !w.failed && ctx.Err() == nil {
		w.log.Warn("releasing jobs that wait for others failed; retrying", "error", err)
	}
	w.failed = err != nil
}

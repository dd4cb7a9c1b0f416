package operation

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

// Steps carries out operations; *service.Service implements it.
type Steps interface {
	Now() time.Time
	ClaimOperations(ctx context.Context, lease store.OperationLease, limit int) ([]*job.Operation, error)
	ReleaseOperations(ctx context.Context, holder uuid.UUID) error
	ResumeOperation(ctx context.Context, o *job.Operation) (*service.OperationWork, error)
	StepOperation(ctx context.Context, w *service.OperationWork, lease store.OperationLease, most int) (n int, refused, err error)
	StopOperation(ctx context.Context, owner job.Owner, id uuid.UUID) (o *job.Operation, stopped bool, err error)
}

const (
	// claimEvery is how often a worker looks for operations, and how long it carries
	// out those that it has leased before it lets others have their turn.
	claimEvery = time.Second
	// maxClaims is how many operations a worker leases at once.
	maxClaims = 8
	// leased is how long a lease lasts after the last step; another worker takes over
	// then.
	leased = 5 * time.Second
	// stepTime is how long the jobs of a step should take. The number of jobs of a step
	// follows from how long the last ones took.
	stepTime = 5 * time.Millisecond
	minStep  = 2 // the least that can be halved
	maxStep  = 64
	// firstStep is the number of jobs of the first step.
	firstStep = 8
	// minPause is the shortest pause after a step. A pause is at least as long as the
	// step, so that operations use at most half of the store's time for writes.
	minPause = 2 * time.Millisecond
	// startsPerSecond limits how many jobs per second a worker makes due, because they
	// are started among the jobs of everybody else.
	startsPerSecond = 500
	// releaseWithin is the timeout for ending the leases when the worker stops.
	releaseWithin = 2 * time.Second
)

// Config configures a Worker.
type Config struct {
	Steps   Steps
	Metrics *metrics.Metrics
	Log     *slog.Logger
}

// Worker carries out the operations of all accounts, one step at a time.
type Worker struct {
	Config
	holder uuid.UUID
	wake   chan struct{}
	size   int  // jobs of the next step
	failed bool // the last claim failed, which was logged
}

// New returns a Worker.
func New(config Config) *Worker {
	return &Worker{Config: config, holder: uuid.New(), wake: make(chan struct{}, 1), size: firstStep}
}

// Wake makes the worker look for operations now. It does not block.
func (w *Worker) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run carries out operations until ctx ends, and then lets other workers take over.
func (w *Worker) Run(ctx context.Context) {
	for look := ctx; ctx.Err() == nil; {
		began := time.Now()
		w.turn(look, began.Add(claimEvery))
		if look = ctx; !pause.Woken(ctx, claimEvery-time.Since(began), w.wake) {
			look = store.Routine(ctx)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWithin)
	defer cancel()
	if err := w.Steps.ReleaseOperations(ctx, w.holder); err != nil {
		w.Log.Warn("releasing operations failed; other nodes take them over in some seconds", "error", err)
	}
}

// lease returns a lease that begins now.
func (w *Worker) lease() store.OperationLease {
	return store.OperationLease{Holder: w.holder, Until: w.Steps.Now().Add(leased)}
}

// turn leases operations and carries them out by turns until a time, until there
// are none left or until the worker is woken. If there are more than it may lease,
// it releases those that it has, so that the others come first next time.
func (w *Worker) turn(ctx context.Context, until time.Time) {
	claimed, err := w.Steps.ClaimOperations(ctx, w.lease(), maxClaims)
	if err != nil {
		if !w.failed && ctx.Err() == nil {
			w.Log.Warn("looking for operations failed; retrying", "error", err)
		}
		w.failed = true
		return
	}
	w.failed = false
	var open []*service.OperationWork
	for _, o := range claimed {
		if work := w.resume(ctx, o); work != nil {
			open = append(open, work)
		}
	}
	for len(open) > 0 && ctx.Err() == nil && len(w.wake) == 0 && time.Now().Before(until) {
		left := open[:0]
		for _, work := range open {
			if w.steps(ctx, work) {
				left = append(left, work)
			}
		}
		open = left
	}
	if len(claimed) == maxClaims && len(open) > 0 {
		if err := w.Steps.ReleaseOperations(ctx, w.holder); err != nil && ctx.Err() == nil {
			w.Log.Warn("releasing operations failed", "error", err)
		}
	}
}

// resume prepares an operation. It stops one that can't be read.
func (w *Worker) resume(ctx context.Context, o *job.Operation) *service.OperationWork {
	work, err := w.Steps.ResumeOperation(ctx, o)
	if err == nil {
		return work
	}
	w.Log.Error("an operation can't be read; stopping it", "operation", o.ID, "error", err)
	if _, _, err := w.Steps.StopOperation(ctx, o.Owner, o.ID); err != nil {
		w.Log.Error("stopping an operation failed", "operation", o.ID, "error", err)
	}
	return nil
}

// steps carries out a step of an operation and adapts the number of jobs of the next.
// If the step was not short, a second one with half as many jobs follows: the
// difference shows how long the jobs took. It reports whether the operation is still
// running here.
func (w *Worker) steps(ctx context.Context, work *service.OperationWork) (goesOn bool) {
	whole, goesOn := w.step(ctx, work, w.size)
	switch {
	case whole.jobs > 0 && whole.took < stepTime/2:
		w.adapt(whole.took)
	case goesOn && whole.jobs > 1:
		var half step
		half, goesOn = w.step(ctx, work, whole.jobs/2)
		if half.jobs > 0 {
			w.adapt(jobsTook(whole, half))
		}
	}
	return goesOn
}

// step is how many jobs a step has changed or skipped, and how long it took.
type step struct {
	jobs int
	took time.Duration
}

// jobsTook estimates how long the jobs of a step took, from a smaller step. The rest of
// a step takes as long for one job as for many: round trips, the commit, waiting for a
// processor. Smaller steps would not make it shorter.
func jobsTook(whole, half step) time.Duration {
	perJob := (whole.took - half.took) / time.Duration(whole.jobs-half.jobs)
	return min(whole.took, time.Duration(whole.jobs)*perJob)
}

// step carries out a step of an operation with up to most jobs, and pauses. It reports
// whether the operation is still running here.
func (w *Worker) step(ctx context.Context, work *service.OperationWork, most int) (done step, goesOn bool) {
	o := work.Operation
	began := time.Now()
	var refused error
	err := fault.Guard(func() (err error) {
		done.jobs, refused, err = w.Steps.StepOperation(ctx, work, w.lease(), most)
		return err
	})
	done.took = time.Since(began)
	changed := work.Operation.Done - o.Done
	if done.jobs > 0 {
		w.Metrics.OperationJobs(string(o.Action), changed, work.Operation.Seen()-o.Seen()-changed)
	}
	if refused != nil {
		w.Log.Error("a job can't be changed; the operation skips it", "operation", o.ID, "error", refused)
	}
	switch {
	case errors.Is(err, store.ErrNotHeld):
		return done, false
	case err != nil:
		if ctx.Err() == nil {
			w.Log.Warn("a step of an operation failed; retrying", "operation", o.ID, "error", err)
		}
		return done, false // until the next turn
	case work.Operation.State != job.OperationRunning:
		w.Log.Info("operation finished", "operation", o.ID, "action", string(o.Action), "done", work.Operation.Done, "matched",
			work.Operation.Matched)
		return done, false
	}
	pause.For(ctx, pauseAfter(done.took, changed, o.Action))
	return done, true
}

// adapt sets the number of jobs of the next step from how long those of one took.
func (w *Worker) adapt(took time.Duration) {
	switch {
	case took < stepTime/2:
		w.size = min(2*w.size, maxStep)
	case took > 2*stepTime:
		w.size = max(w.size/2, minStep)
	}
}

// pauseAfter returns how long to pause after a step that has changed jobs.
func pauseAfter(took time.Duration, changed int64, action job.Action) time.Duration {
	rest := max(minPause, took)
	if action == job.RunJobs || action == job.RerunJobs {
		rest = max(rest, time.Duration(changed)*time.Second/startsPerSecond-took)
	}
	return rest
}

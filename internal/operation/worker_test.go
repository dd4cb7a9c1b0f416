package operation

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

// fakeSteps has operations of a number of jobs, in fake time.
type fakeSteps struct {
	Steps
	operations []*job.Operation
	perStep    time.Duration // how long a step takes, whatever it changes
	perJob     time.Duration // how long it takes for each job
	fail       map[uuid.UUID]int
	unreadable map[uuid.UUID]bool

	mu       sync.Mutex // guards the operations
	sizes    []int
	done     []uuid.UUID // of each step
	claims   int
	released int
	stopped  []uuid.UUID
}

func (f *fakeSteps) Now() time.Time { return time.Now() }

func (f *fakeSteps) add(matched int64, action job.Action) *job.Operation {
	o := &job.Operation{ID: uuid.New(), Action: action, State: job.OperationRunning, Matched: matched}
	f.operations = append(f.operations, o)
	return o
}

func (f *fakeSteps) ClaimOperations(_ context.Context, _ store.OperationLease, limit int) (claimed []*job.Operation, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims++
	for _, o := range f.operations {
		if o.State == job.OperationRunning && len(claimed) < limit {
			copied := *o
			claimed = append(claimed, &copied)
		}
	}
	return claimed, nil
}

func (f *fakeSteps) ReleaseOperations(context.Context, uuid.UUID) error {
	f.released++
	return nil
}

func (f *fakeSteps) ResumeOperation(_ context.Context, o *job.Operation) (*service.OperationWork, error) {
	if f.unreadable[o.ID] {
		return nil, errors.New("unreadable")
	}
	return &service.OperationWork{Operation: o}, nil
}

func (f *fakeSteps) StepOperation(_ context.Context, w *service.OperationWork, _ store.OperationLease, most int) (int, error, error) {
	stored := f.operations[slices.IndexFunc(f.operations, func(o *job.Operation) bool { return o.ID == w.Operation.ID })]
	if f.fail[stored.ID] > 0 {
		f.fail[stored.ID]--
		return 0, nil, fault.Unreachable(errors.New("down"))
	}
	n := min(int64(most), stored.Matched-stored.Done)
	time.Sleep(f.perStep + time.Duration(n)*f.perJob)
	f.mu.Lock()
	defer f.mu.Unlock()
	if stored.Done += n; stored.Done == stored.Matched {
		stored.State = job.OperationFinished
	}
	f.sizes, f.done = append(f.sizes, int(n)), append(f.done, stored.ID)
	after := *stored
	w.Operation = &after
	return int(n), nil, nil
}

func (f *fakeSteps) StopOperation(_ context.Context, _ job.Owner, id uuid.UUID) (*job.Operation, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.operations {
		if o.ID == id {
			o.State = job.OperationStopped
		}
	}
	f.stopped = append(f.stopped, id)
	return nil, true, nil
}

// running reports whether there is a running operation.
func (f *fakeSteps) running() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.operations, func(o *job.Operation) bool { return o.State == job.OperationRunning })
}

// work runs a worker until no operation is running, and returns how long it took.
func work(t *testing.T, f *fakeSteps) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := New(Config{Steps: f, Metrics: metrics.New("test"), Log: slog.New(slog.DiscardHandler)})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		began := time.Now()
		go func() { defer close(ended); w.Run(ctx) }()
		for f.running() {
			time.Sleep(10 * time.Millisecond)
			if time.Since(began) > time.Hour {
				t.Error("the operations don't end")
				break
			}
			synctest.Wait()
		}
		took = time.Since(began)
		cancel()
		<-ended
	})
	if f.released == 0 {
		t.Error("a worker that stops keeps its leases")
	}
	return took
}

func TestWorker_AdaptsStepsToTheirDuration(t *testing.T) {
	for perJob, bound := range map[time.Duration][2]int{
		10 * time.Microsecond: {64, 64}, time.Millisecond: {2, 10}, 100 * time.Millisecond: {1, 2},
	} {
		f := &fakeSteps{perJob: perJob}
		f.add(300, job.CancelJobs)
		work(t, f)
		for i, n := range f.sizes[4 : len(f.sizes)-1] {
			if n < bound[0] || n > bound[1] {
				t.Errorf("%s for each job: step %d has %d jobs, want %d to %d", perJob, i+4, n, bound[0], bound[1])
			}
		}
	}
}

func TestWorker_TakesManyJobsIfAStepIsSlowWhateverItChanges(t *testing.T) {
	for _, perStep := range []time.Duration{4 * time.Millisecond, 12 * time.Millisecond, 30 * time.Millisecond, time.Second} {
		f := &fakeSteps{perStep: perStep, perJob: 50 * time.Microsecond}
		f.add(3000, job.RescheduleJobs)
		work(t, f)
		if n := len(f.sizes); n > 80 {
			t.Errorf("%s for each step: changed 3,000 jobs in %d steps, want at most 80", perStep, n)
		}
	}
}

func TestWorker_TakesFewJobsIfTheyAreSlowToo(t *testing.T) {
	f := &fakeSteps{perStep: 20 * time.Millisecond, perJob: 2 * time.Millisecond}
	f.add(300, job.RescheduleJobs)
	work(t, f)
	for i, n := range f.sizes[2:] {
		if n > 5 {
			t.Errorf("step %d has %d jobs, want at most 5", i+2, n)
		}
	}
}

func TestWorker_UsesAtMostHalfOfTheTime(t *testing.T) {
	f := &fakeSteps{perJob: time.Millisecond}
	f.add(1000, job.CancelJobs)
	if took := work(t, f); took < 2*time.Second-100*time.Millisecond {
		t.Errorf("1 s of steps took %s", took)
	}
}

func TestWorker_LimitsHowManyJobsBecomeDue(t *testing.T) {
	for action, least := range map[job.Action]time.Duration{job.RunJobs: 1800 * time.Millisecond, job.RerunJobs: 1800 * time.Millisecond,
		job.RescheduleJobs: 0} {
		f := &fakeSteps{}
		f.add(1000, action)
		if took := work(t, f); took < least || took > least+time.Second {
			t.Errorf("%s of 1,000 jobs took %s, want at least %s", action, took, least)
		}
	}
}

func TestWorker_TakesTurnsAndOutlivesFailures(t *testing.T) {
	f := &fakeSteps{perJob: time.Millisecond, fail: map[uuid.UUID]int{}, unreadable: map[uuid.UUID]bool{}}
	large, small, failing, unreadable := f.add(5000, job.CancelJobs), f.add(20, job.CancelJobs), f.add(20, job.CancelJobs),
		f.add(20, job.CancelJobs)
	f.fail[failing.ID], f.unreadable[unreadable.ID] = 3, true
	work(t, f)
	for _, o := range []*job.Operation{large, small, failing} {
		if o.State != job.OperationFinished || o.Done != o.Matched {
			t.Errorf("an operation ended with %+v", o)
		}
	}
	if last := slices.Index(f.done, small.ID); last < 0 || last > 5 {
		t.Errorf("the small operation came first in step %d", last)
	}
	if !slices.Equal(f.stopped, []uuid.UUID{unreadable.ID}) {
		t.Errorf("stopped %v, want the unreadable one", f.stopped)
	}
}

func TestWorker_ReleasesWhenOthersMayWait(t *testing.T) {
	f := &fakeSteps{perJob: time.Millisecond}
	for range maxClaims + 1 {
		f.add(400, job.CancelJobs)
	}
	work(t, f)
	if f.released < 3 {
		t.Errorf("released %d times", f.released)
	}
}

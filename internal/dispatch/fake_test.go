package dispatch

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// fakeQueue is a queue in memory with a clock that can be stepped.
type fakeQueue struct {
	store.Queue // panics on what the dispatcher does not call

	mu       sync.Mutex
	runs     map[store.RunID]*store.Run
	step     time.Duration
	claims   int
	released []store.Claim
	failing  bool
	nodes    []int64        // that live
	gone     map[int64]bool // that were taken for gone
	lapsed   bool           // the node's last beat was too long ago
	deaf     bool
	mute     bool // beats fail
	started  int64
	reading  time.Duration // how long each look into the queue takes
	claiming time.Duration // how long each write of claims takes
	moves    int
	blocked  []int64
	peeks    int
	notes    map[store.RunID]store.Ref // of runs that are being prepared
	noted    []int                     // how many at once
	suspects []store.Suspect
	unclean  bool
	poison   map[int64]error // by number: what claiming them fails with
}

var errDown = fault.Unreachable(errors.New("the store is down"))

func (q *fakeQueue) Now() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Now().Add(q.step).Truncate(time.Microsecond)
}

func (q *fakeQueue) add(refs ...store.Ref) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		q.runs[ref.RunID] = &store.Run{Ref: ref}
	}
}

func (q *fakeQueue) RunPeek(_ context.Context, behind store.Ref, until time.Time, limit int) ([]store.Ref, error) {
	time.Sleep(q.reading)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return nil, errDown
	}
	var refs []store.Ref
	q.peeks++
	for _, run := range q.runs {
		if run.Claim == nil && after(run.Ref, behind) {
			refs = append(refs, run.Ref)
		}
	}
	slices.SortFunc(refs, func(a, b store.Ref) int {
		return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number))
	})
	for i, ref := range refs {
		if ref.Due.After(until) {
			refs = refs[:i+1]
			break
		}
	}
	return refs[:min(limit, len(refs))], nil
}

func (q *fakeQueue) RunLoad(_ context.Context, refs []store.Ref) ([]*store.Run, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return nil, errDown
	}
	runs := make([]*store.Run, len(refs))
	for i, ref := range refs {
		if run := q.runs[ref.RunID]; run != nil && run.Due.Equal(ref.Due) {
			found := *run
			runs[i] = &found
		}
	}
	return runs, nil
}

func (q *fakeQueue) RunClaim(_ context.Context, node int64, claims []store.Claim) ([]bool, error) {
	time.Sleep(q.claiming)
	q.mu.Lock()
	defer q.mu.Unlock()
	got := make([]bool, len(claims))
	for _, c := range claims {
		if err := q.poison[c.Number]; err != nil {
			return nil, err
		}
	}
	for i, c := range claims {
		if run := q.runs[c.RunID]; run != nil && run.Claim == nil && run.Due.Equal(c.Due) {
			run.Claim = &store.Held{Node: node, Attempt: c.Attempt, BeginAt: c.BeginAt}
			got[i] = true
			q.claims++
		}
	}
	return got, nil
}

func (q *fakeQueue) RunRelease(_ context.Context, _ int64, claims []store.Claim) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.released = append(q.released, claims...)
	for _, c := range claims {
		if run := q.runs[c.RunID]; run != nil && run.Due.Equal(c.Due) {
			unclaimed := *run
			unclaimed.Claim = nil
			q.runs[c.RunID] = &unclaimed
		}
	}
	return nil
}

func (q *fakeQueue) NodeBeat(_ context.Context, node int64) (store.Beat, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing || q.mute {
		return store.Beat{}, errDown
	}
	if q.gone[node] {
		return store.Beat{Gone: true}, nil
	}
	return store.Beat{Nodes: q.nodes, Deaf: q.deaf}, nil
}

func (q *fakeQueue) NodeHolds(node int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.gone[node] && !q.lapsed
}

func (q *fakeQueue) NodeStart(context.Context) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.started++
	q.lapsed = false
	return 100 + q.started, nil
}

func (q *fakeQueue) NodeStop(context.Context, int64) error { return nil }

func (q *fakeQueue) RunHeld(_ context.Context, node int64, claims []store.Claim) ([]bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	held := make([]bool, len(claims))
	for i, c := range claims {
		run := q.runs[c.RunID]
		held[i] = run != nil && run.Claim != nil && run.Claim.Node == node
	}
	return held, nil
}

func (q *fakeQueue) remove(id store.RunID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.runs, id)
}

func (q *fakeQueue) RunMove(_ context.Context, refs []store.Ref, by time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moves++
	for _, ref := range refs {
		if run := q.runs[ref.RunID]; run != nil && run.Claim == nil && run.Due.Equal(ref.Due) {
			moved := *run
			moved.Due = ref.Due.Add(by)
			q.runs[ref.RunID] = &moved
		}
	}
	return nil
}

func (q *fakeQueue) RunNote(_ context.Context, _ int64, refs []store.Ref) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		q.notes[ref.RunID] = ref
	}
	q.noted = append(q.noted, len(refs))
	return nil
}

func (q *fakeQueue) RunCleared(_ context.Context, refs []store.Ref) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		delete(q.notes, ref.RunID)
		q.suspects = slices.DeleteFunc(q.suspects, func(s store.Suspect) bool { return s.RunID == ref.RunID })
	}
	return nil
}

func (q *fakeQueue) RunSuspects(context.Context, int64, int) ([]store.Suspect, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.suspects), q.unclean, nil
}

// firing is one attempt that was made.
type firing struct {
	ref   store.Ref
	at    time.Time // by the fake queue's clock
	node  int64     // in whose name it was claimed
	cause error     // why its context ended, if it did
}

// bench is a dispatcher on a fake queue, and what it fired.
type bench struct {
	t     *testing.T
	queue *fakeQueue
	*Dispatcher

	mu     sync.Mutex
	fired  []firing
	inside int
	most   int
	// work is what an attempt does; by default nothing.
	work func(ctx context.Context, ref store.Ref)
	stop func()
}

type fakeAttempt struct {
	bench *bench
	run   *store.Run
	begin time.Time
}

func (a *fakeAttempt) Claim() store.Claim {
	return store.Claim{Ref: a.run.Ref, Attempt: a.run.Attempt + 1, BeginAt: a.begin}
}

func (a *fakeAttempt) Fire(ctx context.Context, node int64, _ time.Time, answered func(int64)) {
	b := a.bench
	b.mu.Lock()
	b.inside++
	b.most = max(b.most, b.inside)
	i := len(b.fired)
	b.fired = append(b.fired, firing{ref: a.run.Ref, node: node, at: b.queue.Now()})
	b.mu.Unlock()
	if b.work != nil {
		b.work(ctx, a.run.Ref)
	}
	b.mu.Lock()
	b.inside--
	b.fired[i].cause = context.Cause(ctx)
	b.mu.Unlock()
	answered(0)
	b.queue.remove(a.run.RunID)
}

func (a *fakeAttempt) Size() int64 { return 0 }

// start runs a dispatcher inside a synctest bubble until the test ends.
func start(t *testing.T, concurrency int, work func(context.Context, store.Ref), options ...func(*Dispatcher)) *bench {
	b := &bench{t: t, queue: &fakeQueue{runs: map[store.RunID]*store.Run{}, notes: map[store.RunID]store.Ref{}}, work: work}
	b.Dispatcher = New(Config{
		Queue: b.queue, Node: 1, Concurrency: concurrency, Log: slog.New(slog.DiscardHandler),
		Begin: func(run *store.Run, now time.Time) Attempt {
			begin := run.Due
			if now.After(begin) {
				begin = now
			}
			return &fakeAttempt{b, run, begin}
		},
	})
	for _, option := range options {
		option(b.Dispatcher)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Nanosecond) // what the test adds at once is there when the queue is first read
		if err := b.Run(ctx, 30*time.Second); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	b.stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(b.stop)
	return b
}

func (b *bench) firings() []firing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.fired)
}

func ref(number, account int64, lane uint32, due time.Time) store.Ref {
	return store.Ref{RunID: store.RunID{Kind: store.KindJob, Number: number}, Due: due, Account: account, Lane: lane}
}

// hang is work that ends only when it is stopped.
func hang(ctx context.Context, _ store.Ref) { <-ctx.Done() }

// sleep lets the bubble's time pass.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

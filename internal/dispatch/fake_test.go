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
	Queue // panics on what the dispatcher does not call

	mu                sync.Mutex
	items             map[store.ItemID]*store.QueueItem
	step              time.Duration
	claims            int
	released          []store.Claim
	failing           bool
	nodes             []int64        // live nodes
	expired           map[int64]bool // nodes whose lease expired
	leaseLapsed       bool           // the last heartbeat is too old
	notificationsDown bool
	heartbeatFails    bool
	started           int64
	reading           time.Duration // how long each read takes
	claiming          time.Duration // how long each write of claims takes
	moves             int
	blocked           []int64
	peeks, scans      int                             // reads of the queue, and those from its beginning
	notes             map[store.ItemID]store.QueueKey // items being prepared
	noted             []int                           // how many items per note
	notedAlone        []store.QueueKey
	suspects          []store.Suspect
	unclean           bool
	poison            map[int64]error // by number: the error of claiming it
	limits            fakeLimits
	notify            func(store.Notice)    // as Subscribe sets it
	still             time.Time             // the process stands still until then
	edited            map[store.ItemID]bool // the schedules of these runs have changed
	helds             int                   // calls of QueueHeld
	heldFails         bool
	heldTakes         []time.Duration     // of the next calls of QueueHeld
	locked            map[int64]time.Time // by number: claims pass over it until then
	loads             int
	answering         time.Duration // how long the answer to each write of claims takes
	claimLost         int           // so many answers to claims are lost after their commit,
	lostWith          error         // with an error, errDown by default
}

var errDown = fault.Unreachable(errors.New("the store is down"))

func (q *fakeQueue) Now() time.Time {
	q.mu.Lock()
	still := q.still
	q.mu.Unlock()
	time.Sleep(time.Until(still))
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Now().Add(q.step).Truncate(time.Microsecond)
}

// with reads or changes the queue's settings and counts.
func (q *fakeQueue) with(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f()
}

func (q *fakeQueue) add(refs ...store.QueueKey) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		q.items[ref.ItemID] = &store.QueueItem{QueueKey: ref}
	}
}

func (q *fakeQueue) QueuePeek(_ context.Context, behind store.QueueKey, until time.Time, limit int) ([]store.QueueKey, error) {
	q.mu.Lock()
	reading := q.reading
	q.mu.Unlock()
	time.Sleep(reading)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return nil, errDown
	}
	var refs []store.QueueKey
	q.peeks++
	if behind == (store.QueueKey{}) {
		q.scans++
	}
	for _, item := range q.items {
		if item.Claim == nil && after(item.QueueKey, behind) {
			refs = append(refs, item.QueueKey)
		}
	}
	slices.SortFunc(refs, func(a, b store.QueueKey) int {
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

func (q *fakeQueue) QueueLoad(_ context.Context, refs []store.QueueKey) ([]*store.QueueItem, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing {
		return nil, errDown
	}
	items := make([]*store.QueueItem, len(refs))
	q.loads++
	for i, ref := range refs {
		if item := q.items[ref.ItemID]; item != nil && item.Due.Equal(ref.Due) {
			found := *item
			items[i] = &found
		}
	}
	return items, nil
}

func (q *fakeQueue) QueueClaim(_ context.Context, node int64, claims []store.Claim) ([]bool, error) {
	q.mu.Lock()
	claiming, answering := q.claiming, q.answering
	q.mu.Unlock()
	time.Sleep(claiming)
	defer func() { time.Sleep(answering) }()
	q.mu.Lock()
	defer q.mu.Unlock()
	got := make([]bool, len(claims))
	for _, c := range claims {
		if err := q.poison[c.Number]; err != nil {
			return nil, err
		}
	}
	for i, c := range claims {
		if item := q.items[c.ItemID]; item != nil && item.Claim == nil && item.Due.Equal(c.Due) && !time.Now().Before(q.locked[c.Number]) {
			item.Claim = &store.ClaimInfo{Node: node, Attempt: c.Attempt, StartAt: c.StartAt}
			got[i] = true
			q.claims++
		}
	}
	if q.claimLost > 0 {
		q.claimLost--
		return nil, cmp.Or(q.lostWith, error(errDown))
	}
	return got, nil
}

func (q *fakeQueue) QueueRelease(_ context.Context, _ int64, claims []store.Claim) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.released = append(q.released, claims...)
	for _, c := range claims {
		if item := q.items[c.ItemID]; item != nil && item.Due.Equal(c.Due) {
			unclaimed := *item
			unclaimed.Claim = nil
			q.items[c.ItemID] = &unclaimed
		}
	}
	return nil
}

func (q *fakeQueue) NodeHeartbeat(_ context.Context, node int64) (store.Heartbeat, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failing || q.heartbeatFails {
		return store.Heartbeat{}, errDown
	}
	if q.expired[node] {
		return store.Heartbeat{LeaseExpired: true}, nil
	}
	return store.Heartbeat{Nodes: q.nodes, NotificationsDown: q.notificationsDown}, nil
}

func (q *fakeQueue) NodeHoldsLease(node int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.expired[node] && !q.leaseLapsed
}

func (q *fakeQueue) NodeStart(context.Context) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.started++
	q.leaseLapsed = false
	return 100 + q.started, nil
}

func (q *fakeQueue) NodeStop(context.Context, int64) error { return nil }

func (q *fakeQueue) QueueHeld(_ context.Context, node int64, claims []store.Claim) ([]store.ClaimStatus, error) {
	held, takes, err := q.holds(node, claims)
	time.Sleep(takes)
	return held, err
}

func (q *fakeQueue) holds(node int64, claims []store.Claim) (held []store.ClaimStatus, takes time.Duration, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.helds++
	if q.heldFails {
		return nil, 0, errDown
	}
	if len(q.heldTakes) > 0 {
		takes = q.heldTakes[0]
		q.heldTakes = q.heldTakes[1:]
	}
	held = make([]store.ClaimStatus, len(claims))
	for i, c := range claims {
		item := q.items[c.ItemID]
		switch {
		case item == nil || item.Claim == nil || item.Claim.Node != node:
		case q.edited[c.ItemID]:
			held[i] = store.HeldOutdated
		default:
			held[i] = store.Held
		}
	}
	return held, takes, nil
}

func (q *fakeQueue) remove(id store.ItemID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if item := q.items[id]; item != nil {
		q.freed(item)
	}
	delete(q.items, id)
}

func (q *fakeQueue) QueueMove(_ context.Context, refs []store.QueueKey, by time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moves++
	for _, ref := range refs {
		if item := q.items[ref.ItemID]; item != nil && item.Claim == nil && item.Due.Equal(ref.Due) {
			moved := *item
			moved.Due = ref.Due.Add(by)
			q.items[ref.ItemID] = &moved
		}
	}
	return nil
}

func (q *fakeQueue) SuspectNote(_ context.Context, _ int64, refs []store.QueueKey, single bool) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if single {
		q.notedAlone = append(q.notedAlone, refs...)
	}
	for _, ref := range refs {
		q.notes[ref.ItemID] = ref
	}
	q.noted = append(q.noted, len(refs))
	return nil
}

func (q *fakeQueue) SuspectClear(_ context.Context, refs []store.QueueKey) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, ref := range refs {
		delete(q.notes, ref.ItemID)
		q.suspects = slices.DeleteFunc(q.suspects, func(s store.Suspect) bool { return s.ItemID == ref.ItemID })
	}
	return nil
}

func (q *fakeQueue) SuspectList(context.Context, int64, int) ([]store.Suspect, bool, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.suspects), q.unclean, nil
}

// firing is one attempt that was fired.
type firing struct {
	ref   store.QueueKey
	at    time.Time // by the fake queue's clock
	node  int64     // the node that held the claim
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
	// withheld has for each attempt that was not sent why its context ended.
	withheld []error
	most     int
	// work is what an attempt does; by default nothing.
	work      func(ctx context.Context, ref store.QueueKey)
	dial      time.Duration // how long it takes until the request could be sent
	restarted []time.Time
	lasts     time.Duration // how long after its due time an attempt may start; 0 for no bound
	stop      func()
}

type fakeAttempt struct {
	bench *bench
	item  *store.QueueItem
	begin time.Time
}

func (a *fakeAttempt) Claim() store.Claim {
	c := store.Claim{QueueKey: a.item.QueueKey, Attempt: a.item.Attempt + 1, StartAt: a.begin}
	if s := a.item.Schedule; s != nil {
		c.Schedule.ID = s.ID
	}
	return c
}

func (a *fakeAttempt) Fire(ctx context.Context, node int64, _ time.Time, leave func() bool, requestDone func(int64)) {
	b := a.bench
	b.mu.Lock()
	dial := b.dial
	b.mu.Unlock()
	time.Sleep(dial)
	if !leave() {
		b.mu.Lock()
		b.withheld = append(b.withheld, context.Cause(ctx))
		b.mu.Unlock()
		return
	}
	at := b.queue.Now()
	b.mu.Lock()
	b.inside++
	b.most = max(b.most, b.inside)
	i := len(b.fired)
	b.fired = append(b.fired, firing{ref: a.item.QueueKey, node: node, at: at})
	b.mu.Unlock()
	if !a.item.StartBy.IsZero() {
		b.LimitStarted(a.item.Account, a.item.Number, a.item.Limits, a.item.StartBy, b.queue.Now())
	}
	if b.work != nil {
		b.work(ctx, a.item.QueueKey)
	}
	b.mu.Lock()
	b.inside--
	b.fired[i].cause = context.Cause(ctx)
	b.mu.Unlock()
	requestDone(0)
	b.queue.remove(a.item.ItemID)
}

func (a *fakeAttempt) Size() int64 { return 0 }

func (a *fakeAttempt) Restart(at time.Time) {
	b := a.bench
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restarted = append(b.restarted, at)
}

func (a *fakeAttempt) TooLate(at time.Time) bool {
	b := a.bench
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lasts > 0 && at.After(a.item.Due.Add(b.lasts))
}

// start runs a dispatcher inside a synctest bubble until the test ends.
func start(t *testing.T, concurrency int, work func(context.Context, store.QueueKey), options ...func(*Dispatcher)) *bench {
	b := &bench{t: t, queue: &fakeQueue{items: map[store.ItemID]*store.QueueItem{}, notes: map[store.ItemID]store.QueueKey{}}, work: work}
	b.Dispatcher = New(Config{
		Queue: b.queue, Node: 1, Concurrency: concurrency, Log: slog.New(slog.DiscardHandler),
		Prepare: func(item *store.QueueItem, now time.Time) Attempt {
			begin := item.Due
			if now.After(begin) {
				begin = now
			}
			return &fakeAttempt{b, item, begin}
		},
	})
	b.queue.notify = b.Notice
	for _, option := range options {
		option(b.Dispatcher)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(time.Nanosecond) // so that the first read finds what the test adds at once
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

// dials lets each attempt take a time until its request could be sent.
func (b *bench) dials(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dial = d
}

func (b *bench) firings() []firing {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.fired)
}

func ref(number, account int64, lane uint32, due time.Time) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: number}, Due: due, Account: account, Lane: lane}
}

// hang is work that ends only when it is stopped.
func hang(ctx context.Context, _ store.QueueKey) { <-ctx.Done() }

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// Attempt is one attempt of a run.
type Attempt interface {
	// Claim gives what is stored when the run is claimed for this attempt.
	Claim() store.Claim
	// Fire makes the attempt and returns when its end is stored. It calls
	// answered once the request is over, with about how many bytes are held until
	// then. The run is claimed in node's name.
	Fire(ctx context.Context, node int64, began time.Time, answered func(bytes int64))
	// Size returns about how many bytes the attempt holds, without what Claim
	// returns.
	Size() int64
}

// Config of a Dispatcher.
type Config struct {
	Queue store.Queue
	Node  int64 // the one that NodeStart gave; another one's life may follow
	// Concurrency is how many jobs' requests are under way at once; callbacks
	// and webhooks have as many slots of their own, but at least minDeliveries,
	// so that a slow receiver takes none from jobs, and not all from others.
	Concurrency int
	// Begin prepares an attempt of a run that was read for firing.
	Begin func(run *store.Run, now time.Time) Attempt
	// Warm hears of requests that are due within a second: run is one of
	// several for the same receiver, of which up to n come at once. It must not
	// block; may be nil.
	Warm func(run *store.Run, n int)
	Log  *slog.Logger
	// SetAside ends a run that can't be fired, without preparing it; stop says
	// that it ends the process that does, so that no like run must follow. May be
	// nil.
	SetAside func(ctx context.Context, ref store.Ref, reason string, stop bool) error
	// ObserveAside and ObservePanic hear of runs that are set aside, and of
	// attempts that ended in a panic; may be nil.
	ObserveAside, ObservePanic func()
	// Blocked tells for which accounts nothing may be sent; nil: for none.
	Blocked BlockedAccounts
	// Budget is how many bytes what is claimed or under way may hold; 0: any.
	Budget int64
	// ObserveClaims hears of the sizes of claims; may be nil.
	ObserveClaims func(size int)
}

const (
	// recheck is how often timers are checked against the clock at the least,
	// and how often the queue is read from its beginning.
	recheck = time.Second
	// minDeliveries is how many callbacks and webhooks may be under way at once
	// however small the concurrency.
	minDeliveries = 256
	// claimLimit is how many runs one claim takes at most, claimers how many
	// claims are under way at once.
	claimLimit = 128
	claimers   = 2
)

// deliveryRate is how many callbacks and webhooks, first tries and retries
// alike, this node sends for one account: 1,000 a second, and 10,000 at once
// after a rest. What is over that waits.
var deliveryRate = rate{every: time.Millisecond, burst: 10_000}

// Dispatcher fires runs.
type Dispatcher struct {
	Config
	pools   [2]*pool // by store.Kind
	wake    chan struct{}
	beatNow chan struct{} // the node's last beat was too long ago
	parkNow chan struct{} // a run of a blocked account was found

	mu         sync.Mutex
	life       life
	elsewhere  time.Time // from when on something is due that others have stored
	looked     []*entry  // claims that were looked up
	complaints map[string]time.Time
	known      map[store.RunID]*entry // waiting, claimed or under way
	tells      map[int64]*entry       // messages by number: the attempt whose beginning they tell of
	hints      []store.Ref            // stored since the loop last looked
	peeked     *peekResult
	claimed    []*entry // claims that have come through
	ended      []*entry // attempts whose request is over
	dropped    []*entry // claims that will not be fired
	claimsDone [2]int   // claims that have ended, by kind
	finished   []*entry // attempts whose ends are stored
	blocked    map[int64]bool
	blockedNew bool                // the loop has not heard of it
	unparkTill time.Time           // by this process's clock
	suspects   map[store.RunID]int // crashes at which they were being prepared
	careful    time.Time           // until then it is noted what is being prepared
	failing    map[store.RunID]failing

	// The loop's own.
	look       look
	hinted     byDue // hints kept for later
	maxWaiting int   // runs in memory
	confirming bool
	held       heldRuns
	// unconfirmed are due and have to be looked up first.
	unconfirmed []*entry
	ready       [2][]*entry // due, waiting for a slot
	quarantine  []*entry    // suspects, to be claimed alone
	alone       bool        // one is being claimed
	othersTurn  bool        // after it

	running atomic.Bool
	tasks   sync.WaitGroup // peeks, claims and attempts
}

// New makes a Dispatcher. The store's notices go to Notice.
func New(config Config) *Dispatcher {
	d := &Dispatcher{
		Config: config, wake: make(chan struct{}, 1), beatNow: make(chan struct{}, 1), known: map[store.RunID]*entry{}, tells: map[int64]*entry{},
		life: life{node: config.Node}, maxWaiting: maxWaiting, complaints: map[string]time.Time{},
		parkNow: make(chan struct{}, 1), failing: map[store.RunID]failing{},
	}
	d.pools[store.KindJob] = &pool{lanes: newLanes(), total: config.Concurrency}
	d.pools[store.KindDelivery] = &pool{lanes: newLanes(), total: max(config.Concurrency, minDeliveries)}
	d.pools[store.KindDelivery].lanes.pace = deliveryRate
	if config.Budget > 0 {
		shared := &budget{limit: config.Budget}
		for _, p := range d.pools {
			p.lanes.budget = shared
		}
	}
	return d
}

// Notice tells of what was stored. It does not block.
func (d *Dispatcher) Notice(n store.Notice) {
	d.mu.Lock()
	d.hints = append(d.hints, n.Runs...)
	if !n.Elsewhere.IsZero() && (d.elsewhere.IsZero() || n.Elsewhere.Before(d.elsewhere)) {
		d.elsewhere = n.Elsewhere
	}
	d.mu.Unlock()
	for _, number := range n.Cancelled {
		d.cancelled(number)
	}
	d.poke()
}

// complainEvery is how often the log tells of one kind of failure.
const complainEvery = 5 * time.Second

// complain logs a failure of the store, unless it did so just before.
func (d *Dispatcher) complain(what string, err error) {
	now := time.Now()
	d.mu.Lock()
	last, known := d.complaints[what]
	told := known && now.Sub(last) < complainEvery
	if !told {
		d.complaints[what] = now
	}
	d.mu.Unlock()
	if !told {
		d.Log.Error(what, "error", err)
	}
}

func (d *Dispatcher) poke() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Running reports whether runs are being fired.
func (d *Dispatcher) Running() bool { return d.running.Load() }

// Waiting tells how many runs of a kind wait in memory, and InUse how many
// are claimed or under way.
func (d *Dispatcher) Waiting(kind store.Kind) int64 { return d.pools[kind].waiting.Load() }

// InUse tells how many runs of a kind are claimed or under way.
func (d *Dispatcher) InUse(kind store.Kind) int64 { return d.pools[kind].using.Load() }

// Run fires runs until ctx ends. Then it claims and fires no more, gives
// claims that have not begun back, lets attempts under way finish for up to
// grace, interrupts the rest, ends the node's life and returns.
func (d *Dispatcher) Run(ctx context.Context, grace time.Duration) error {
	attempts, drop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer drop(nil)
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	defer die()
	var beats sync.WaitGroup
	beats.Go(func() { d.beat(alive) })
	if d.Warm != nil {
		beats.Go(func() { d.lookAhead(ctx) })
	}
	if d.Blocked != nil {
		d.readBlocked(ctx) // before anything is claimed
		beats.Go(func() { every(ctx, blockedPause, d.readBlocked) })
		beats.Go(func() { d.parkBlocked(ctx) })
	}
	beats.Go(func() { every(ctx, suspectsEvery, d.reviewSuspects) })
	d.running.Store(true)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-d.wake:
		case <-timer.C:
		}
		if ctx.Err() == nil {
			timer.Reset(d.step(attempts))
		}
	}
	d.running.Store(false)
	err := d.drain(attempts, grace, drop)
	die()
	beats.Wait()
	if stopped := d.Queue.NodeStop(context.WithoutCancel(ctx), d.node()); stopped != nil {
		err = errors.Join(err, fmt.Errorf("ending this node: %w", stopped))
	}
	return err
}

// step does what there is to do now and tells how long nothing else will be.
func (d *Dispatcher) step(attempts context.Context) time.Duration {
	now := d.Queue.Now()
	for _, p := range d.pools {
		p.lanes.step(now)
	}
	d.fire(attempts, now)
	d.collect(now)
	d.fire(attempts, now)
	d.peek(now)
	d.claim()
	return d.untilNext(d.Queue.Now())
}

func (d *Dispatcher) untilNext(now time.Time) time.Duration {
	next := now.Add(recheck)
	if len(d.held) > 0 && d.held[0].begin.Before(next) {
		next = d.held[0].begin
	}
	if len(d.hinted) > 0 && !d.full() {
		next = earlier(next, d.hinted[0].ref.Due.Add(-lead))
	}
	if !d.look.under && !d.full() && d.look.next.Before(next) {
		next = d.look.next
	}
	if !d.look.under && !d.busy() && !d.look.again.IsZero() && d.look.again.Before(next) {
		next = d.look.again
	}
	for _, p := range d.pools {
		if p.lanes.delayed {
			next = earlier(next, now.Add(flowPause))
		}
	}
	return max(0, next.Sub(now))
}

// drain ends the work of a node that stops.
func (d *Dispatcher) drain(attempts context.Context, grace time.Duration, drop context.CancelCauseFunc) error {
	done := make(chan struct{})
	var released error
	go func() {
		defer close(done)
		released = d.releaseHeld(context.WithoutCancel(attempts))
		d.tasks.Wait()
		// Claims that were under way have come through meanwhile.
		released = errors.Join(released, d.releaseHeld(context.WithoutCancel(attempts)))
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		d.Log.Warn("interrupting attempts that did not end in time", "grace", grace, "jobs", d.InUse(store.KindJob))
		drop(execute.ErrInterrupted)
		<-done
	}
	return released
}

// releaseHeld gives back claims whose attempts have not begun.
func (d *Dispatcher) releaseHeld(ctx context.Context) error {
	d.mu.Lock()
	var claims []store.Claim
	node := d.life.node
	for _, e := range d.known {
		if e.phase == phaseHeld {
			if e.node == node && !e.gone {
				claims = append(claims, e.claim)
			}
			d.forget(e)
		}
	}
	d.mu.Unlock()
	if len(claims) == 0 {
		return nil
	}
	if err := d.Queue.RunRelease(ctx, node, claims); err != nil {
		return fmt.Errorf("giving back %d runs: %w", len(claims), err)
	}
	return nil
}

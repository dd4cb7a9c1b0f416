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

// Attempt is one attempt of a queue item.
type Attempt interface {
	// Claim returns what is stored when the item is claimed for this attempt.
	Claim() store.Claim
	// Fire sends the request and returns when the outcome is stored. It calls leave
	// right before it sends anything, and sends nothing if leave returns false: the
	// item may not be this node's any more. It calls requestDone once the request is
	// over, with about how many bytes stay in memory until the outcome is stored. The
	// item is claimed by node.
	Fire(ctx context.Context, node int64, began time.Time, leave func() bool, requestDone func(bytes int64))
	// TooLate reports whether the attempt may not start any more at a time.
	TooLate(at time.Time) bool
	// Restart tells the attempt that it starts at a later time than it was fired with: the
	// process stood still before its first request. It is called before leave returns.
	Restart(at time.Time)
	// Size returns about how many bytes the attempt holds, not counting what
	// Claim returns.
	Size() int64
}

// Config configures a Dispatcher.
type Config struct {
	Queue Queue
	Node  int64 // this process's node, as returned by NodeStart; a re-registration replaces it
	// Concurrency is how many jobs' requests are under way at once. Callbacks
	// and webhooks have as many slots of their own, and at least minDeliveries,
	// so that a slow receiver takes no slot from jobs and not all slots from
	// other receivers.
	Concurrency int
	// Prepare prepares an attempt of an item that was loaded to be claimed.
	Prepare func(item *store.QueueItem, now time.Time) Attempt
	// Deadline returns until when an item may start; zero for no bound. It is asked
	// for limited items. May be nil.
	Deadline func(item *store.QueueItem) time.Time
	// Prewarm is called for requests due within a second: item is the first of
	// several items for one receiver, of which up to n start at once. It must
	// not block. May be nil.
	Prewarm func(item *store.QueueItem, n int)
	Log     *slog.Logger
	// SetAside ends an item that can't be fired, without preparing it. stop
	// reports that preparing it crashes the process, so no further run of its
	// schedule may follow. May be nil.
	SetAside func(ctx context.Context, ref store.QueueKey, reason string, stop bool) error
	// ObserveAside is called for each item that is set aside, ObservePanic for
	// each attempt that panics. May be nil.
	ObserveAside, ObservePanic func()
	// Blocked lists the accounts for which nothing may be sent. May be nil.
	Blocked BlockedAccounts
	// Budget bounds the bytes of claimed items and attempts under way; 0
	// means no bound.
	Budget int64
	// ObserveClaims is called with the size of each claim. May be nil.
	ObserveClaims func(size int)
}

const (
	// recheck is the longest time between two checks of the timers against the
	// store's clock, and between two scans from the queue's beginning.
	recheck = time.Second
	// minDeliveries is the least number of slots for callbacks and webhooks.
	minDeliveries = 256
	// claimLimit is how many items one claim takes at most, claimers how many
	// claims of one kind are under way at once.
	claimLimit = 128
	claimers   = 2
)

// deliveryRate bounds how many callbacks and webhooks, retries included, this
// node sends for one account: 1,000 a second, and bursts of 10,000. The rest
// waits.
var deliveryRate = rate{every: time.Millisecond, burst: 10_000}

// Dispatcher fires queue items when they are due.
type Dispatcher struct {
	Config
	pools [2]*pool // by store.Kind

	// Shared by the loop and other goroutines; each has a mutex of its own.
	items        *registry
	limits       *limitKeeper
	inbox        inbox
	suspects     suspects
	logged       logTimes
	unparkTill   atomic.Int64  // by this process's clock, in nanoseconds since 1970
	heartbeatNow chan struct{} // the lease may have expired; send a heartbeat now
	parkNow      chan struct{} // an item of a blocked account was found
	questions    questions
	contended    contended
	stored       atomic.Bool  // something was stored since the last look of prewarm
	unsent       atomic.Int64 // attempts under way whose requests have not been sent

	// Owned by the loop.
	scan       scanState
	hinted     byDue                   // items to be claimed later
	kept       map[store.QueueKey]bool // those in hinted
	maxWaiting int                     // limit of items in memory
	confirming bool
	held       heldItems
	// unconfirmed items are due and must be confirmed first.
	unconfirmed []*entry
	ready       [2][]*entry // due, waiting for a slot
	quarantine  []*entry    // suspects, to be claimed alone
	exclusive   bool        // a suspect is being claimed
	othersTurn  bool        // after that claim, others come first

	running atomic.Bool
	tasks   sync.WaitGroup // reads, claims and workers
	workers workers
}

// New returns a Dispatcher. Pass the store's notices to Notice.
func New(config Config) *Dispatcher {
	d := &Dispatcher{
		kept:   map[store.QueueKey]bool{},
		Config: config, items: newRegistry(config.Node), limits: newLimitKeeper(), inbox: inbox{wake: make(chan struct{}, 1)},
		maxWaiting:   maxWaiting,
		heartbeatNow: make(chan struct{}, 1), parkNow: make(chan struct{}, 1),
	}
	d.workers = workers{run: d.run, tasks: &d.tasks}
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

// logEvery is the least time between two log lines about one kind of failure.
const logEvery = 5 * time.Second

// logTimes is when each message was logged last.
type logTimes struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// allow reports whether a message may be logged now.
func (l *logTimes) allow(message string) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, found := l.last[message]; found && now.Sub(last) < logEvery {
		return false
	}
	if l.last == nil {
		l.last = map[string]time.Time{}
	}
	l.last[message] = now
	return true
}

// logLimited logs a failure, at most once per logEvery for each message.
func (d *Dispatcher) logLimited(what string, err error) {
	if d.logged.allow(what) {
		d.Log.Error(what, "error", err)
	}
}

// Running reports whether Run is firing items.
func (d *Dispatcher) Running() bool { return d.running.Load() }

// Waiting returns how many items of a kind wait in memory.
func (d *Dispatcher) Waiting(kind store.Kind) int64 { return d.pools[kind].waiting.Load() }

// InUse returns how many items of a kind are claimed or under way.
func (d *Dispatcher) InUse(kind store.Kind) int64 { return d.pools[kind].using.Load() }

// Run fires items until ctx ends. Then it claims and fires no more, releases
// claims whose attempts have not started, waits up to grace for attempts under
// way, interrupts the rest, ends the node's lease and returns.
func (d *Dispatcher) Run(ctx context.Context, grace time.Duration) error {
	attempts, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer interrupt(nil)
	heartbeating, stopHeartbeat := context.WithCancel(context.WithoutCancel(ctx))
	defer stopHeartbeat()
	var background sync.WaitGroup
	background.Go(func() { d.heartbeat(heartbeating) })
	if d.Prewarm != nil {
		background.Go(func() { d.prewarm(ctx) })
	}
	if d.Blocked != nil {
		d.readBlocked(ctx) // before anything is claimed
		background.Go(func() { every(ctx, blockedPause, func(ctx context.Context) { d.readBlocked(store.Routine(ctx)) }) })
		background.Go(func() { d.parkBlocked(ctx) })
	}
	background.Go(func() { every(ctx, suspectsEvery, d.reviewSuspects) })
	background.Go(func() { d.keepLimits(ctx) })
	background.Go(func() { d.keepExpiry(ctx) })
	d.running.Store(true)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-d.inbox.wake:
		case <-timer.C:
		}
		if ctx.Err() == nil {
			timer.Reset(d.step(attempts))
		}
	}
	d.running.Store(false)
	err := d.drain(attempts, grace, interrupt)
	stopHeartbeat()
	background.Wait()
	if stopped := d.Queue.NodeStop(context.WithoutCancel(ctx), d.Self()); stopped != nil {
		err = errors.Join(err, fmt.Errorf("ending the node's lease: %w", stopped))
	}
	return err
}

// step does everything that can be done now and returns how long the loop may
// sleep.
func (d *Dispatcher) step(attempts context.Context) time.Duration {
	now := d.Queue.Now()
	d.items.clocks.look()
	d.workers.trim(now)
	for _, p := range d.pools {
		p.lanes.step(now)
	}
	d.fire(attempts, now)
	d.collect(now)
	d.fire(attempts, now)
	d.peek(now)
	d.claim()
	d.inbox.setUrgent(d.waits())
	return d.untilNext(d.Queue.Now())
}

// waits reports whether anything waits for a slot or for bytes of the budget.
func (d *Dispatcher) waits() bool {
	return d.waiting()+len(d.ready[store.KindJob])+len(d.ready[store.KindDelivery])+len(d.unconfirmed)+len(d.quarantine) > 0
}

// untilNext returns the time until the loop's next timer.
func (d *Dispatcher) untilNext(now time.Time) time.Duration {
	next := now.Add(recheck)
	if len(d.held) > 0 && d.held[0].start.Before(next) {
		next = d.held[0].start
	}
	if len(d.hinted) > 0 && !d.full() {
		next = earlier(next, d.hinted[0].ref.Due.Add(-lead))
	}
	if !d.scan.running && !d.full() && d.scan.next.Before(next) {
		next = d.scan.next
	}
	if !d.scan.running && !d.busy() && !d.scan.rescan.IsZero() && d.scan.rescan.Before(next) {
		next = d.scan.rescan
	}
	unsent := d.unsent.Load() > 0
	for _, p := range d.pools {
		unsent = unsent || p.inUse > p.fired
		if p.lanes.delayed {
			next = earlier(next, now.Add(flowPause))
		}
	}
	if unsent {
		next = earlier(next, now.Add(pulse))
	}
	return max(0, next.Sub(now))
}

// drain releases held claims and waits for attempts under way; after grace it
// interrupts them.
func (d *Dispatcher) drain(attempts context.Context, grace time.Duration, interrupt context.CancelCauseFunc) error {
	done := make(chan struct{})
	var released error
	go func() {
		defer close(done)
		released = d.releaseHeld(context.WithoutCancel(attempts))
		d.workers.close()
		d.tasks.Wait()
		// Claims that were under way may have been committed since.
		released = errors.Join(released, d.releaseHeld(context.WithoutCancel(attempts)))
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		d.Log.Warn("interrupting attempts that did not end in time", "grace", grace, "jobs", d.InUse(store.KindJob))
		interrupt(execute.ErrInterrupted)
		<-done
	}
	return released
}

// releaseHeld releases claims whose attempts have not started.
func (d *Dispatcher) releaseHeld(ctx context.Context) error {
	node, claims := d.items.drain()
	if len(claims) == 0 {
		return nil
	}
	if err := d.Queue.QueueRelease(ctx, node, claims); err != nil {
		return fmt.Errorf("releasing %d claims: %w", len(claims), err)
	}
	return nil
}

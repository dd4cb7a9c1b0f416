package dispatch

import (
	"container/heap"
	"context"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// phase is the state of a queue item in this process; see the package comment.
type phase int

const (
	phaseWaiting  phase = iota // to be claimed
	phaseClaiming              // the claim is under way
	phaseHeld                  // claimed; waits for its start time or a slot
	phaseFired                 // the attempt has started
)

// entry is a queue item that this process knows of. Dispatcher.mu guards phase,
// node and the flags.
type entry struct {
	ref     store.QueueKey
	start   time.Time // when to fire it
	attempt Attempt
	claim   store.Claim
	phase   phase
	node    int64 // the node that holds the claim
	revoked bool  // must not be fired for now
	gone    bool  // will never be fired
	// withheld: its start messages must not be fired for now either.
	withheld bool
	unsure   bool // a change of it failed but may have been committed
	// confirmed: the store confirmed the claim when the item was due.
	confirmed bool
	abort     context.CancelCauseFunc
	bytes     int64 // held of the budget; the loop's own
	size      int64 // what it holds once it is prepared
	spent     int64 // counted of its account's flow; the loop's own
	response  int64 // what the response and its record hold; set when it has ended
	// moved: the same job's run with another due time, which was heard of while
	// this one was known; it is taken in when this one is forgotten.
	rescheduled *store.QueueKey
}

// pool is the slots of one kind of queue item. The loop owns it.
type pool struct {
	lanes    *lanes
	total    int
	inUse    int // slots held: claiming, held or fired
	fired    int // requests under way
	claiming int // claims under way
	// pace counts the requests that ended lately. As many items are claimed
	// beyond the free slots, so that a slot that comes free finds an item at
	// once.
	pace pace

	waiting, using atomic.Int64 // copies for Waiting and InUse
}

// maxAhead bounds how many items are claimed beyond the free slots.
const maxAhead = 256

// ahead estimates how many slots are about to come free.
func (p *pool) ahead() int { return min(p.pace.recent(), maxAhead, p.total) }

func (p *pool) publish() {
	p.waiting.Store(int64(p.lanes.waiting))
	p.using.Store(int64(p.inUse))
}

// pace counts events in the current and the last full interval.
type pace struct {
	start         time.Time
	current, last int
}

const paceInterval = 10 * time.Millisecond

func (p *pace) add(now time.Time, n int) {
	p.roll(now)
	p.current += n
}

func (p *pace) roll(now time.Time) {
	if passed := now.Sub(p.start); passed >= 2*paceInterval || passed < 0 {
		p.start, p.current, p.last = now, 0, 0
	} else if passed >= paceInterval {
		p.start, p.current, p.last = now, 0, p.current
	}
}

func (p *pace) recent() int { return p.current + p.last }

// heldItems is a heap of claimed items ordered by start time.
type heldItems []*entry

func (h heldItems) Len() int           { return len(h) }
func (h heldItems) Less(i, j int) bool { return h[i].start.Before(h[j].start) }
func (h heldItems) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heldItems) Push(x any)        { *h = append(*h, x.(*entry)) }
func (h *heldItems) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

func (d *Dispatcher) hold(e *entry) { heap.Push(&d.held, e) }

// ClaimState is what this process has to do with a job's queue item.
type ClaimState int

// The states that Revoke reports.
const (
	NotOwned   ClaimState = iota // not claimed by this process
	NotStarted                   // claimed, and revoked
	Started                      // its attempt has started
)

// startMessagesOf returns the known deliveries that report the start of a held
// attempt. They are claimed ahead like the attempt and must not be sent if it
// never starts.
func (d *Dispatcher) startMessagesOf(e *entry) []*entry {
	if e.phase != phaseHeld {
		return nil
	}
	var found []*entry
	for i := range e.claim.Deliveries {
		m := d.known[store.ItemID{Kind: store.KindDelivery, Number: e.claim.Deliveries[i].Number}]
		if m != nil && m.phase != phaseFired {
			found = append(found, m)
		}
	}
	return found
}

// revoke keeps an item and its start messages from being fired, or lets them be
// fired again. Called with mu held.
func (d *Dispatcher) revoke(e *entry, revoked bool) {
	e.revoked, e.withheld = revoked, revoked
	for _, m := range d.startMessagesOf(e) {
		m.revoked = revoked
	}
}

// registerStartMessages records which deliveries report the start of a claimed
// attempt. Deliveries that this process learns of later, or knew before the
// claim was committed, share its revocation. Called with mu held.
func (d *Dispatcher) registerStartMessages(e *entry) {
	for i := range e.claim.Deliveries {
		d.startMessages[e.claim.Deliveries[i].Number] = e
	}
	if e.withheld {
		d.revoke(e, true)
	}
}

// forget removes an item and the record of its start messages. Called with mu
// held.
func (d *Dispatcher) forget(e *entry) {
	delete(d.known, e.ref.ItemID)
	if e.rescheduled != nil {
		d.hints = append(d.hints, *e.rescheduled)
		d.poke()
	}
	for i := range e.claim.Deliveries {
		delete(d.startMessages, e.claim.Deliveries[i].Number)
	}
}

// withholds reports whether a delivery is the start message of a revoked
// attempt. Called with mu held.
func (d *Dispatcher) withholds(ref store.QueueKey) bool {
	if ref.Kind != store.KindDelivery {
		return false
	}
	about := d.startMessages[ref.Number]
	return about != nil && about.withheld
}

// requireConfirmation makes a held attempt and its start messages be confirmed
// by the store before they are fired. Called with mu held.
func (d *Dispatcher) requireConfirmation(e *entry) {
	for _, m := range append(d.startMessagesOf(e), e) {
		m.unsure, m.confirmed = true, false
	}
}

// Revoke keeps a job's claimed item from being fired until Restore or Abort.
//
// An item whose announced start time, startAt, has passed counts as started
// even while it waits for a slot, because its start messages have been sent.
// The caller passes startAt from the store, which knows it also for a claim
// that is just being committed.
func (d *Dispatcher) Revoke(number int64, startAt time.Time) ClaimState {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[store.ItemID{Kind: store.KindJob, Number: number}]
	switch {
	case e == nil || e.phase == phaseWaiting:
		return NotOwned
	case e.phase == phaseFired:
		return Started
	case !startAt.After(d.Queue.Now()):
		e.revoked = true
		return Started
	default:
		d.revoke(e, true)
		return NotStarted
	}
}

// Restore lets a revoked item be fired again. The claim is confirmed first,
// because the change it was revoked for may have been committed.
func (d *Dispatcher) Restore(number int64) {
	d.mu.Lock()
	if e := d.known[store.ItemID{Kind: store.KindJob, Number: number}]; e != nil {
		d.revoke(e, false)
		d.requireConfirmation(e)
	}
	d.mu.Unlock()
	d.poke()
}

// Abort ends what this process does with a job that is no longer in the queue:
// it cancels a request under way and forgets a revoked item.
func (d *Dispatcher) Abort(number int64) {
	d.mu.Lock()
	e := d.known[store.ItemID{Kind: store.KindJob, Number: number}]
	if e != nil && e.phase == phaseFired {
		e.abort(execute.ErrCancelled)
	} else if e != nil && e.revoked {
		e.gone = true
		d.requireConfirmation(e) // a start message may become known only later
		for _, m := range d.startMessagesOf(e) {
			m.gone = m.revoked
		}
	}
	d.mu.Unlock()
	d.poke()
}

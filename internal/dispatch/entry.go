package dispatch

import (
	"container/heap"
	"context"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// phase is where a run stands in this process.
type phase int

const (
	phaseWaiting  phase = iota // to be claimed
	phaseClaiming              // the claim is under way
	phaseHeld                  // claimed; its time or its slot has not come
	phaseFired                 // the attempt has begun
)

// entry is a run that this process knows of. Its phase and what goes with it
// are guarded by Dispatcher.mu.
type entry struct {
	ref     store.Ref
	begin   time.Time // when to fire it
	attempt Attempt
	claim   store.Claim
	phase   phase
	node    int64 // in whose name it is claimed
	revoked bool  // must not be fired for now
	gone    bool  // will not be fired
	// withheld: what tells of its beginning must not be fired for now either.
	withheld bool
	unsure   bool // a change of it may or may not have come through
	// confirmed: the claim was looked up when its time had come.
	confirmed bool
	abort     context.CancelCauseFunc
	bytes     int64 // held of the budget; the loop's own
	size      int64 // what it holds once it is prepared
	spent     int64 // counted of its account's flow; the loop's own
	response  int64 // what the response and its record hold; set when it has ended
	// moved: the same job's run with another due time, which was heard of while
	// this one was known; it is taken in when this one is forgotten.
	moved *store.Ref
}

// pool is the slots of one kind of run.
type pool struct {
	lanes    *lanes
	total    int
	inUse    int // slots held: claimed, held or fired
	fired    int // requests under way
	claiming int // claims under way
	// pace is how many requests ended lately; as many runs are claimed beyond
	// the free slots, so that a slot that comes free finds a run at once.
	pace pace

	waiting, using atomic.Int64 // for those who ask from outside the loop
}

// maxAhead bounds how many runs are claimed beyond the free slots.
const maxAhead = 256

// ahead is how many slots are about to come free.
func (p *pool) ahead() int { return min(p.pace.recent(), maxAhead, p.total) }

func (p *pool) publish() {
	p.waiting.Store(int64(p.lanes.waiting))
	p.using.Store(int64(p.inUse))
}

// pace counts events of the last full and the current stretch of time.
type pace struct {
	start         time.Time
	current, last int
}

const paceStretch = 10 * time.Millisecond

func (p *pace) add(now time.Time, n int) {
	p.roll(now)
	p.current += n
}

func (p *pace) roll(now time.Time) {
	if passed := now.Sub(p.start); passed >= 2*paceStretch || passed < 0 {
		p.start, p.current, p.last = now, 0, 0
	} else if passed >= paceStretch {
		p.start, p.current, p.last = now, 0, p.current
	}
}

func (p *pace) recent() int { return p.current + p.last }

// heldRuns is a heap of claimed runs, the earliest to be fired first.
type heldRuns []*entry

func (h heldRuns) Len() int           { return len(h) }
func (h heldRuns) Less(i, j int) bool { return h[i].begin.Before(h[j].begin) }
func (h heldRuns) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heldRuns) Push(x any)        { *h = append(*h, x.(*entry)) }
func (h *heldRuns) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

func (d *Dispatcher) hold(e *entry) { heap.Push(&d.held, e) }

// Standing says what this process has to do with a job's run.
type Standing int

// The standings of a run.
const (
	NotHere Standing = iota // not claimed by this process
	Unbegun                 // claimed, and kept from being fired from now on
	Begun                   // its attempt has begun
)

// prepared gives the messages about the beginning of a held attempt. They are
// claimed ahead as the attempt is, and must not go out when it is not made.
func (d *Dispatcher) prepared(e *entry) []*entry {
	if e.phase != phaseHeld {
		return nil
	}
	var found []*entry
	for i := range e.claim.Deliveries {
		m := d.known[store.RunID{Kind: store.KindDelivery, Number: e.claim.Deliveries[i].Number}]
		if m != nil && m.phase != phaseFired {
			found = append(found, m)
		}
	}
	return found
}

// revoke keeps a run and what tells of its beginning from being fired, or lets
// them be fired after all.
func (d *Dispatcher) revoke(e *entry, revoked bool) {
	e.revoked, e.withheld = revoked, revoked
	for _, m := range d.prepared(e) {
		m.revoked = revoked
	}
}

// announce notes which messages tell of the beginning of an attempt that has
// been claimed. Those that this process gets to know later, or knew before the
// claim was answered, share what has become of it meanwhile. Called with mu held.
func (d *Dispatcher) announce(e *entry) {
	for i := range e.claim.Deliveries {
		d.tells[e.claim.Deliveries[i].Number] = e
	}
	if e.withheld {
		d.revoke(e, true)
	}
}

// forget drops a run, and which messages tell of its beginning. Called with mu
// held.
func (d *Dispatcher) forget(e *entry) {
	delete(d.known, e.ref.RunID)
	if e.moved != nil {
		d.hints = append(d.hints, *e.moved)
		d.poke()
	}
	for i := range e.claim.Deliveries {
		delete(d.tells, e.claim.Deliveries[i].Number)
	}
}

// withholds reports whether a message tells of the beginning of an attempt that
// is revoked. Called with mu held.
func (d *Dispatcher) withholds(ref store.Ref) bool {
	if ref.Kind != store.KindDelivery {
		return false
	}
	about := d.tells[ref.Number]
	return about != nil && about.withheld
}

// doubt has the claims of a held attempt and of what tells of its beginning
// looked up before they are fired.
func (d *Dispatcher) doubt(e *entry) {
	for _, m := range append(d.prepared(e), e) {
		m.unsure, m.confirmed = true, false
	}
}

// Revoke keeps a job's claimed run from being fired until Restore or Abort. A
// run whose begin was announced and has passed counts as begun, also while it
// still waits for a slot: its messages have told so. Of a claim that is just
// being made the store knows when that is.
func (d *Dispatcher) Revoke(number int64, beginAt time.Time) Standing {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[store.RunID{Kind: store.KindJob, Number: number}]
	switch {
	case e == nil || e.phase == phaseWaiting:
		return NotHere
	case e.phase == phaseFired:
		return Begun
	case !beginAt.After(d.Queue.Now()):
		e.revoked = true
		return Begun
	default:
		d.revoke(e, true)
		return Unbegun
	}
}

// Restore lets a revoked run be fired after all, if its claim still stands: the
// change that it was revoked for may have come through.
func (d *Dispatcher) Restore(number int64) {
	d.mu.Lock()
	if e := d.known[store.RunID{Kind: store.KindJob, Number: number}]; e != nil {
		d.revoke(e, false)
		d.doubt(e)
	}
	d.mu.Unlock()
	d.poke()
}

// Abort ends what this process does with a job's run, which is no longer in
// the queue: a request under way is cancelled, a revoked run forgotten.
func (d *Dispatcher) Abort(number int64) {
	d.mu.Lock()
	e := d.known[store.RunID{Kind: store.KindJob, Number: number}]
	if e != nil && e.phase == phaseFired {
		e.abort(execute.ErrCancelled)
	} else if e != nil && e.revoked {
		e.gone = true
		d.doubt(e) // what tells of its beginning may have come to be known only now
		for _, m := range d.prepared(e) {
			m.gone = m.revoked
		}
	}
	d.mu.Unlock()
	d.poke()
}

package dispatch

import (
	"container/heap"
	"context"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// phase is how far this process is with a queue item; see the package comment.
type phase int

const (
	phaseWaiting  phase = iota // to be claimed
	phaseClaiming              // the claim is under way
	phaseHeld                  // claimed; waits for its start time or a slot
	phaseFired                 // the attempt has started
)

// revocation is whether an item is kept from being fired for now.
type revocation int

const (
	notRevoked revocation = iota
	revoked               // must not be fired
	withheld              // neither it nor its start messages must be fired
)

// confirmation is what is known of a claim whose change may have failed.
type confirmation int

const (
	claimAssumed   confirmation = iota // no change of the item has failed
	claimDoubted                       // one failed but may have been committed; the store must confirm the claim
	claimConfirmed                     // the store has confirmed it since the item was due
)

// entry is a queue item that this process knows of. The registry guards the
// first group of fields.
type entry struct {
	phase        phase
	revocation   revocation
	confirmation confirmation
	proof        proof // when the store was asked last for the claim
	gone         bool  // will never be fired; the loop forgets it
	outdated     bool  // its schedule has changed: its request must not be sent
	abort        context.CancelCauseFunc
	// rescheduled is the same job's item with another due time or revision, which
	// this process has heard of meanwhile. It is admitted when this one is forgotten.
	rescheduled *store.QueueKey

	ref store.QueueKey // constant
	// The claim sets these; they are constant from phaseHeld on.
	start   time.Time // when to fire it
	attempt Attempt
	claim   store.Claim
	node    int64     // the node that holds the claim
	ahead   bool      // a delivery's first attempt that was claimed before it is due: a start message
	limits  []string  // the keys of the limits that it has taken
	startBy time.Time // the latest time at which it may start; zero for none
	size    int64     // what it holds once it is prepared

	stood    time.Duration // how long the process had stood still at its recorded start
	response int64         // what the response and its record hold; set when it has ended

	// Owned by the loop.
	bytes int64 // held of the budget
	spent int64 // counted of its account's flow

	sent atomic.Bool // the request has been sent, or never will be
}

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

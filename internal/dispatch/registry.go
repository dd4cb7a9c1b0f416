package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// registry is the queue items that this process knows of, and what decides
// whether they may be fired: this process's node and the blocked accounts. One
// mutex guards all of it, so that each change of an item is atomic. Its methods
// never wait for the store; what they return for the store or the loop, the
// caller passes on.
type registry struct {
	mu    sync.Mutex
	known map[store.ItemID]*entry // waiting, claimed or under way
	// startMessages has, by delivery number, the attempt whose start a delivery
	// reports.
	startMessages map[int64]*entry
	lease         lease
	blocked       map[int64]bool // accounts for which nothing may be sent
	blockedNew    bool           // changed since takeBlocked
	clocks        *clocks
}

// lease is what is known of this process's node and the others.
type lease struct {
	node              int64
	nodes             []int64 // live nodes, by number
	notificationsDown bool    // notices of other nodes don't arrive
}

func newRegistry(node int64) *registry {
	return &registry{clocks: newClocks(), known: map[store.ItemID]*entry{}, startMessages: map[int64]*entry{}, lease: lease{node: node}}
}

// presence is what the registry has to do with an item that is heard of.
type presence int

const (
	unknown presence = iota
	present          // known already
	barred           // its account is blocked
)

// find returns whether an item is known or barred. It keeps the new due time or
// revision of a known one.
func (r *registry) find(ref store.QueueKey) presence {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old := r.known[ref.ItemID]; old != nil {
		if !old.ref.Due.Equal(ref.Due) || ref.Kind == store.KindJob && old.ref.Revision != ref.Revision {
			old.rescheduled = &ref
		}
		return present
	}
	if r.blocked[ref.Account] {
		return barred
	}
	return unknown
}

// add makes an item known. A start message shares the revocation of its attempt.
func (r *registry) add(e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.ref.Kind == store.KindDelivery {
		if about := r.startMessages[e.ref.Number]; about != nil && about.revocation == withheld {
			e.revocation = revoked
		}
	}
	r.known[e.ref.ItemID] = e
}

// knows reports whether an item is known.
func (r *registry) knows(id store.ItemID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[id] != nil
}

// busy reports whether any item is known.
func (r *registry) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.known) > 0
}

// forget removes items and the records of their start messages. It returns the
// due times at which some of them are to be admitted again.
func (r *registry) forget(entries ...*entry) (again []store.QueueKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range entries {
		again = r.remove(e, again)
	}
	return again
}

// remove is forget for one item. Called with mu held.
func (r *registry) remove(e *entry, again []store.QueueKey) []store.QueueKey {
	delete(r.known, e.ref.ItemID)
	for i := range e.claim.Deliveries {
		delete(r.startMessages, e.claim.Deliveries[i].Number)
	}
	if e.rescheduled != nil {
		again = append(again, *e.rescheduled)
	}
	return again
}

// claiming notes that claims of items are under way.
func (r *registry) claiming(batch []*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range batch {
		e.phase = phaseClaiming
	}
}

// prepared sets the claim of an item, which is stored next.
func (r *registry) prepared(e *entry, claim store.Claim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.claim = claim
}

// claimed notes that a node holds items now, and when the store was asked for them. It
// returns what is not wanted any more and to be released: claims that are stale, because
// the process has registered again or the account was blocked, and items that were gone
// before. The change that ended those may have come before the claim.
func (r *registry) claimed(node int64, asked proof, batch []*entry) (stale []store.Claim, gone []*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range batch {
		e.phase, e.node, e.proof = phaseHeld, node, asked
		if e.ahead && r.startMessages[e.ref.Number] == nil {
			e.confirmation = claimDoubted // another node holds the attempt, and may lose it unheard
		}
		// Start messages that this process learns of later, or knew before the
		// claim was committed, share the attempt's revocation.
		for i := range e.claim.Deliveries {
			r.startMessages[e.claim.Deliveries[i].Number] = e
		}
		if e.revocation == withheld {
			r.setRevoked(e, withheld)
		}
		if e.gone || e.revocation != notRevoked {
			r.doubt(e)
		}
		switch {
		case node != r.lease.node || r.blocked[e.ref.Account]:
			e.gone = true
			stale = append(stale, e.claim)
		case e.gone:
			gone = append(gone, e)
		}
	}
	return stale, gone
}

// readiness is what to do with a held item that is due.
type readiness int

const (
	nowFired    readiness = iota // it counts as fired now
	mustWait                     // it must not be fired yet
	mustConfirm                  // the store must confirm the claim first
	neverFire                    // it must never be fired
)

// begin decides what to do with a held item that is due. able reports whether
// this node can fire it now. If so, and nothing else prevents it, begin calls
// takeSlot, which returns what will cancel the attempt, or nil if there is no
// slot.
func (r *registry) begin(e *entry, able bool, takeSlot func() context.CancelCauseFunc) readiness {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.gone:
		return neverFire
	case e.revocation != notRevoked || !able:
		return r.delay(e)
	case e.confirmation != claimConfirmed && (e.confirmation == claimDoubted || r.lease.notificationsDown):
		return mustConfirm
	case !r.clocks.prove(e.proof):
		return mustConfirm
	}
	abort := takeSlot()
	if abort == nil {
		return r.delay(e)
	}
	e.phase, e.abort = phaseFired, abort
	return nowFired
}

// delay keeps a due item waiting. What the store has confirmed may change until
// it is fired. Called with mu held.
func (r *registry) delay(e *entry) readiness {
	if e.confirmation == claimConfirmed {
		e.confirmation = claimDoubted
	}
	return mustWait
}

// withdraw lets a held item never be fired. It returns the node that holds its
// claim, and false if the item was gone already.
func (r *registry) withdraw(e *entry) (node int64, withdrawn bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	withdrawn = !e.gone && e.phase == phaseHeld
	e.gone = e.gone || withdrawn
	return e.node, withdrawn
}

// job returns a job's item if this process has begun to claim it. Called with mu
// held.
func (r *registry) job(number int64) *entry {
	e := r.known[store.ItemID{Kind: store.KindJob, Number: number}]
	if e == nil || e.phase == phaseWaiting {
		return nil
	}
	return e
}

// revoke keeps a job's item from being fired; see Dispatcher.Revoke.
func (r *registry) revoke(number int64, startAt, now time.Time) ClaimState {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.job(number)
	switch {
	case e == nil:
		return NotOwned
	case e.phase == phaseFired:
		return Started
	case !startAt.After(now):
		e.revocation = max(e.revocation, revoked)
		return Started
	default:
		r.setRevoked(e, withheld)
		return NotStarted
	}
}

// restore lets a revoked job's item be fired again, once its claim is confirmed.
func (r *registry) restore(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.known[store.ItemID{Kind: store.KindJob, Number: number}]; e != nil {
		r.setRevoked(e, notRevoked)
		r.doubt(e)
	}
}

// abort ends the item of a job that has left the queue: it cancels a request
// under way, and a revoked item and its revoked start messages are gone.
func (r *registry) abort(number int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.job(number)
	switch {
	case e == nil:
	case e.phase == phaseFired:
		e.abort(execute.ErrCancelled)
	case e.revocation != notRevoked:
		e.gone = true
		r.doubt(e) // a start message may become known only later
		for _, m := range r.startMessagesOf(e) {
			m.gone = m.gone || m.revocation != notRevoked
		}
	}
}

// cancelled ends the item of a job whose claim, with a revision, another node has
// ended.
func (r *registry) cancelled(number, revision int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.job(number)
	switch {
	case e == nil || e.claim.Attempt == 0 || e.claim.Revision > revision: // it ended an earlier claim
	case e.phase == phaseFired:
		e.abort(execute.ErrCancelled)
	default:
		r.doubt(e) // its start messages may have been deleted
		e.gone = true
	}
}

// startMessagesOf returns the known deliveries that report the start of a held
// attempt. They are claimed ahead like the attempt and must not be sent if it
// never starts. Called with mu held.
func (r *registry) startMessagesOf(e *entry) []*entry {
	if e.phase != phaseHeld {
		return nil
	}
	var found []*entry
	for i := range e.claim.Deliveries {
		m := r.known[store.ItemID{Kind: store.KindDelivery, Number: e.claim.Deliveries[i].Number}]
		if m != nil && m.phase != phaseFired {
			found = append(found, m)
		}
	}
	return found
}

// setRevoked keeps an item and its start messages from being fired (withheld),
// or lets them be fired again (notRevoked). Called with mu held.
func (r *registry) setRevoked(e *entry, to revocation) {
	e.revocation = to
	for _, m := range r.startMessagesOf(e) {
		m.revocation = min(to, revoked)
	}
}

// doubt makes the store confirm an item and its start messages before they are
// fired. Called with mu held.
func (r *registry) doubt(e *entry) {
	e.confirmation = claimDoubted
	for _, m := range r.startMessagesOf(e) {
		m.confirmation = claimDoubted
	}
}

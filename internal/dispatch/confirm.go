package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// confirmLimit is how many claims one query confirms at most.
const confirmLimit = 1024

// confirm asks the store for claims that are due, one batch at a time.
func (d *Dispatcher) confirm() {
	if d.confirming || len(d.unconfirmed) == 0 {
		return
	}
	n := min(len(d.unconfirmed), confirmLimit)
	batch := d.unconfirmed[:n:n]
	d.unconfirmed, d.confirming = d.unconfirmed[n:], true
	d.tasks.Go(func() {
		if err := d.confirmBatch(batch); err != nil {
			d.logLimited("confirming claims failed; retrying", err)
			time.Sleep(claimPause)
		}
		d.inbox.post(func(n *news) { n.confirmations, n.confirmed = true, batch })
	})
}

// confirmBatch asks the store which items of a batch this node still holds.
func (d *Dispatcher) confirmBatch(batch []*entry) error {
	node := d.Self()
	claims := make([]store.Claim, len(batch))
	for i, e := range batch {
		claims[i] = e.claim
	}
	asked := d.items.clocks.look()
	held, err := d.Queue.QueueHeld(context.Background(), node, claims)
	if err != nil {
		return err
	}
	d.items.confirmed(node, asked, batch, held)
	return nil
}

// mayLeave reports whether the request of a fired item may be sent now. After a
// standstill of the process it waits until the store has confirmed the claim. If the
// schedule of a run has changed since, nothing is sent, and the end of the attempt decides
// what becomes of the run. Nor is an attempt sent that has expired in the standstill: it is
// due again, and found to have expired. One that waits for its target has started in time.
func (d *Dispatcher) mayLeave(ctx context.Context, e *entry) bool {
	entered, before := d.Queue.Now(), d.items.clocks.stoodFor()
	stoodStill := !d.items.proven(e)
	if d.delayed(e) {
		// Without an answer it is sent: a store that is away takes no changes.
		limited, cancel := context.WithTimeout(ctx, delayedLimit)
		d.questions.ask(limited, d, e)
		cancel()
	}
	for !d.items.proven(e) { // a busy machine stands still again while the store answers
		stoodStill = true
		if !d.questions.ask(ctx, d, e) {
			return false
		}
	}
	now := d.Queue.Now()
	if (stoodStill || now.Sub(entered) > slotWait) && !e.sent.Load() {
		if e.attempt.TooLate(now) {
			return false
		}
		// Without the time that it waited for its target while the process ran. It may
		// have stood still while the store answered.
		if before-e.stood+max(now.Sub(entered), d.items.clocks.stoodFor()-before) > slotWait {
			e.attempt.Restart(now)
		}
	}
	// What comes before its first request, such as a read of the store, may have taken so
	// long that another node makes the attempt.
	return ctx.Err() == nil && d.items.current(e) && (e.sent.Load() || d.holdsLease(e))
}

const (
	// maxDelay is how long after its start the first request of a schedule's run may
	// leave unasked, and how soon before it no change of the schedule affects the run.
	maxDelay = 100 * time.Millisecond
	// delayedLimit is how long such a request waits for the store's answer.
	delayedLimit = 250 * time.Millisecond
)

// delayed reports whether the first request of a schedule's run leaves so late, because it
// waited for a slot or its target, that a change of the schedule may have been answered
// long before.
func (d *Dispatcher) delayed(e *entry) bool {
	return e.claim.Schedule.ID != uuid.Nil && !e.sent.Load() && d.Queue.Now().Sub(e.start) > maxDelay
}

// questions are attempts under way whose claims the store must confirm before their
// requests are sent. One query at a time asks for all that wait.
type questions struct {
	mu      sync.Mutex
	waiting []question
	asking  bool
}

type question struct {
	e    *entry
	held chan bool // has room for one
}

// ask waits until the store was asked whether this node still holds an item, and
// reports whether it does.
func (q *questions) ask(ctx context.Context, d *Dispatcher, e *entry) bool {
	held := make(chan bool, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, question{e, held})
	idle := !q.asking
	q.asking = true
	q.mu.Unlock()
	if idle {
		d.tasks.Go(func() { q.answer(d) })
	}
	select {
	case still := <-held:
		return still
	case <-ctx.Done():
		return false
	}
}

// answer asks the store until no attempt waits any more.
func (q *questions) answer(d *Dispatcher) {
	for {
		some := q.take()
		if len(some) == 0 {
			return
		}
		batch := make([]*entry, len(some))
		for i := range some {
			batch[i] = some[i].e
		}
		err := d.confirmBatch(batch)
		if err != nil {
			d.logLimited("confirming claims failed; attempts will be retried", err)
		}
		for _, one := range some {
			one.held <- err == nil && d.items.holds(one.e)
		}
	}
}

// take returns the attempts to ask for next. Without any, the asking has ended.
func (q *questions) take() []question {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), confirmLimit)
	some := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	q.asking = n > 0
	return some
}

// proven reports whether an item needs no confirmation as far as standstills go.
func (r *registry) proven(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !e.gone && r.clocks.prove(e.proof)
}

// current reports whether an item is as it was claimed, as far as is known.
func (r *registry) current(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !e.outdated
}

// holds reports whether an item may still be sent as far as is known.
func (r *registry) holds(e *entry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !e.gone
}

// confirmed notes which of a node's claims the store has confirmed, and when it was
// asked. What is not held any more is never sent.
func (r *registry) confirmed(node int64, asked proof, batch []*entry, held []store.ClaimStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, e := range batch {
		if held[i] != store.NotHeld && e.node == node {
			e.confirmation, e.proof = claimConfirmed, asked
			e.outdated = e.outdated || held[i] == store.HeldOutdated
			continue
		}
		e.gone = true
		if e.phase == phaseFired {
			e.abort(execute.ErrCancelled)
		}
	}
}

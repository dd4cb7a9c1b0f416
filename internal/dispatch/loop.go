package dispatch

import (
	"container/heap"
	"context"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// collect takes in the results of the goroutines beside the loop.
func (d *Dispatcher) collect(now time.Time) {
	n := d.inbox.take()
	for kind, done := range n.claimsDone {
		d.pools[kind].claiming -= done
		d.exclusive = d.exclusive && done == 0 // a suspect's claim is the only one under way
	}
	for _, e := range n.ended {
		p := d.pools[e.ref.Kind]
		p.fired--
		p.lanes.land(e.ref)
		p.pace.add(now, 1)
		d.free(e)
		p.lanes.charge(e, e.size+max(e.response, 0))
		p.lanes.spend(e, heavyBytes(e.size+max(e.response, 0)))
	}
	for _, e := range n.finished {
		d.pools[e.ref.Kind].lanes.charge(e, 0)
	}
	for _, e := range n.dropped {
		d.drop(e)
	}
	for _, e := range n.claimed {
		p := d.pools[e.ref.Kind]
		p.lanes.learn(e.ref, e.size)
		p.lanes.charge(e, e.size+responseBytes)
		p.lanes.spend(e, heavyBytes(e.size))
		d.hold(e)
	}
	d.dropBlocked()
	d.confirming = d.confirming && !n.confirmations
	for _, e := range n.confirmed {
		d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
	}
	for _, ref := range n.hints {
		d.admitHint(ref, now)
	}
	d.admitHinted(now)
	if !n.dueElsewhere.IsZero() {
		d.noteDueElsewhere(n.dueElsewhere, now)
	}
	if n.peeked != nil {
		d.scan.running = false
		d.admitPeeked(n.peeked, now)
	}
}

// free returns an item's slot.
func (d *Dispatcher) free(e *entry) {
	p := d.pools[e.ref.Kind]
	p.inUse--
	p.lanes.release(e.ref)
	p.publish()
}

// drop returns the slot and the bytes of an item that is not fired.
func (d *Dispatcher) drop(e *entry) {
	d.limitsFreed(e)
	d.free(e)
	d.pools[e.ref.Kind].lanes.charge(e, 0)
	d.pools[e.ref.Kind].lanes.spend(e, 0)
}

// fire starts every attempt that is due, as far as there are slots.
func (d *Dispatcher) fire(attempts context.Context, now time.Time) {
	for kind := range d.ready {
		waiting := d.ready[kind]
		d.ready[kind] = nil
		for _, e := range waiting {
			d.begin(attempts, e)
		}
	}
	for len(d.held) > 0 && !d.held[0].start.After(now) {
		d.begin(attempts, heap.Pop(&d.held).(*entry))
	}
	d.confirm()
}

// begin starts an attempt, or keeps it waiting if it can't start now.
func (d *Dispatcher) begin(attempts context.Context, e *entry) {
	p := d.pools[e.ref.Kind]
	d.returnLate(e)
	var ctx context.Context
	switch d.items.begin(e, p.fired < p.total && d.holdsLease(e), func() (abort context.CancelCauseFunc) {
		if p.lanes.fire(e.ref, p.total) {
			ctx, abort = context.WithCancelCause(attempts)
		}
		return abort
	}) {
	case nowFired:
		p.fired++
		d.unsent.Add(1)
		d.workers.fire(assignment{ctx, e})
	case mustWait:
		d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
	case mustConfirm:
		d.unconfirmed = append(d.unconfirmed, e)
	case neverFire:
		d.forget(e)
		d.drop(e)
	}
}

// forget removes an item and lets the loop learn of its new due time, if it has
// one.
func (d *Dispatcher) forget(e *entry) {
	if again := d.items.forget(e); len(again) > 0 {
		d.inbox.post(func(n *news) { n.hints = append(n.hints, again...) })
	}
}

// holdsLease reports whether this node certainly still holds a claim. If the
// last heartbeat is too old, because the process was suspended or the store
// away, it requests another one.
func (d *Dispatcher) holdsLease(e *entry) bool {
	if d.Queue.NodeHoldsLease(e.node) {
		return true
	}
	select {
	case d.heartbeatNow <- struct{}{}:
	default:
	}
	return false
}

// run fires an attempt and forgets the item when the outcome is stored.
func (d *Dispatcher) run(ctx context.Context, e *entry) {
	began := e.start
	e.stood = d.items.clocks.stoodFor()
	switch now := d.Queue.Now(); {
	case now.Sub(began) > slotWait:
		began = now // it waited for a slot
	case now.After(began):
		e.stood -= now.Sub(began)
	}
	var ended atomic.Bool
	requestDone := func(bytes int64) {
		if ended.Swap(true) {
			return
		}
		d.sent(e)
		e.response = bytes
		d.inbox.postLater(func(n *news) { n.ended = append(n.ended, e) })
	}
	leave := func() bool {
		may := d.mayLeave(ctx, e)
		if may {
			d.sent(e)
		}
		return may
	}
	if err := fault.Guard(func() error { e.attempt.Fire(ctx, e.node, began, leave, requestDone); return nil }); err != nil {
		d.Log.Error("attempt panicked; other attempts are not affected", kindOf(e.ref), e.ref.Number, "error", err)
		if d.ObservePanic != nil {
			d.ObservePanic()
		}
	}
	requestDone(0)
	e.abort(nil)
	d.limitsFreed(e)
	again := d.items.forget(e)
	post := d.inbox.postLater
	if len(again) > 0 {
		post = d.inbox.post
	}
	post(func(n *news) {
		n.finished = append(n.finished, e)
		n.hints = append(n.hints, again...)
	})
}

// sent notes that the request of an attempt is sent, or never will be.
func (d *Dispatcher) sent(e *entry) {
	if !e.sent.Swap(true) {
		d.unsent.Add(-1)
	}
}

// slotWait is the delay, for want of a slot or in a standstill, from which on an attempt's
// start is recorded as later than its claim announced. Below it the announced time stays, which logs and
// webhooks already show.
const slotWait = time.Second

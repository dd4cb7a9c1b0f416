package dispatch

import (
	"container/heap"
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// collect takes in the results of the goroutines beside the loop.
func (d *Dispatcher) collect(now time.Time) {
	d.mu.Lock()
	hints, peeked, claimed, ended, dropped := d.hints, d.peeked, d.claimed, d.ended, d.dropped
	d.hints, d.peeked, d.claimed, d.ended, d.dropped = nil, nil, nil, nil, nil
	confirmed, elsewhere, finished := d.confirmedBatch, d.dueElsewhere, d.finished
	d.confirmedBatch, d.dueElsewhere, d.finished = nil, time.Time{}, nil
	for kind, done := range d.claimsDone {
		d.pools[kind].claiming -= done
		d.alone = d.alone && done == 0 // a suspect's claim is the only one under way
	}
	d.claimsDone = [2]int{}
	d.mu.Unlock()
	for _, e := range ended {
		p := d.pools[e.ref.Kind]
		p.fired--
		p.lanes.land(e.ref)
		p.pace.add(now, 1)
		d.free(e)
		p.lanes.charge(e, e.size+max(e.response, 0))
		p.lanes.spend(e, heavyBytes(e.size+max(e.response, 0)))
	}
	for _, e := range finished {
		d.pools[e.ref.Kind].lanes.charge(e, 0)
	}
	for _, e := range dropped {
		d.drop(e)
	}
	for _, e := range claimed {
		p := d.pools[e.ref.Kind]
		p.lanes.learn(e.ref, e.size)
		p.lanes.charge(e, e.size+responseBytes)
		p.lanes.spend(e, heavyBytes(e.size))
		d.hold(e)
	}
	d.dropBlocked()
	if len(confirmed) > 0 {
		d.confirming = false
		for _, e := range confirmed {
			d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
		}
	}
	for _, ref := range hints {
		d.admitHint(ref, now)
	}
	d.admitHinted(now)
	if !elsewhere.IsZero() {
		d.noteDueElsewhere(elsewhere, now)
	}
	if peeked != nil {
		d.scan.running = false
		d.admitPeeked(peeked, now)
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
	d.mu.Lock()
	if e.gone {
		d.forget(e)
		d.mu.Unlock()
		d.drop(e)
		return
	}
	if e.revoked || p.fired >= p.total || !d.holdsLease(e) {
		e.confirmed = false
		d.mu.Unlock()
		d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
		return
	}
	if d.mustConfirm(e) {
		d.mu.Unlock()
		d.unconfirmed = append(d.unconfirmed, e)
		return
	}
	if !p.lanes.fire(e.ref, p.total) {
		e.confirmed = false
		d.mu.Unlock()
		d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
		return
	}
	ctx, abort := context.WithCancelCause(attempts)
	e.phase, e.abort = phaseFired, abort
	d.mu.Unlock()
	p.fired++
	d.tasks.Go(func() { d.run(ctx, e) })
}

// holdsLease reports whether this node certainly still holds a claim. If the
// last heartbeat is too old, because the process was suspended or the store
// away, it requests another one. Called with mu held.
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
	if now := d.Queue.Now(); now.Sub(began) > slotWait {
		began = now // it waited for a slot
	}
	ended := false
	requestDone := func(bytes int64) {
		d.mu.Lock()
		if !ended {
			ended, e.response = true, bytes
			d.ended = append(d.ended, e)
		}
		d.mu.Unlock()
		d.poke()
	}
	if err := fault.Guard(func() error { e.attempt.Fire(ctx, e.node, began, requestDone); return nil }); err != nil {
		d.Log.Error("attempt panicked; other attempts are not affected", kindOf(e.ref), e.ref.Number, "error", err)
		if d.ObservePanic != nil {
			d.ObservePanic()
		}
	}
	requestDone(0)
	e.abort(nil)
	d.mu.Lock()
	d.finished = append(d.finished, e)
	d.forget(e)
	d.mu.Unlock()
	d.poke()
}

// slotWait is the delay from which on an attempt's start is recorded as later
// than its claim announced. Below it the announced time stays, which logs and
// webhooks already show.
const slotWait = time.Second

// Sleep waits for the given time or until ctx ends.
func Sleep(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

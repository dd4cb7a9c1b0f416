package dispatch

import (
	"container/heap"
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

// collect takes in what has happened beside the loop.
func (d *Dispatcher) collect(now time.Time) {
	d.mu.Lock()
	hints, peeked, claimed, ended, dropped := d.hints, d.peeked, d.claimed, d.ended, d.dropped
	d.hints, d.peeked, d.claimed, d.ended, d.dropped = nil, nil, nil, nil, nil
	looked, elsewhere, finished := d.looked, d.elsewhere, d.finished
	d.looked, d.elsewhere, d.finished = nil, time.Time{}, nil
	for kind, done := range d.claimsDone {
		d.pools[kind].claiming -= done
		d.alone = d.alone && done == 0 // one that is alone is the only one under way
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
	if len(looked) > 0 {
		d.confirming = false
		for _, e := range looked {
			d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
		}
	}
	for _, ref := range hints {
		d.admitHint(ref, now)
	}
	d.admitHinted(now)
	if !elsewhere.IsZero() {
		d.hear(elsewhere, now)
	}
	if peeked != nil {
		d.look.under = false
		d.admitPeeked(peeked, now)
	}
}

// free gives back the slot of a run.
func (d *Dispatcher) free(e *entry) {
	p := d.pools[e.ref.Kind]
	p.inUse--
	p.lanes.release(e.ref)
	p.publish()
}

// drop gives back the slot of a run that is not fired, and what it holds.
func (d *Dispatcher) drop(e *entry) {
	d.free(e)
	d.pools[e.ref.Kind].lanes.charge(e, 0)
	d.pools[e.ref.Kind].lanes.spend(e, 0)
}

// fire begins every attempt whose time has come, as far as there are slots.
func (d *Dispatcher) fire(attempts context.Context, now time.Time) {
	for kind := range d.ready {
		waiting := d.ready[kind]
		d.ready[kind] = nil
		for _, e := range waiting {
			d.begin(attempts, e)
		}
	}
	for len(d.held) > 0 && !d.held[0].begin.After(now) {
		d.begin(attempts, heap.Pop(&d.held).(*entry))
	}
	d.confirm()
}

// begin starts an attempt, or lets it wait on when it can't start now.
func (d *Dispatcher) begin(attempts context.Context, e *entry) {
	p := d.pools[e.ref.Kind]
	d.mu.Lock()
	if e.gone {
		d.forget(e)
		d.mu.Unlock()
		d.drop(e)
		return
	}
	if e.revoked || p.fired >= p.total || !d.holds(e) {
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

// holds reports whether a claim is certain to be this node's still. When the
// node's last beat was too long ago, as after it was stopped for a while or had
// lost the store, another beat has to tell. Called with mu held.
func (d *Dispatcher) holds(e *entry) bool {
	if d.Queue.NodeHolds(e.node) {
		return true
	}
	select {
	case d.beatNow <- struct{}{}:
	default:
	}
	return false
}

// run makes an attempt; it is forgotten when its end is stored.
func (d *Dispatcher) run(ctx context.Context, e *entry) {
	began := e.begin
	if now := d.Queue.Now(); now.Sub(began) > slotWait {
		began = now // it had to wait for a slot
	}
	ended := false
	answered := func(bytes int64) {
		d.mu.Lock()
		if !ended {
			ended, e.response = true, bytes
			d.ended = append(d.ended, e)
		}
		d.mu.Unlock()
		d.poke()
	}
	if err := fault.Guard(func() error { e.attempt.Fire(ctx, e.node, began, answered); return nil }); err != nil {
		d.Log.Error("an attempt ended in a panic; the others go on", kindOf(e.ref), e.ref.Number, "error", err)
		if d.ObservePanic != nil {
			d.ObservePanic()
		}
	}
	answered(0)
	e.abort(nil)
	d.mu.Lock()
	d.finished = append(d.finished, e)
	d.forget(e)
	d.mu.Unlock()
	d.poke()
}

// slotWait is from when on a begin that was put off counts as the later one.
// Below that the attempt keeps the time its claim announced, which logs and
// webhooks show already.
const slotWait = time.Second

package dispatch

import (
	"container/heap"
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// peekResult is what a look into the queue brought.
type peekResult struct {
	refs []store.Ref
	from store.Ref
	err  error
}

// collect takes in what has happened beside the loop.
func (d *Dispatcher) collect(now time.Time) {
	d.mu.Lock()
	hints, peeked, claimed, ended, dropped := d.hints, d.peeked, d.claimed, d.ended, d.dropped
	d.hints, d.peeked, d.claimed, d.ended, d.dropped = nil, nil, nil, nil, nil
	looked, elsewhere := d.looked, d.elsewhere
	d.looked, d.elsewhere = nil, time.Time{}
	for kind, done := range d.claimsDone {
		d.pools[kind].claiming -= done
	}
	d.claimsDone = [2]int{}
	d.mu.Unlock()
	for _, e := range ended {
		p := d.pools[e.ref.Kind]
		p.fired--
		p.pace.add(now, 1)
		d.free(e)
	}
	for _, e := range dropped {
		d.free(e)
	}
	for _, e := range claimed {
		d.hold(e)
	}
	if len(looked) > 0 {
		d.confirming = false
		for _, e := range looked {
			d.ready[e.ref.Kind] = append(d.ready[e.ref.Kind], e)
		}
	}
	for _, ref := range hints {
		d.admitHint(ref, now)
	}
	if !elsewhere.IsZero() {
		d.hear(elsewhere, now)
	}
	if peeked != nil {
		d.peeking = false
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

// admitHint takes in a run that was just stored.
func (d *Dispatcher) admitHint(ref store.Ref, now time.Time) {
	switch {
	case ref.Due.Sub(now) <= horizon && !d.full():
		d.admit(ref)
	case ref.Due.Before(d.cursor.Due):
		// Stored behind what has been read, and no room for it now.
		d.cursor = store.Ref{Due: ref.Due.Add(-time.Microsecond)}
		fallthrough
	default:
		if at := ref.Due.Add(-horizon); at.Before(d.nextPeek) {
			d.nextPeek = at
		}
	}
}

// admitPeeked takes in what a look into the queue brought and notes where to
// read on, and when.
func (d *Dispatcher) admitPeeked(p *peekResult, now time.Time) {
	if p.err != nil {
		d.complain("reading the queue failed; trying again", p.err)
		d.nextPeek = now.Add(recheck / 10)
		return
	}
	d.mu.Lock()
	nodes, self := d.life.nodes, d.life.node
	d.mu.Unlock()
	for _, ref := range p.refs {
		if ref.Due.Sub(now) > horizon {
			d.nextPeek = earlier(d.nextPeek, ref.Due.Add(-horizon))
			return
		}
		switch others := ref.Due.Add(d.share(ref, nodes, self)); {
		case others.Equal(ref.Due), !others.After(now) && d.idle(ref.Kind):
			d.admit(ref)
		case others.After(now):
			d.lookAgain(others)
		}
		if after(ref, d.cursor) {
			d.cursor = ref
		}
	}
	if len(p.refs) == peekLimit {
		d.nextPeek = now
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func after(a, b store.Ref) bool {
	if !a.Due.Equal(b.Due) {
		return a.Due.After(b.Due)
	}
	return a.Kind > b.Kind || a.Kind == b.Kind && a.Number > b.Number
}

// admit lets a run wait for its claim, unless it is known already.
func (d *Dispatcher) admit(ref store.Ref) {
	e := &entry{ref: ref}
	d.mu.Lock()
	before, known := d.known[ref.RunID]
	if !known {
		e.revoked = d.withholds(ref)
		d.known[ref.RunID] = e
	} else if !before.ref.Due.Equal(ref.Due) {
		before.moved = &ref
	}
	d.mu.Unlock()
	if !known {
		p := d.pools[ref.Kind]
		p.lanes.add(e)
		p.publish()
	}
}

// idle reports whether there is room to do others' work too.
func (d *Dispatcher) idle(kind store.Kind) bool {
	p := d.pools[kind]
	return p.lanes.waiting < claimLimit && p.inUse < p.total
}

// busy reports whether so much waits here that others' work is left to them.
func (d *Dispatcher) busy() bool {
	return d.pools[store.KindJob].lanes.waiting+d.pools[store.KindDelivery].lanes.waiting >= peekLimit
}

// peek reads on in the queue, when it is time and there is room.
func (d *Dispatcher) peek(now time.Time) {
	if d.peeking || d.full() {
		return
	}
	// From the beginning every now and then: a hint may have been lost.
	if pause := d.rescanPause(); now.Sub(d.lastRescan).Abs() >= pause {
		d.lastRescan, d.cursor, d.nextPeek = now, store.Ref{}, now
	}
	if !d.again.IsZero() && !d.again.After(now) && !d.busy() {
		d.again, d.cursor, d.nextPeek = time.Time{}, store.Ref{}, now
	}
	if d.nextPeek.After(now) {
		return
	}
	d.peeking, d.nextPeek = true, now.Add(recheck)
	from := d.cursor
	d.tasks.Go(func() {
		refs, err := d.Queue.RunPeek(context.Background(), from, peekLimit)
		d.mu.Lock()
		d.peeked = &peekResult{refs, from, err}
		d.mu.Unlock()
		d.poke()
	})
}

// rescanPause is longer while much waits, since all of it is read again.
func (d *Dispatcher) rescanPause() time.Duration {
	if d.busy() {
		return 10 * recheck
	}
	return recheck
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
		d.free(e)
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
	e.attempt.Fire(ctx, e.node, began, func() {
		d.mu.Lock()
		d.ended = append(d.ended, e)
		d.mu.Unlock()
		d.poke()
	})
	e.abort(nil)
	d.mu.Lock()
	d.forget(e)
	d.mu.Unlock()
}

// slotWait is from when on a begin that was put off counts as the later one.
// Below that the attempt keeps the time its claim announced, which logs and
// webhooks show already.
const slotWait = time.Second

package dispatch

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// claim starts claims for waiting items, as far as slots are free. A suspect is
// claimed alone.
func (d *Dispatcher) claim() {
	if d.claimAlone() {
		return
	}
	for kind, p := range d.pools {
		p.pace.roll(d.Queue.Now())
		for p.claiming < claimers {
			batch := d.choose(p)
			if len(batch) == 0 {
				break
			}
			d.startClaim(store.Kind(kind), batch, false)
		}
	}
}

// startClaim claims a batch in the background. If single is set, no other claim is under
// way until it ends.
func (d *Dispatcher) startClaim(kind store.Kind, batch []*entry, single bool) {
	d.items.claiming(batch)
	d.pools[kind].claiming++
	d.tasks.Go(func() { d.claimBatch(kind, batch, single) })
}

// choose takes the next items to claim, in fair turns.
func (d *Dispatcher) choose(p *pool) []*entry {
	var batch []*entry
	for bytes := int64(0); len(batch) < claimLimit && bytes < batchBytes; bytes += batch[len(batch)-1].bytes - responseBytes {
		e := p.lanes.take(p.inUse, p.total, p.ahead())
		if e == nil {
			break
		}
		p.inUse++
		batch = append(batch, e)
	}
	p.publish()
	return batch
}

// claimPause is how long a claimer waits after a failure of the store.
const claimPause = 100 * time.Millisecond

// claimBatch loads items, prepares their attempts and claims them. What could
// not be claimed is looked at again soon, or dropped: it has left the queue, or a later
// read finds it again.
func (d *Dispatcher) claimBatch(kind store.Kind, batch []*entry, single bool) {
	node := d.Self()
	c := &claiming{Dispatcher: d, node: node, single: single}
	c.all(batch)
	if single {
		c.lost = append(c.lost, c.passed...) // a later read finds it again
	} else {
		d.contended.add(d, c.passed)
	}
	d.dropLost(c, func(n *news) { n.claimsDone[kind]++ })
}

// dropLost drops what a batch has not claimed. done may add to the news.
func (d *Dispatcher) dropLost(c *claiming, done func(n *news)) {
	if c.outage != nil {
		d.logLimited("claiming queue items failed; retrying", c.outage)
		time.Sleep(claimPause)
	}
	lost := append(c.lost, c.again...)
	hints := d.items.forget(lost...) // before the loop learns of them again
	for _, e := range c.again {
		hints = append(hints, e.ref)
	}
	d.inbox.post(func(n *news) {
		n.dropped = append(n.dropped, lost...)
		n.hints = append(n.hints, hints...)
		done(n)
	})
}

// handOver lets claimed items be fired. It is called for each write of a batch,
// so that none waits for the larger items of others in the same batch.
func (d *Dispatcher) handOver(node int64, asked proof, claimed []*entry) {
	stale, gone := d.items.claimed(node, asked, claimed)
	if len(stale) > 0 {
		d.tasks.Go(func() { d.release(node, stale) })
	}
	d.suspects.recovered(claimed)
	if len(gone) > 0 {
		claimed = slices.DeleteFunc(slices.Clone(claimed), func(e *entry) bool { return slices.Contains(gone, e) })
		defer d.releaseGone(node, gone)
	}
	d.inbox.post(func(n *news) { n.claimed = append(n.claimed, claimed...) })
}

// releaseGone releases claims before the loop may forget their items: the release
// would undo a later claim of the same attempt.
func (d *Dispatcher) releaseGone(node int64, gone []*entry) {
	claims := make([]store.Claim, len(gone))
	for i, e := range gone {
		claims[i] = e.claim
	}
	d.release(node, claims)
	d.inbox.post(func(n *news) { n.claimed = append(n.claimed, gone...) })
}

// claiming is one batch on its way through load, prepare and claim. A part that
// fails because of its content is halved until the faulty item stands alone.
type claiming struct {
	*Dispatcher
	node   int64
	single bool     // no other claim is under way
	wait   bool     // for items that are locked
	lost   []*entry // gone, or failing by themselves
	passed []*entry // claimed by others, gone, or locked
	again  []*entry // to be claimed once the store is back, or there is room
	bytes  int64    // held by what was prepared
	outage error    // the store can't be reached
}

// all claims a batch, the smallest items first: what is read and stored together
// is as large as the largest of it.
func (c *claiming) all(batch []*entry) {
	slices.SortStableFunc(batch, func(a, b *entry) int { return cmp.Compare(a.bytes, b.bytes) })
	noted, err := c.note(c.node, batch, c.single)
	if err != nil {
		c.outage, c.again = err, batch
		return
	}
	for len(batch) > 0 && c.bytes < batchBytes {
		n := loadable(batch)
		c.load(batch[:n])
		batch = batch[n:]
	}
	c.again = append(c.again, batch...) // larger than expected
	if c.outage == nil {
		c.clear(noted)
	}
}

// load loads and prepares items, and claims them.
func (c *claiming) load(batch []*entry) {
	if c.outage != nil {
		c.again = append(c.again, batch...)
		return
	}
	refs := make([]store.QueueKey, len(batch))
	for i, e := range batch {
		refs[i] = e.ref
	}
	var items []*store.QueueItem
	err := fault.Guard(func() (err error) {
		items, err = c.Queue.QueueLoad(context.Background(), refs)
		return err
	})
	if err != nil {
		c.divide(batch, err, c.load)
		return
	}
	now := c.Queue.Now()
	var asked []*entry
	var held []store.HeldItem
	bytes := int64(0)
	for i, item := range items {
		e := batch[i]
		if item == nil || item.Claim != nil {
			c.lost = append(c.lost, e)
			continue
		}
		if mustHold(item, now) {
			deadline, expired := c.expiry(item, now)
			if !expired {
				held = append(held, store.HeldItem{QueueKey: e.ref, Keys: item.Limits, Named: item.Named, Expires: deadline})
				c.lost = append(c.lost, e)
				continue
			}
			item.StartBy = time.Time{} // nothing is sent, so it may end at any time
		}
		if c.bytes >= batchBytes {
			c.again = append(c.again, e)
			continue
		}
		if err := fault.Guard(func() error { c.prepare(e, item, now); return nil }); err != nil {
			c.fail(e, err)
			continue
		}
		c.bytes += e.size
		stored := storedBytes(&e.claim)
		if bytes += stored; bytes > writeBytes && len(asked) > 0 {
			c.store(asked)
			asked, bytes = nil, stored
		}
		asked = append(asked, e)
	}
	c.hold(held)
	if len(asked) > 0 {
		c.store(asked)
	}
}

func (c *claiming) prepare(e *entry, item *store.QueueItem, now time.Time) {
	e.attempt = c.Prepare(item, now)
	c.items.prepared(e, e.attempt.Claim())
	e.start = e.claim.StartAt
	e.ahead = e.ref.Kind == store.KindDelivery && e.claim.Attempt == 1 && e.start.After(now)
	e.limits, e.startBy = item.Limits, item.StartBy
	e.size = sizeOf(e)
}

// store claims items whose attempts are prepared.
func (c *claiming) store(batch []*entry) {
	if c.outage != nil {
		c.again = append(c.again, batch...)
		return
	}
	claims := make([]store.Claim, len(batch))
	for i, e := range batch {
		claims[i] = e.claim
		claims[i].Wait = c.wait
	}
	asked := c.items.clocks.look()
	got, err := c.Queue.QueueClaim(context.Background(), c.node, claims)
	if err != nil {
		// The claims may have been committed all the same. Release them, or
		// nobody would fire the items.
		c.release(c.node, claims)
		c.divide(batch, err, c.store)
		return
	}
	if c.ObserveClaims != nil {
		c.ObserveClaims(len(claims))
	}
	var claimed []*entry
	for i, e := range batch {
		if got[i] {
			claimed = append(claimed, e)
		} else {
			c.passed = append(c.passed, e)
		}
	}
	c.handOver(c.node, asked, claimed)
}

// divide tries the halves of a batch that failed. It does not divide in an
// outage, when a smaller batch would fail too.
func (c *claiming) divide(batch []*entry, err error, try func([]*entry)) {
	switch {
	case fault.CodeOf(err) == fault.Unavailable:
		c.outage, c.again = err, append(c.again, batch...)
	case len(batch) == 1:
		c.fail(batch[0], err)
	default:
		try(batch[:len(batch)/2])
		try(batch[len(batch)/2:])
	}
}

func (c *claiming) fail(e *entry, err error) {
	c.failed(e, err)
	c.lost = append(c.lost, e)
}

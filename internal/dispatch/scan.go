package dispatch

import (
	"container/heap"
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// Items are claimed between horizon and lead before they are due, so that
	// the claim is committed in time. What is due between the two is read and
	// claimed together.
	horizon = 100 * time.Millisecond
	lead    = 60 * time.Millisecond
	// readAhead is how far several nodes read the queue ahead: most of what they read is
	// assigned to others, so they read larger pieces, and less often.
	readAhead = 4 * horizon
	// keepStored is how long before its due time an item is claimed by the node that
	// stored it: the node that it is assigned to might hear of it too late.
	keepStored = 2 * horizon
	// A claim made more than ClaimAhead before its start would count as started.
	_ = uint64(store.ClaimAhead - 2*horizon)
	// peekLimit is how many queue keys one read returns at most.
	peekLimit = 512
	// maxWaiting is how many items wait in memory at most; the rest stays in
	// the store until there is room.
	maxWaiting = 100_000
	// keepHints is how long before its due time a hint is kept in memory, so
	// that the queue need not be read for it; maxHints is how many are kept.
	keepHints = 30 * time.Second
	maxHints  = 10_000
	// restAfterScan bounds the share of time spent on scans from the queue's
	// beginning: the next one starts no sooner than restAfterScan times the
	// duration of the last. It is never later than restMost: a scan may have been
	// long because the store hung, or its clock was set.
	restAfterScan = 50
	restMost      = 15 * time.Second
)

// scanState is how far the loop has read the queue.
type scanState struct {
	cursor  store.QueueKey // read up to here
	next    time.Time      // when to read on
	rescan  time.Time      // when to read again what was left to other nodes; zero for not
	behind  time.Time      // the earliest due time of that
	running bool           // a read is under way
	// refilled: the last read was a lane's refill. Refills and reading on take
	// turns.
	refilled bool
	began    time.Time // start of the last scan from the beginning
	scanning bool      // that scan has not reached the horizon yet
	took     time.Duration
}

// peekResult is the result of one read of the queue.
type peekResult struct {
	peekOf
	refs  []store.QueueKey
	until time.Time
	err   error
}

// peekOf is what to read: the queue from a key on, to read on or to refill a
// lane from its backlog.
type peekOf struct {
	from   store.QueueKey
	refill bool
	lane   laneID
}

// admitHint takes in the key of an item that was just stored. What is assigned to another
// node is left to it, if that hears of it in time.
func (d *Dispatcher) admitHint(ref store.QueueKey, now time.Time) {
	lease := d.items.nodes()
	others, ahead := d.share(ref, lease), ref.Due.Sub(now)
	switch {
	case (ahead <= horizon || others > 0 && ahead <= keepStored) && !d.full():
		d.admit(ref)
	case others > 0 && ahead > keepStored && !lease.notificationsDown:
		d.rescanAt(ref.Due.Add(others), ref.Due)
	case ahead <= keepHints && d.keep(ref):
	case ref.Due.Before(d.scan.cursor.Due):
		// It lies behind the cursor, and there is no room for it now.
		d.scan.cursor = store.QueueKey{Due: ref.Due.Add(-time.Microsecond)}
		fallthrough
	default:
		d.scan.next = earlier(d.scan.next, ref.Due.Add(-lead))
	}
}

// keep keeps the key of an item until it is time to claim it, if there is room.
func (d *Dispatcher) keep(ref store.QueueKey) bool {
	if d.kept[ref] {
		return true
	}
	if len(d.hinted) >= maxHints {
		return false
	}
	d.kept[ref] = true
	heap.Push(&d.hinted, &entry{ref: ref})
	return true
}

// admitHinted admits kept hints that must be claimed by now, and with them
// those up to the horizon, so that one claim takes them all.
func (d *Dispatcher) admitHinted(now time.Time) {
	if len(d.hinted) == 0 || d.hinted[0].ref.Due.Sub(now) > lead || d.full() {
		return
	}
	for len(d.hinted) > 0 && d.hinted[0].ref.Due.Sub(now) <= horizon {
		ref := heap.Pop(&d.hinted).(*entry).ref
		delete(d.kept, ref)
		d.admit(ref)
	}
}

// admitPeeked admits the items of a read and sets where and when to read on.
func (d *Dispatcher) admitPeeked(p *peekResult, now time.Time) {
	if p.err != nil {
		d.logLimited("reading the queue failed; retrying", p.err)
		d.scan.next = now.Add(recheck / 10)
		if p.refill {
			d.pools[p.lane.kind].lanes.keepBacklog(p.lane, p.from)
		} else if d.scan.scanning {
			d.scan.began = d.scan.next // reads that fail don't make the scan a long one
		}
		return
	}
	lease := d.items.nodes()
	for _, ref := range p.refs {
		if ref.Due.After(p.until) {
			d.scan.next = earlier(d.scan.next, ref.Due.Add(-lead))
			d.readToEnd(p, now)
			return
		}
		others := ref.Due.Add(d.share(ref, lease))
		switch assigned := others.Equal(ref.Due); {
		case assigned && ref.Due.Sub(now) > horizon:
			if !d.keep(ref) {
				d.scan.next = earlier(d.scan.next, ref.Due.Add(-lead))
				d.readToEnd(p, now)
				return
			}
		case assigned, !others.After(now) && d.idle(ref.Kind):
			d.admit(ref)
		case others.After(now):
			d.rescanAt(others, ref.Due)
		default: // no node has had room for it yet
			d.rescanAt(now.Add(horizon), ref.Due)
		}
		if !p.refill && after(ref, d.scan.cursor) {
			d.scan.cursor = ref
		}
	}
	switch {
	case len(p.refs) < peekLimit:
		d.readToEnd(p, now)
	case p.refill:
		d.pools[p.lane.kind].lanes.refillBacklog(p.lane, p.refs[len(p.refs)-1])
	default:
		d.scan.next = now
	}
}

// readToEnd notes that a scan has reached the horizon.
func (d *Dispatcher) readToEnd(p *peekResult, now time.Time) {
	if d.scan.scanning && !p.refill {
		d.scan.scanning, d.scan.took = false, now.Sub(d.scan.began)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func after(a, b store.QueueKey) bool {
	if !a.Due.Equal(b.Due) {
		return a.Due.After(b.Due)
	}
	return a.Kind > b.Kind || a.Kind == b.Kind && a.Number > b.Number
}

// before returns the key right before ref.
func before(ref store.QueueKey) store.QueueKey {
	ref.Number--
	return ref
}

// admit lets an item wait for its claim, unless it is known already. If its
// lane or account has its full share of the memory, the item stays in the store
// as part of their backlog.
func (d *Dispatcher) admit(ref store.QueueKey) {
	switch d.items.find(ref) {
	case present:
		return
	case barred:
		d.wantPark()
		return
	}
	p := d.pools[ref.Kind]
	e := &entry{ref: ref}
	switch d.suspects.suspicion(ref.ItemID, p.lanes.now) {
	case failedNow:
		d.rescanAt(p.lanes.now.Add(failsPause), ref.Due)
		return
	case suspected:
		d.items.add(e)
		d.quarantine = append(d.quarantine, e)
		return
	}
	if full, ok := p.lanes.fits(ref, d.maxWaiting-d.waiting()); !ok {
		p.lanes.keepBacklog(full, before(ref))
		return
	}
	d.items.add(e)
	p.lanes.add(e)
	p.publish()
}

// waiting returns how many items wait in memory.
func (d *Dispatcher) waiting() int {
	return d.pools[store.KindJob].lanes.waiting + d.pools[store.KindDelivery].lanes.waiting
}

func (d *Dispatcher) full() bool { return d.waiting() >= d.maxWaiting }

// idle reports whether this node has capacity for items of other nodes.
func (d *Dispatcher) idle(kind store.Kind) bool {
	p := d.pools[kind]
	return p.lanes.waiting < claimLimit && p.inUse < p.total
}

// busy reports whether so much waits here that other nodes' items are left to
// them.
func (d *Dispatcher) busy() bool { return d.waiting() >= peekLimit }

// peek reads the queue when it is time and there is room: to refill a lane
// below its low-water mark, or on from the cursor.
func (d *Dispatcher) peek(now time.Time) {
	if d.scan.running || d.full() {
		return
	}
	// Scan from the beginning periodically, because hints can get lost. The
	// last scan must have ended first, or items beyond it would never be read.
	if !d.scan.scanning && now.Sub(d.scan.began).Abs() >= d.rescanPause() {
		d.scan.cursor, d.scan.next = store.QueueKey{}, now
		d.scan.began, d.scan.scanning = now, true
	}
	if !d.scan.rescan.IsZero() && !d.scan.rescan.After(now) && !d.busy() {
		d.rescan(now)
	}
	due := !d.scan.next.After(now)
	if of, low := d.laneBelowMark(); low && !(due && d.scan.refilled) {
		d.startPeek(of, now)
	} else if due {
		d.scan.next = now.Add(recheck)
		d.startPeek(peekOf{from: d.scan.cursor}, now)
	}
}

// rescan reads again what was left to other nodes. It begins there, not at the
// beginning of the queue: while an old transaction is open, all items that have left the
// queue lie before it.
func (d *Dispatcher) rescan(now time.Time) {
	if d.scan.behind.Before(d.scan.cursor.Due) {
		d.scan.cursor = store.QueueKey{Due: d.scan.behind}
	}
	d.scan.next = earlier(d.scan.next, now)
	d.scan.rescan, d.scan.behind = time.Time{}, time.Time{}
}

// laneBelowMark returns a lane to be refilled, if there is one.
func (d *Dispatcher) laneBelowMark() (peekOf, bool) {
	for _, p := range d.pools {
		if lane, from, low := p.lanes.nextBelowMark(); low {
			return peekOf{from, true, lane}, true
		}
	}
	return peekOf{}, false
}

func (d *Dispatcher) startPeek(of peekOf, now time.Time) {
	if of.refill {
		d.pools[of.lane.kind].lanes.startRefill()
	}
	d.scan.running, d.scan.refilled = true, of.refill
	until := now.Add(horizon)
	if !of.refill && len(d.items.nodes().nodes) > 1 {
		until = now.Add(readAhead)
	}
	d.tasks.Go(func() {
		refs, err := d.Queue.QueuePeek(context.Background(), of.from, until, peekLimit)
		d.inbox.post(func(n *news) { n.peeked = &peekResult{of, refs, until, err} })
	})
}

// rescanPause is the time between two scans from the beginning. It is longer
// while many items wait, because the scan reads all of them again.
func (d *Dispatcher) rescanPause() time.Duration {
	pause := recheck
	if d.busy() {
		pause = 10 * recheck
	}
	return max(pause, min(restAfterScan*d.scan.took, restMost))
}

package dispatch

import (
	"container/heap"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// lanes holds items that wait to be claimed and hands them out in fair turns:
// accounts take turns, and so do an account's lanes (one per receiver). Within
// a lane the earliest due comes first.
//
// The fuller the pool, the fewer slots an account, and each of its lanes, may
// hold; see shares.go.
//
// Only part of a large lane or account waits here. The rest, its backlog, stays
// in the store until the lane falls to its low-water mark.
type lanes struct {
	ring      turns[*account]
	byNumber  map[int64]*account // accounts that hold slots or have items waiting, or did lately
	waiting   int
	active    int      // lanes that hold slots or have items waiting
	returned  int      // slots returned by the only active lane since it became the only one
	last      *account // the last account that claimed ahead; may be nil
	backlogs  map[laneID]backlog
	belowMark []laneID   // lanes with a backlog that have fallen to their low-water mark
	now       time.Time  // the store's time at the loop's last step
	resting   []*account // accounts without lanes, and some that have got one since
	pace      rate       // of each account; the zero rate is no bound
	budget    *budget    // nil: no bound
	delayed   bool       // an account's turn was passed over since a rate of its is used up
}

// laneID identifies a lane, or all lanes of an account together.
type laneID struct {
	kind    store.Kind
	account int64
	lane    uint32
	all     bool // all of the account; lane is 0
}

func laneOf(ref store.QueueKey) laneID {
	return laneID{kind: ref.Kind, account: ref.Account, lane: ref.Lane}
}

func accountOf(ref store.QueueKey) laneID {
	return laneID{kind: ref.Kind, account: ref.Account, all: true}
}

// backlog is the part of a lane's items that was left in the store.
type backlog struct {
	behind   store.QueueKey // the backlog begins after this key
	lowWater int            // refill the lane when no more than this wait
	noted    bool           // the lane stands in belowMark
}

// turns is a ring of participants that are served in rotation.
type turns[T comparable] struct {
	round []T
	next  int
}

func (t *turns[T]) current() T { return t.round[t.next] }

func (t *turns[T]) add(p T) { t.round = append(t.round, p) }

func (t *turns[T]) pass() { t.next = (t.next + 1) % len(t.round) }

// removeCurrent removes the current participant; the next one becomes current.
func (t *turns[T]) removeCurrent() {
	t.round = slices.Delete(t.round, t.next, t.next+1)
	if t.next == len(t.round) {
		t.next = 0
	}
}

// remove removes a participant, whoever's turn it is.
func (t *turns[T]) remove(p T) {
	i := slices.Index(t.round, p)
	if i < 0 {
		return
	}
	t.round = slices.Delete(t.round, i, i+1)
	if i < t.next {
		t.next--
	}
	if t.next == len(t.round) {
		t.next = 0
	}
}

type account struct {
	number  int64
	ring    turns[*lane] // lanes with items waiting
	lanes   map[uint32]*lane
	waiting int
	inUse   int       // slots held by all its lanes
	fired   int       // requests under way
	proven  int       // slots returned so far, up to maxProven
	idleAt  time.Time // since when it has no lane
	resting bool      // it stands in lanes.resting
	bucket  bucket
	flow    flow
	bytes   int64 // of the budget, held by what is claimed or under way
	heavy   int64 // estimate of what an item holds, from those read last; 0: unknown
}

type lane struct {
	number uint32
	items  byDue
	inUse  int // slots held: claiming, held or fired
}

func newLanes() *lanes {
	return &lanes{byNumber: map[int64]*account{}, backlogs: map[laneID]backlog{}}
}

func (l *lanes) lane(ref store.QueueKey) (*account, *lane) {
	a := l.account(ref.Account)
	n := a.lanes[ref.Lane]
	if n == nil {
		n = &lane{number: ref.Lane}
		a.lanes[ref.Lane] = n
		l.active++
	}
	return a, n
}

// find returns a lane that holds slots or has items waiting, or nil.
func (l *lanes) find(id laneID) *lane {
	if a := l.byNumber[id.account]; a != nil {
		return a.lanes[id.lane]
	}
	return nil
}

func (l *lanes) waitingOf(id laneID) int {
	if id.all {
		if a := l.byNumber[id.account]; a != nil {
			return a.waiting
		}
		return 0
	}
	if n := l.find(id); n != nil {
		return len(n.items)
	}
	return 0
}

// fits reports whether another item may wait here, where free is the room left
// for all. An account may use twice the room it leaves to others, a lane the
// room left in its account's share. If there is no room, full is the account or
// lane whose share is used up.
func (l *lanes) fits(ref store.QueueKey, free int) (full laneID, ok bool) {
	ofAccount := l.waitingOf(accountOf(ref))
	if ofAccount == 0 {
		return laneID{}, true
	}
	left := 2*free - ofAccount
	if left <= 0 {
		return accountOf(ref), false
	}
	if waiting := l.waitingOf(laneOf(ref)); waiting > 0 && waiting >= left {
		return laneOf(ref), false
	}
	return laneID{}, true
}

// keepBacklog records that items of a lane behind a key were left in the store.
func (l *lanes) keepBacklog(id laneID, behind store.QueueKey) {
	l.setBacklog(id, behind, l.waitingOf(id)/2)
}

// refillBacklog is keepBacklog for a lane that needs more items at once.
func (l *lanes) refillBacklog(id laneID, behind store.QueueKey) {
	l.setBacklog(id, behind, l.waitingOf(id))
}

func (l *lanes) setBacklog(id laneID, behind store.QueueKey, low int) {
	if known, was := l.backlogs[id]; was && !after(known.behind, behind) {
		return
	}
	l.backlogs[id] = backlog{behind: behind, lowWater: low, noted: l.backlogs[id].noted}
	l.checkLowWater(id)
}

// checkLowWater queues a lane for its refill if it has fallen to its low-water
// mark.
func (l *lanes) checkLowWater(id laneID) {
	if r, left := l.backlogs[id]; left && !r.noted && l.waitingOf(id) <= r.lowWater {
		r.noted = true
		l.backlogs[id] = r
		l.belowMark = append(l.belowMark, id)
	}
}

// nextBelowMark returns the next lane to refill, and from which key.
func (l *lanes) nextBelowMark() (id laneID, behind store.QueueKey, low bool) {
	if len(l.belowMark) == 0 {
		return laneID{}, store.QueueKey{}, false
	}
	id = l.belowMark[0]
	return id, l.backlogs[id].behind, true
}

// startRefill removes the backlog that nextBelowMark returned: it is being
// read.
func (l *lanes) startRefill() {
	delete(l.backlogs, l.belowMark[0])
	l.belowMark = l.belowMark[1:]
}

// add lets an item wait.
func (l *lanes) add(e *entry) {
	a, n := l.lane(e.ref)
	if len(n.items) == 0 {
		if len(a.ring.round) == 0 {
			l.ring.add(a)
		}
		a.ring.add(n)
	}
	heap.Push(&n.items, e)
	a.waiting++
	l.waiting++
}

// take returns the next item to claim, which then holds a slot of its lane, or
// nil if no lane may have another slot. The lanes together hold inUse slots of
// total; they may hold ahead more, because as many are about to come free.
func (l *lanes) take(inUse, total, ahead int) *entry {
	used := inUse - l.over(total)
	if used >= total+ahead {
		return nil
	}
	slots := slots{free: total - used, total: total}
	if l.active == 1 {
		// Count only slots this lane has returned itself. Slots of a lane that
		// has just emptied say nothing about a lane that hangs.
		slots.ahead = min(ahead, l.returned)
	}
	l.delayed = false
	for range l.ring.round {
		a := l.ring.current()
		e := l.takeOf(a, slots)
		if len(a.ring.round) == 0 {
			l.ring.removeCurrent()
		} else {
			l.ring.pass()
		}
		if e != nil {
			return e
		}
	}
	return nil
}

func (l *lanes) takeOf(a *account, s slots) *entry {
	capacity := l.capacityOf(a, s)
	if capacity <= 0 {
		return nil
	}
	if !l.affords(a) {
		return nil
	}
	if !a.bucket.permits(l.pace, l.now) || !a.flow.permits(l.now) {
		l.delayed = true
		return nil
	}
	for range a.ring.round {
		n := a.ring.current()
		if !a.allows(n, capacity) {
			a.ring.pass()
			continue
		}
		e := heap.Pop(&n.items).(*entry)
		n.inUse++
		a.inUse++
		a.waiting--
		l.waiting--
		if s.ahead > 0 {
			l.last = a
		}
		l.charge(e, a.expected())
		l.spend(e, heavyBytes(a.heavy))
		a.bucket.take(l.pace)
		l.checkLowWater(laneOf(e.ref))
		l.checkLowWater(accountOf(e.ref))
		if len(n.items) == 0 {
			a.ring.removeCurrent()
		} else {
			a.ring.pass()
		}
		return e
	}
	return nil
}

// seize gives a slot to an item that did not wait here.
func (l *lanes) seize(e *entry) {
	a, n := l.lane(e.ref)
	n.inUse++
	a.inUse++
	l.charge(e, a.expected())
}

// release returns an item's slot.
func (l *lanes) release(ref store.QueueKey) {
	a, n := l.lane(ref)
	n.inUse--
	a.inUse--
	a.proven = min(a.proven+1, maxProven)
	if l.active == 1 {
		l.returned++
	}
	l.settle(a, n)
}

// settle forgets a lane that neither holds a slot nor has items waiting.
func (l *lanes) settle(a *account, n *lane) {
	if n.inUse > 0 || len(n.items) > 0 {
		return
	}
	delete(a.lanes, n.number)
	l.active--
	l.returned = 0
	if len(a.lanes) == 0 {
		l.rest(a)
	}
}

// drop removes and returns all waiting items of an account.
func (l *lanes) drop(number int64) []*entry {
	a := l.byNumber[number]
	if a == nil {
		return nil
	}
	var dropped []*entry
	for _, n := range a.lanes {
		dropped = append(dropped, n.items...)
		n.items = nil
		l.settle(a, n)
	}
	if len(a.ring.round) > 0 {
		a.ring = turns[*lane]{}
		l.ring.remove(a)
	}
	l.waiting -= a.waiting
	a.waiting = 0
	return dropped
}

// byDue is a heap of entries, the earliest due first.
type byDue []*entry

func (h byDue) Len() int { return len(h) }
func (h byDue) Less(i, j int) bool {
	if !h[i].ref.Due.Equal(h[j].ref.Due) {
		return h[i].ref.Due.Before(h[j].ref.Due)
	}
	return h[i].ref.Number < h[j].ref.Number
}
func (h byDue) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *byDue) Push(x any)   { *h = append(*h, x.(*entry)) }
func (h *byDue) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}

package dispatch

import (
	"container/heap"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// lanes holds runs that wait to be claimed and hands them out in fair turns:
// accounts take turns, and within an account its lanes (one a receiver) do.
// Within a lane the earliest due comes first.
//
// How many of a pool's slots an account may hold, and of these one of its lanes,
// shrinks as the pool fills; see shares.go.
//
// Of a lane or an account with a great many runs only some wait here. The rest
// stays in the store, and is read from there when what waits runs low.
type lanes struct {
	ring     turns[*account]
	byNumber map[int64]*account // accounts that hold slots or have runs waiting, or had lately
	waiting  int
	active   int      // lanes that hold slots or have runs waiting
	alone    int      // slots given back by the only active lane since it is the only one
	last     *account // that claimed ahead; nil: none
	left     map[laneID]rest
	lows     []laneID   // those of left that have run low
	now      time.Time  // by the store's clock, as of the loop's last step
	resting  []*account // those without a lane, and some that have one again
	pace     rate       // of each account; the zero rate sets no bound
	budget   *budget    // nil: no bound
	delayed  bool       // an account's turn was passed over since a rate of its is used up
}

// laneID names a lane, or all lanes of an account together.
type laneID struct {
	kind    store.Kind
	account int64
	lane    uint32
	all     bool // of the account; lane is 0
}

func laneOf(ref store.Ref) laneID {
	return laneID{kind: ref.Kind, account: ref.Account, lane: ref.Lane}
}

func accountOf(ref store.Ref) laneID { return laneID{kind: ref.Kind, account: ref.Account, all: true} }

// rest is what was left in the store of a lane's runs.
type rest struct {
	behind store.Ref // the place in the queue behind which they stand
	low    int       // the lane has run low when no more than that wait
	noted  bool      // that it has
}

// turns is a round of participants who are served one after the other.
type turns[T comparable] struct {
	round []T
	next  int
}

func (t *turns[T]) current() T { return t.round[t.next] }

func (t *turns[T]) join(p T) { t.round = append(t.round, p) }

func (t *turns[T]) pass() { t.next = (t.next + 1) % len(t.round) }

// leave takes the current participant out; it is the next one's turn.
func (t *turns[T]) leave() {
	t.round = slices.Delete(t.round, t.next, t.next+1)
	if t.next == len(t.round) {
		t.next = 0
	}
}

// remove takes a participant out, whoever's turn it is.
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
	ring    turns[*lane] // lanes with runs waiting
	lanes   map[uint32]*lane
	waiting int
	inUse   int       // slots held by all its lanes
	fired   int       // of these, requests under way
	proven  int       // slots given back so far, up to maxProven
	idleAt  time.Time // since when it has no lane
	resting bool      // it stands in lanes.resting
	bucket  bucket
	flow    flow
	bytes   int64 // of the budget, held by what is claimed or under way
	heavy   int64 // what a run is taken to hold, by those read last; 0: not known
}

type lane struct {
	number uint32
	runs   byDue
	inUse  int // slots held: claimed or fired
}

func newLanes() *lanes {
	return &lanes{byNumber: map[int64]*account{}, left: map[laneID]rest{}}
}

func (l *lanes) lane(ref store.Ref) (*account, *lane) {
	a := l.account(ref.Account)
	n := a.lanes[ref.Lane]
	if n == nil {
		n = &lane{number: ref.Lane}
		a.lanes[ref.Lane] = n
		l.active++
	}
	return a, n
}

// find gives a lane that holds slots or has runs waiting, or nil.
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
		return len(n.runs)
	}
	return 0
}

// room reports whether another run may wait here, where free more may in all.
// When not, it names whose share is used up: an account's is twice of what is
// left for others, a lane's what is left of its account's.
func (l *lanes) room(ref store.Ref, free int) (full laneID, ok bool) {
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

// leave notes that runs of a lane were left in the store, behind a place.
func (l *lanes) leave(id laneID, behind store.Ref) {
	l.leaveUntil(id, behind, l.waitingOf(id)/2)
}

// leaveLow is leave for a lane that needs more at once.
func (l *lanes) leaveLow(id laneID, behind store.Ref) {
	l.leaveUntil(id, behind, l.waitingOf(id))
}

func (l *lanes) leaveUntil(id laneID, behind store.Ref, low int) {
	if known, was := l.left[id]; was && !after(known.behind, behind) {
		return
	}
	l.left[id] = rest{behind: behind, low: low, noted: l.left[id].noted}
	l.noteLow(id)
}

// noteLow has a lane refilled if it has run low.
func (l *lanes) noteLow(id laneID) {
	if r, left := l.left[id]; left && !r.noted && l.waitingOf(id) <= r.low {
		r.noted = true
		l.left[id] = r
		l.lows = append(l.lows, id)
	}
}

// low gives a lane to be refilled, and from where.
func (l *lanes) low() (id laneID, behind store.Ref, low bool) {
	if len(l.lows) == 0 {
		return laneID{}, store.Ref{}, false
	}
	id = l.lows[0]
	return id, l.left[id].behind, true
}

// refill forgets what was left of the lane that low gave: it is being read.
func (l *lanes) refill() {
	delete(l.left, l.lows[0])
	l.lows = l.lows[1:]
}

// add lets a run wait.
func (l *lanes) add(e *entry) {
	a, n := l.lane(e.ref)
	if len(n.runs) == 0 {
		if len(a.ring.round) == 0 {
			l.ring.join(a)
		}
		a.ring.join(n)
	}
	heap.Push(&n.runs, e)
	a.waiting++
	l.waiting++
}

// take gives the next run to be claimed, which then holds a slot of its lane;
// nil when none may have another. inUse slots of total are held by all lanes
// together; ahead more may be, since as many are about to come free.
func (l *lanes) take(inUse, total, ahead int) *entry {
	used := inUse - l.over(total)
	if used >= total+ahead {
		return nil
	}
	slots := slots{free: total - used, total: total}
	if l.active == 1 {
		// Only slots of its own: another's, which has just left, are not about
		// to come free because of a lane that hangs.
		slots.ahead = min(ahead, l.alone)
	}
	l.delayed = false
	for range l.ring.round {
		a := l.ring.current()
		e := l.takeOf(a, slots)
		if len(a.ring.round) == 0 {
			l.ring.leave()
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
	room := l.roomOf(a, s)
	if room <= 0 {
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
		if !a.allows(n, room) {
			a.ring.pass()
			continue
		}
		e := heap.Pop(&n.runs).(*entry)
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
		l.noteLow(laneOf(e.ref))
		l.noteLow(accountOf(e.ref))
		if len(n.runs) == 0 {
			a.ring.leave()
		} else {
			a.ring.pass()
		}
		return e
	}
	return nil
}

// seize has a run that did not wait here hold a slot of its lane.
func (l *lanes) seize(e *entry) {
	a, n := l.lane(e.ref)
	n.inUse++
	a.inUse++
	l.charge(e, a.expected())
}

// release gives the slot of a run back.
func (l *lanes) release(ref store.Ref) {
	a, n := l.lane(ref)
	n.inUse--
	a.inUse--
	a.proven = min(a.proven+1, maxProven)
	if l.active == 1 {
		l.alone++
	}
	l.settle(a, n)
}

// settle forgets a lane that neither holds a slot nor has runs waiting.
func (l *lanes) settle(a *account, n *lane) {
	if n.inUse > 0 || len(n.runs) > 0 {
		return
	}
	delete(a.lanes, n.number)
	l.active--
	l.alone = 0
	if len(a.lanes) == 0 {
		l.rest(a)
	}
}

// drop takes all waiting runs of an account out.
func (l *lanes) drop(number int64) []*entry {
	a := l.byNumber[number]
	if a == nil {
		return nil
	}
	var dropped []*entry
	for _, n := range a.lanes {
		dropped = append(dropped, n.runs...)
		n.runs = nil
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

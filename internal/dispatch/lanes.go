package dispatch

import (
	"container/heap"
	"slices"

	"github.com/punctual-dev/punctual/internal/store"
)

// lanes holds runs that wait to be claimed and hands them out in fair turns:
// accounts take turns, and within an account its lanes (one a receiver) do.
// Within a lane the earliest due comes first.
//
// How much of a pool's slots one lane may hold at a time shrinks as the pool
// fills (a dynamic threshold, after Choudhury and Hahne), and a last part is
// kept for lanes that hold none, so receivers that hang can't take every slot.
//
// Of a lane with a great many runs only some wait here. The rest stays in the
// store, and the lane is refilled from there when it runs low.
type lanes struct {
	ring     turns[*account]
	byNumber map[int64]*account
	waiting  int
	active   int // lanes that hold slots or have runs waiting
	alone    int // slots given back by the only active lane since it is the only one
	left     map[laneID]rest
	lows     []laneID // those of left that have run low
}

// laneID names a lane.
type laneID struct {
	kind    store.Kind
	account int64
	lane    uint32
}

func laneOf(ref store.Ref) laneID { return laneID{ref.Kind, ref.Account, ref.Lane} }

// rest is what was left in the store of a lane's runs.
type rest struct {
	behind store.Ref // the place in the queue behind which they stand
	low    int       // the lane has run low when no more than that wait
	noted  bool      // that it has
}

// turns is a round of participants who are served one after the other.
type turns[T any] struct {
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

type account struct {
	number int64
	ring   turns[*lane] // lanes with runs waiting
	lanes  map[uint32]*lane
}

type lane struct {
	number uint32
	runs   byDue
	inUse  int // slots held: claimed or fired
}

func newLanes() *lanes {
	return &lanes{byNumber: map[int64]*account{}, left: map[laneID]rest{}}
}

// reserveOf is the part of a pool that only lanes without a slot may take.
func reserveOf(total int) int { return total / 16 }

func (l *lanes) lane(ref store.Ref) (*account, *lane) {
	a := l.byNumber[ref.Account]
	if a == nil {
		a = &account{number: ref.Account, lanes: map[uint32]*lane{}}
		l.byNumber[ref.Account] = a
	}
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
	if n := l.find(id); n != nil {
		return len(n.runs)
	}
	return 0
}

// room reports whether another run of a lane may wait here, where free more may
// in all: as many of one lane as would be left for others.
func (l *lanes) room(ref store.Ref, free int) bool {
	waiting := l.waitingOf(laneOf(ref))
	return waiting == 0 || waiting < free
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
	l.waiting++
}

// take gives the next run to be claimed, which then holds a slot of its lane;
// nil when no lane may have another. inUse slots of total are held by all lanes
// together; ahead more may be, since as many are about to come free.
func (l *lanes) take(inUse, total, ahead int) *entry {
	if inUse >= total+ahead {
		return nil
	}
	free := total - inUse
	if l.active == 1 {
		// Only slots of its own: another's, which has just left, are not about
		// to come free because of a lane that hangs.
		free += min(ahead, l.alone)
	}
	for range l.ring.round {
		a := l.ring.current()
		e := l.takeOf(a, free, total)
		if len(a.ring.round) == 0 {
			l.ring.leave()
		} else {
			l.ring.pass()
		}
		if e != nil {
			l.waiting--
			return e
		}
	}
	return nil
}

func (l *lanes) takeOf(a *account, free, total int) *entry {
	for range a.ring.round {
		n := a.ring.current()
		if !l.allows(n, free, total) {
			a.ring.pass()
			continue
		}
		e := heap.Pop(&n.runs).(*entry)
		n.inUse++
		l.noteLow(laneOf(e.ref))
		if len(n.runs) == 0 {
			a.ring.leave()
		} else {
			a.ring.pass()
		}
		return e
	}
	return nil
}

func (l *lanes) allows(n *lane, free, total int) bool {
	reserve := reserveOf(total)
	switch {
	case n.inUse == 0:
		return true
	case l.active == 1:
		return free > reserve
	default:
		return n.inUse < 2*(free-reserve)
	}
}

// release gives the slot of a run back.
func (l *lanes) release(ref store.Ref) {
	a, n := l.lane(ref)
	n.inUse--
	if l.active == 1 {
		l.alone++
	}
	if n.inUse > 0 || len(n.runs) > 0 {
		return
	}
	delete(a.lanes, n.number)
	l.active--
	l.alone = 0
	if len(a.lanes) == 0 {
		delete(l.byNumber, a.number)
	}
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

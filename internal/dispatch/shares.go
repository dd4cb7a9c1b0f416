package dispatch

import (
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// The slots of a pool are shared in two steps, each with a dynamic threshold
// after Choudhury and Hahne: the limit is high while many slots are free and
// low when the pool is nearly full.
//
// An account that is alone may hold all but a quarter. While other accounts are
// active, or were within the last minute, it may hold twice what it leaves to
// others, and at most half of the pool. The last eighth is reserved for
// accounts that hold next to nothing: one slot at once, plus one for each slot
// the account has returned, up to maxProven. The last sixteenth allows one slot
// per account. So an account whose receivers hang holds a bounded number of
// slots however many receivers it has, and it takes as many accounts as the
// reserve has slots to fill it.
//
// Within an account's share, a lane may hold twice what it leaves to the
// account's other lanes; the last sixteenth is reserved for lanes that hold
// none.
//
// A pool of fewer than four slots has no reserve; only the turns are fair.

// slots is what there is to share.
type slots struct {
	free, total int
	ahead       int // slots of the only lane that are about to come free
}

const (
	// lingers is how long an account counts as active after its last work.
	lingers = time.Minute
	// maxProven is how many slots of the newcomers' reserve an account may hold
	// beyond its first.
	maxProven = 3
)

// aloneReserve is the part of a pool that an account leaves free even when
// alone.
func aloneReserve(total int) int { return total / 4 }

// mostFired is how many requests of one account are under way at most.
func mostFired(total int) int { return total - aloneReserve(total) }

// over returns how many claims the account that last claimed ahead holds beyond
// mostFired. They don't count against other accounts.
func (l *lanes) over(total int) int {
	if l.last == nil {
		return 0
	}
	return max(0, l.last.inUse-mostFired(total))
}

// fire counts a request under way and reports true, unless its account has
// mostFired of them already. land counts the request's end.
func (l *lanes) fire(ref store.QueueKey, total int) bool {
	a := l.account(ref.Account)
	if a.fired >= mostFired(total) {
		return false
	}
	a.fired++
	return true
}

func (l *lanes) land(ref store.QueueKey) { l.account(ref.Account).fired-- }

// newcomersReserve is the part for accounts that hold next to nothing.
func newcomersReserve(total int) int { return atLeastOne(total/8, total) }

// lastReserve is the part for accounts, or an account's lanes, that hold
// nothing.
func lastReserve(total int) int { return atLeastOne(total/16, total) }

func atLeastOne(part, total int) int {
	if total >= 4 {
		return max(part, 1)
	}
	return part
}

// capacityOf returns how many more slots an account may hold.
func (l *lanes) capacityOf(a *account, s slots) int {
	capacity := l.fairShare(a, s)
	switch {
	case s.free <= 0:
	case a.inUse == 0:
		capacity = max(capacity, 1)
	case s.free > lastReserve(s.total):
		capacity = max(capacity, 1+a.proven-a.inUse)
	}
	return min(capacity, s.free+s.ahead)
}

func (l *lanes) fairShare(a *account, s slots) int {
	if len(l.byNumber) == 1 {
		return mostFired(s.total) + s.ahead - a.inUse
	}
	// The account may take another slot while it holds less than twice what is
	// left. Each slot it takes changes both sides, hence the division by 3.
	left := s.free + s.ahead - newcomersReserve(s.total)
	share := (2*left - a.inUse + 2) / 3
	half := max(1, s.total/2) + s.ahead - a.inUse
	return min(share, half)
}

// allows reports whether a lane may have a slot of its account, which may have
// capacity more.
func (a *account) allows(n *lane, capacity int) bool {
	left := capacity - lastReserve(a.inUse+capacity)
	switch {
	case n.inUse == 0:
		return true
	case len(a.lanes) == 1:
		return left > 0
	default:
		return n.inUse < 2*left
	}
}

// account returns the account with a number, creating it if needed.
func (l *lanes) account(number int64) *account {
	a := l.byNumber[number]
	if a == nil {
		a = &account{number: number, lanes: map[uint32]*lane{}}
		l.byNumber[number] = a
	}
	return a
}

// rest notes that an account has no lane any more.
func (l *lanes) rest(a *account) {
	a.idleAt = l.now
	if !a.resting {
		a.resting = true
		l.resting = append(l.resting, a)
	}
}

// step sets the time and forgets accounts that have been idle for lingers.
func (l *lanes) step(now time.Time) {
	l.now = now
	for len(l.resting) > 0 && now.Sub(l.resting[0].idleAt).Abs() >= lingers {
		a := l.resting[0]
		l.resting = l.resting[1:]
		a.resting = false
		switch {
		case len(a.lanes) > 0:
		case a.bytes > 0: // an outcome is still to be stored
			l.rest(a)
		default:
			delete(l.byNumber, a.number)
		}
	}
	if len(l.resting) > 0 && len(l.resting[0].lanes) > 0 {
		// Active again; rest lists it anew.
		l.resting[0].resting = false
		l.resting = l.resting[1:]
	}
}

// rate bounds how often something is done.
type rate struct {
	every time.Duration // one in this time on average; 0: no bound
	burst int           // at most this many at once after a pause
}

// bucket is a token bucket for a rate.
type bucket struct {
	used int // tokens not yet refilled
	at   time.Time
}

// permits refills the bucket and reports whether a token is left.
func (b *bucket) permits(r rate, now time.Time) bool {
	if r.every <= 0 {
		return true
	}
	if back := int(now.Sub(b.at) / r.every); back < 0 || back >= b.used {
		b.used, b.at = 0, now
	} else {
		b.used -= back
		b.at = b.at.Add(time.Duration(back) * r.every)
	}
	return b.used < r.burst
}

func (b *bucket) take(r rate) {
	if r.every > 0 {
		b.used++
	}
}

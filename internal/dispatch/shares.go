package dispatch

import (
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// The slots of a pool are shared in two steps, each with a dynamic threshold
// after Choudhury and Hahne: much while there is plenty, little when the pool is
// nearly full.
//
// An account that is alone may hold all but a quarter. As soon as others are
// there, or were within the last minute, it may hold twice what is left for
// others, and half of the pool at most. The last eighth is for accounts that
// hold next to nothing: one slot at once, and as many more as the account has
// given back, up to maxProven; of the last sixteenth one slot only. So the slots
// that one account's hanging receivers hold are bounded however many receivers
// it makes up, and it takes as many accounts as that part has slots to fill it.
//
// Within what an account may hold, a lane may hold twice what is left for its
// other lanes; the last sixteenth is for lanes that hold none.
//
// A pool of fewer than four slots has no reserve: turns are all that is shared.

// slots is what there is to share.
type slots struct {
	free, total int
	ahead       int // slots of the only lane that are about to come free
}

const (
	// lingers is how long an account counts after it had something to do.
	lingers = time.Minute
	// maxProven is how many slots beyond the first an account may hold of the
	// part that is for accounts with next to nothing.
	maxProven = 3
)

// aloneReserve is the part of a pool that an account leaves even when alone.
func aloneReserve(total int) int { return total / 4 }

// mostFired is how many requests of one account are under way at most.
func mostFired(total int) int { return total - aloneReserve(total) }

// over is how many claims the account that claimed ahead has beyond what it may
// fire. They take nothing from others.
func (l *lanes) over(total int) int {
	if l.last == nil {
		return 0
	}
	return max(0, l.last.inUse-mostFired(total))
}

// fire counts a request under way, unless its account has as many as it may
// have. land counts its end.
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

// lastReserve is the part for accounts, or for an account's lanes, that hold
// nothing at all.
func lastReserve(total int) int { return atLeastOne(total/16, total) }

func atLeastOne(part, total int) int {
	if total >= 4 {
		return max(part, 1)
	}
	return part
}

// roomOf tells how many more slots an account may hold.
func (l *lanes) roomOf(a *account, s slots) int {
	room := l.fairShare(a, s)
	switch {
	case s.free <= 0:
	case a.inUse == 0:
		room = max(room, 1)
	case s.free > lastReserve(s.total):
		room = max(room, 1+a.proven-a.inUse)
	}
	return min(room, s.free+s.ahead)
}

func (l *lanes) fairShare(a *account, s slots) int {
	if len(l.byNumber) == 1 {
		return mostFired(s.total) + s.ahead - a.inUse
	}
	// It may take another one while it holds less than twice of what would be
	// left; each one that it takes counts on both sides.
	left := s.free + s.ahead - newcomersReserve(s.total)
	share := (2*left - a.inUse + 2) / 3
	half := max(1, s.total/2) + s.ahead - a.inUse
	return min(share, half)
}

// allows reports whether a lane may have another slot of room that its account
// may have.
func (a *account) allows(n *lane, room int) bool {
	left := room - lastReserve(a.inUse+room)
	switch {
	case n.inUse == 0:
		return true
	case len(a.lanes) == 1:
		return left > 0
	default:
		return n.inUse < 2*left
	}
}

// account finds an account, or begins to count one.
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

// step takes the time, and forgets accounts that had nothing to do for long.
func (l *lanes) step(now time.Time) {
	l.now = now
	for len(l.resting) > 0 && now.Sub(l.resting[0].idleAt).Abs() >= lingers {
		a := l.resting[0]
		l.resting = l.resting[1:]
		a.resting = false
		switch {
		case len(a.lanes) > 0:
		case a.bytes > 0: // the end of an attempt is still to be stored
			l.rest(a)
		default:
			delete(l.byNumber, a.number)
		}
	}
	if len(l.resting) > 0 && len(l.resting[0].lanes) > 0 {
		// Busy again; it is noted anew when it rests.
		l.resting[0].resting = false
		l.resting = l.resting[1:]
	}
}

// rate bounds how often something is done.
type rate struct {
	every time.Duration // one at most in that time; 0: no bound
	burst int           // that many at once after a rest
}

// bucket is what is left of a rate.
type bucket struct {
	used int // not yet paid back
	at   time.Time
}

// permits reports whether another one may be done now.
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

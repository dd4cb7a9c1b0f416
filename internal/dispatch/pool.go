package dispatch

import (
	"sync/atomic"
	"time"
)

// pool is the slots of one kind of queue item. The loop owns it.
type pool struct {
	lanes    *lanes
	total    int
	inUse    int // slots held: claiming, held or fired
	fired    int // requests under way
	claiming int // claims under way
	// pace counts the requests that ended lately. As many items are claimed
	// beyond the free slots, so that a slot that comes free finds an item at
	// once.
	pace pace

	waiting, using atomic.Int64 // copies for Waiting and InUse
}

// maxAhead bounds how many items are claimed beyond the free slots.
const maxAhead = 256

// ahead estimates how many slots are about to come free.
func (p *pool) ahead() int { return min(p.pace.recent(), maxAhead, p.total) }

func (p *pool) publish() {
	p.waiting.Store(int64(p.lanes.waiting))
	p.using.Store(int64(p.inUse))
}

// pace counts events in the current and the last full interval.
type pace struct {
	start         time.Time
	current, last int
}

const paceInterval = 10 * time.Millisecond

func (p *pace) add(now time.Time, n int) {
	p.roll(now)
	p.current += n
}

func (p *pace) roll(now time.Time) {
	if passed := now.Sub(p.start); passed >= 2*paceInterval || passed < 0 {
		p.start, p.current, p.last = now, 0, 0
	} else if passed >= paceInterval {
		p.start, p.current, p.last = now, 0, p.current
	}
}

func (p *pace) recent() int { return p.current + p.last }

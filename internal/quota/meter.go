package quota

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// Rate is a number of calls a second; 0 is unlimited. A second's worth may come
// at once, and one call always may.
type Rate float64

// burst returns how many calls may come at once.
func (r Rate) burst() int64 { return max(1, int64(r)) }

// slowest is the longest time between two calls that a rate is kept exactly to.
const slowest = 24 * time.Hour

// interval returns the time that one call takes up.
func (r Rate) interval() time.Duration {
	return time.Duration(min(float64(time.Second)/float64(r), float64(slowest)))
}

// Policy returns the rate as a quota of calls in a window of whole seconds. It
// permits no more than the rate does.
func (r Rate) Policy() (calls, seconds int64) {
	if r >= 1 {
		return int64(r), 1
	}
	return 1, int64(math.Ceil(r.interval().Seconds()))
}

// Count is what a Meter says about a call.
type Count struct {
	Rate    Rate // 0: nothing is counted
	Allowed bool
	// Left is how many more calls may come at once.
	Left int64
	// Reset is how long it takes until a full second's worth may come again.
	Reset time.Duration
	// Wait is how long the caller has to wait; 0 when the call is allowed.
	Wait time.Duration
}

const (
	meterRows  = 3
	meterBits  = 16
	meterCells = 1 << meterBits
)

// Meter counts calls by key. Its memory is fixed: each key has a cell in each of
// three rows, shared with few other keys, and a call is refused only when all
// three are used up. So a key that shares all of its cells with busy ones may
// be refused early, which takes an unlikely number of busy keys; none gets more
// than its rate, and none can make the meter forget another.
//
// A cell holds the time at which its keys have their full burst again (the
// theoretical arrival time of the generic cell rate algorithm), so that rates
// may differ by key and change at any time. (Keys with different rates that share
// a cell may shorten each other's wait there.)
type Meter[K comparable] struct {
	seed  maphash.Seed
	mu    sync.Mutex
	cells [meterRows][meterCells]int64 // nanoseconds since base
	base  time.Time
}

// NewMeter makes a Meter, of 1.5 MiB.
func NewMeter[K comparable](now time.Time) *Meter[K] {
	return &Meter[K]{seed: maphash.MakeSeed(), base: now}
}

// Take counts the calls of a request: from how many it has been counted as
// before (0 for a new request) to how many it counts as. A request that is
// larger than the burst counts as the burst. A refused request counts nothing, also
// not what it counted as before.
func (m *Meter[K]) Take(key K, rate Rate, before, calls int64, now time.Time) Count {
	if rate <= 0 {
		return Count{Allowed: true}
	}
	interval, burst := int64(rate.interval()), rate.burst()
	span := interval * burst
	at := int64(now.Sub(m.base))
	m.mu.Lock()
	defer m.mu.Unlock()
	cells := m.of(key)
	full := settled(cells, at, span)
	begun := max(full-interval*min(before, burst), at)
	next := begun + interval*min(calls, burst)
	c := Count{Rate: rate, Allowed: next-at <= span, Wait: time.Duration(max(0, next-at-span))}
	if c.Allowed {
		for _, cell := range cells {
			*cell = max(*cell, next)
		}
		full = next
	} else {
		lower(cells, full, begun)
		full = begun
	}
	c.Left = (span - (full - at)) / interval
	c.Reset = time.Duration(full - at)
	return c
}

// Return takes back a call that Take has counted.
func (m *Meter[K]) Return(key K, rate Rate, now time.Time) {
	if rate <= 0 {
		return
	}
	interval := int64(rate.interval())
	at := int64(now.Sub(m.base))
	m.mu.Lock()
	defer m.mu.Unlock()
	cells := m.of(key)
	full := settled(cells, at, interval*rate.burst())
	lower(cells, full, max(full-interval, at))
}

// settled returns when a key has its full burst again, at or up to span behind a
// time.
func settled(cells [meterRows]*int64, at, span int64) int64 {
	full := int64(math.MaxInt64)
	for _, cell := range cells {
		*cell = min(*cell, at+span) // the rate may have been raised, or the clock set back
		full = min(full, *cell)
	}
	return max(full, at)
}

// lower sets the cells of a key back from one time to another. Cells that others
// have raised further stay.
func lower(cells [meterRows]*int64, from, to int64) {
	for _, cell := range cells {
		if *cell == from {
			*cell = to
		}
	}
}

// of returns the cells of a key.
func (m *Meter[K]) of(key K) (cells [meterRows]*int64) {
	hash := maphash.Comparable(m.seed, key)
	for row := range cells {
		cells[row] = &m.cells[row][hash%meterCells]
		hash >>= meterBits
	}
	return cells
}

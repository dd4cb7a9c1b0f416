package quota

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

// Rate is a number of calls per second; 0 is unlimited. Up to one second's worth
// of calls, but at least one, may come at once.
type Rate float64

// burst returns how many calls may come at once.
func (r Rate) burst() int64 { return max(1, int64(r)) }

// slowest is the longest interval between calls that is enforced exactly.
const slowest = 24 * time.Hour

// interval returns the time that one call uses up.
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

// Count is a Meter's result for a call.
type Count struct {
	Rate    Rate // 0: nothing is counted
	Allowed bool
	// Left is how many more calls are allowed at once.
	Left int64
	// Reset is the time until a full second's worth of calls is allowed again.
	Reset time.Duration
	// Wait is how long the caller must wait; 0 if the call is allowed.
	Wait time.Duration
}

const (
	meterRows  = 3
	meterBits  = 16
	meterCells = 1 << meterBits
)

// Meter counts calls by key. Its memory is fixed: each key has a cell in each of
// three rows, shared with few other keys, and a call is refused only if all three
// are used up. So a key that shares all of its cells with busy keys may be refused
// early, which is unlikely. No key gets more than its rate, and none can evict
// another.
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

// NewMeter returns a Meter, which uses 1.5 MiB.
func NewMeter[K comparable](now time.Time) *Meter[K] {
	return &Meter[K]{seed: maphash.MakeSeed(), base: now}
}

// Take counts the calls of a request: before is how many it has been counted as
// already (0 for a new request), calls how many it counts as in all. A request larger than
// the burst counts as the burst. A refused request counts as no call, and its
// earlier count is undone.
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

// Return undoes the counting of calls by Take.
func (m *Meter[K]) Return(key K, rate Rate, calls int64, now time.Time) {
	if rate <= 0 {
		return
	}
	interval, burst := int64(rate.interval()), rate.burst()
	at := int64(now.Sub(m.base))
	m.mu.Lock()
	defer m.mu.Unlock()
	cells := m.of(key)
	full := settled(cells, at, interval*burst)
	lower(cells, full, max(full-interval*min(calls, burst), at))
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

// lower sets the cells of a key back from one time to another. It keeps cells that
// other keys have raised further.
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

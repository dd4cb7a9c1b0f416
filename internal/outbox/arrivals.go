package outbox

import (
	"math"
	"time"
)

const (
	// A batch costs more than its rows do while it has few, so the relay waits for
	// gatherRows, but at most for gatherFor since it took the batch before, and only while
	// rows arrive at gatherFrom a second or faster: a single row never waits.
	gatherRows = 8
	gatherFor  = 5 * time.Millisecond
	gatherFrom = 100.0
	// rateOver is over which time the rate of arrivals is measured.
	rateOver = 200 * time.Millisecond
)

// arrivals is how fast rows arrive: the sum of those that were taken, each of which
// counts less the longer ago that was.
type arrivals struct {
	rate float64   // rows a second
	last time.Time // when a batch was taken last
}

// took notes that so many rows were taken.
func (a *arrivals) took(now time.Time, rows int) {
	a.rate = a.rate*math.Exp(-float64(now.Sub(a.last))/float64(rateOver)) + float64(rows)/rateOver.Seconds()
	a.last = now
}

// pause returns how long to wait for more rows before the next batch is taken.
func (a *arrivals) pause(now time.Time) time.Duration {
	if a.rate < gatherFrom {
		return 0
	}
	wait := min(time.Duration(gatherRows/a.rate*float64(time.Second)), gatherFor)
	return max(0, wait-now.Sub(a.last))
}

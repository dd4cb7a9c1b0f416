package postgres

import (
	"sync"
	"time"
)

// drift bounds how much faster than the server's clock the node's monotonic
// clock may run: 1 in drift, 100 parts per million, as with bad crystals.
const drift = 10_000

// clock estimates the server's time from round trips. The estimate is a lower
// bound, because the server reads its clock before its response arrives: it is
// never ahead of the server's clock, and behind it by at most the shortest of the
// last round trips.
type clock struct {
	base time.Time // only its monotonic reading is used

	mu      sync.Mutex
	samples []sample // the last maxSamples, latest last
	best    sample
	last    int64 // the last result; time must not go back
}

// sample is the result of one round trip. Times on the node are microseconds
// since base; offsets are the server's time minus the node's.
type sample struct {
	at      int64 // when the response arrived
	atLeast int64 // the offset is at least this,
	atMost  int64 // and at most this
}

// maxSamples is how many round trips are kept. If a new estimate is earlier than
// the last one by less than backwards, the clock stands still; by more, the
// server's clock was set back, and the clock follows it.
const (
	maxSamples = 40
	backwards  = 100_000
)

func newClock() *clock { return &clock{base: time.Now()} }

func (c *clock) elapsed() int64 { return time.Since(c.base).Microseconds() }

// learn adds a round trip: the node's time at its start and end (both from
// elapsed) and the server's time in between.
func (c *clock) learn(sent, received, server int64) {
	s := sample{at: received, atLeast: server - received, atMost: server - sent}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.samples) > 0 && s.atMost < c.best.offset(received) {
		c.samples = c.samples[:0] // the server's clock was set back
	}
	if len(c.samples) == maxSamples {
		c.samples = append(c.samples[:0], c.samples[1:]...)
	}
	c.samples = append(c.samples, s)
	c.best = s
	for _, other := range c.samples {
		if other.offset(received) > c.best.offset(received) {
			c.best = other
		}
	}
}

// offset returns a lower bound of the offset at a later time. The two
// microseconds compensate for truncated fractions.
func (s sample) offset(at int64) int64 { return s.atLeast - 2 - max(0, at-s.at)/drift }

// now returns the estimate of the server's time.
func (c *clock) now() time.Time { return c.at(c.elapsed()) }

func (c *clock) at(elapsed int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := elapsed + c.best.offset(elapsed)
	if behind := c.last - now; behind > 0 && behind < backwards {
		now = c.last
	}
	c.last = now
	return time.UnixMicro(now).UTC()
}

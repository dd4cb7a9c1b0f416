package postgres

import (
	"sync"
	"time"
)

// drift is how many parts of an elapsed time the node's monotonic clock may
// run ahead of the server's: 100 parts in a million, as bad crystals do.
const drift = 10_000 // one in so many

// clock tells the server's time from round trips to it. What it tells is a
// lower bound: the server read its clock before its answer was here. So it is
// never ahead of the server's clock, and behind it by no more than the quickest
// of the last round trips took.
type clock struct {
	base time.Time // the node's clock, for its monotonic reading only

	mu      sync.Mutex
	samples []sample // the last few, the latest last
	best    sample
	last    int64 // told before: time does not go back
}

// sample is what one round trip told. Times on the node count microseconds
// since base, offsets are the server's time less the node's.
type sample struct {
	at      int64 // when the answer was here
	atLeast int64 // the offset is at least this,
	atMost  int64 // and at most this
}

// maxSamples is how many round trips are remembered, backwards how far the
// time told may fall behind what was told before without following it: more
// than that is a server whose clock was set.
const (
	maxSamples = 40
	backwards  = 100_000
)

func newClock() *clock { return &clock{base: time.Now()} }

func (c *clock) elapsed() int64 { return time.Since(c.base).Microseconds() }

// learn takes in a round trip: the node's time at its begin and end (both of
// elapsed) and the time that the server told in between.
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

// offset gives what a sample says of the offset at a later time; two
// microseconds make up for fractions that were cut.
func (s sample) offset(at int64) int64 { return s.atLeast - 2 - max(0, at-s.at)/drift }

// now gives the server's time.
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

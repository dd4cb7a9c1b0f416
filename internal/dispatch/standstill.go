package dispatch

import (
	"sync"
	"time"
)

// A process can stand still: after SIGSTOP, in a machine that is suspended, or when a
// busy machine does not run it. Meanwhile other nodes change what it has claimed, and it
// does not hear of that. Before it then sends anything, the store confirms the claim.
//
// An acknowledged change holds after 100 ms. What is left of these beside standstill
// and certain is for the way of a notice between nodes.
const (
	// pulse is the longest time between two looks at the clocks while something is
	// claimed and not sent.
	pulse = 20 * time.Millisecond
	// standstill is the time between two looks from which on the process stood still.
	standstill = 50 * time.Millisecond
	// certain is how long a claim needs no confirmation after the store was asked for
	// it, whatever happened meanwhile.
	certain = 75 * time.Millisecond
)

// clocks finds out when the process stood still. Both clocks are looked at: the
// monotonic one does not go on while the machine is suspended, and the other one can be
// set back.
type clocks struct {
	start time.Time

	mu              sync.Mutex
	monotonic, wall int64 // at the last look, in nanoseconds
	standstills     int64
	stood           time.Duration // how long all of them took together
}

// proof is when the store was asked for a claim, and how often the process had stood
// still until then.
type proof struct {
	monotonic, wall int64
	standstills     int64
}

func newClocks() *clocks {
	now := time.Now()
	return &clocks{start: now, wall: now.UnixNano()}
}

// look compares the clocks with those of the last look, from any goroutine. It
// returns what a call of the store proves that begins now.
func (c *clocks) look() proof {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now()
	now := proof{monotonic: int64(at.Sub(c.start)), wall: at.UnixNano()}
	gap := time.Duration(max(now.monotonic-c.monotonic, now.wall-c.wall))
	c.monotonic, c.wall = now.monotonic, now.wall
	if gap > standstill {
		c.standstills++
		c.stood += gap
	}
	now.standstills = c.standstills
	return now
}

// stoodFor returns how long the process has stood still so far.
func (c *clocks) stoodFor() time.Duration {
	c.look()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stood
}

// prove reports whether a claim needs no confirmation: the process has not stood
// still since the store was asked, or that was a moment ago.
func (c *clocks) prove(p proof) bool {
	now := c.look()
	age := max(now.monotonic-p.monotonic, now.wall-p.wall)
	return p.standstills == now.standstills || age <= int64(certain)
}

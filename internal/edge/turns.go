package edge

import (
	"runtime"
	"sync"
)

// turns limits how many connections of strangers read requests at the same time:
// as many as there are processors. A client that sends requests without waiting for
// responses keeps the goroutine of its connection running; thousands of those
// would each use up their time slice of 10 ms before the service's own goroutines
// are scheduled. So a connection that has read something, or has been answered,
// waits for its turn. Networks take turns, and in each its connections.
//
// A turn lasts until the header is read or more of it has to arrive: nothing in
// it waits for anybody.
type turns struct {
	mu   sync.Mutex
	free int      // turns that nobody has
	ring []*crowd // that have connections in line
}

func newTurns() *turns { return &turns{free: runtime.GOMAXPROCS(0)} }

// take waits for the turn of a connection.
func (t *turns) take(c *conn) {
	t.mu.Lock()
	if t.free > 0 && len(t.ring) == 0 {
		t.free--
		t.mu.Unlock()
		return
	}
	ready := make(chan struct{})
	if len(c.crowd.line) == 0 {
		t.ring = append(t.ring, c.crowd)
	}
	c.crowd.line = append(c.crowd.line, ready)
	t.mu.Unlock()
	<-ready
}

// give ends a turn: the next in line has it.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ring) == 0 {
		t.free++
		return
	}
	next := t.ring[0]
	t.ring = t.ring[1:]
	ready := next.line[0]
	next.line = next.line[1:]
	if len(next.line) > 0 {
		t.ring = append(t.ring, next)
	} else {
		next.line = nil
	}
	close(ready)
}

// takeTurn waits until a connection may read a request. A client that is known
// does not wait: its calls are counted by account.
func (c *conn) takeTurn() {
	if !c.known.Load() && !c.inTurn.Load() {
		c.gate.turns.take(c)
		c.inTurn.Store(true)
	}
}

// endTurn ends the turn of a connection, if it has one.
func (c *conn) endTurn() {
	if c.inTurn.CompareAndSwap(true, false) {
		c.gate.turns.give()
	}
}

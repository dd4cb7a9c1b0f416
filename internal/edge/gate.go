package edge

import (
	"container/list"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/punctual-dev/punctual/internal/network"
)

const (
	// receivedBytes is how many bytes of requests are held at once. A network or
	// an account may hold networkShare of them; a trusted proxy, which carries
	// many networks, may hold more.
	receivedBytes = 64 << 20
	networkShare  = 16 << 20
	accountShare  = 16 << 20
	proxyShare    = 32 << 20
	// unreadBytes is how many bytes of responses are held for slow clients. The
	// shares are the same.
	unreadBytes = 64 << 20
	// refuseWithin is how long sending a refusal to a client may take.
	refuseWithin = 10 * time.Millisecond
)

// gate limits connections, in all and per network. If there is no room for a new
// one, it closes the connection that has waited longest for its client.
type gate struct {
	policy           *Policy
	max, most        int // connections in all, and of one network
	mostOfProxy      int
	received, unread *budget
	turns            *turns
	render           func(error) []byte // a response that refuses a connection

	refused, dropped atomic.Int64

	mu      sync.Mutex
	open    int
	crowds  map[netip.Prefix]*crowd
	waiting waiting
}

// crowd is the connections of one network.
type crowd struct {
	share   share // of the budgets
	most    int
	open    int
	waiting waiting
	line    []chan struct{} // see turns; guarded by its mutex
}

// waiting has connections that wait for their clients, in the order in which
// they began to: those of strangers before those of known clients, and of each
// the silent before those that send a body, and those before the ones that don't
// read.
type waiting [2 * busy]list.List

// of returns the list of a waiting connection.
func (w *waiting) of(c *conn) *list.List {
	if c.known.Load() {
		return &w[c.phase+busy]
	}
	return &w[c.phase]
}

// first returns the connection to close first, or nil if all are busy.
func (w *waiting) first() *conn {
	for i := range w {
		if e := w[i].Front(); e != nil {
			return e.Value.(*conn)
		}
	}
	return nil
}

func newGate(policy *Policy, most int) *gate {
	return &gate{
		policy: policy, max: most, most: max(1, most/4), mostOfProxy: max(1, most-most/4),
		received: newBudget(receivedBytes), unread: newBudget(unreadBytes), turns: newTurns(), crowds: map[netip.Prefix]*crowd{},
	}
}

// share returns how many bytes a network may hold.
func (g *gate) share(n netip.Prefix) share {
	if g.isProxy(n) {
		return share{holder{network: n}, proxyShare}
	}
	return share{holder{network: n}, networkShare}
}

// isProxy reports whether a network has larger limits: trusted proxies, which carry
// many clients, and this machine, whose users are trusted.
func (g *gate) isProxy(n netip.Prefix) bool {
	return g.policy.Proxies.Contains(n.Addr()) || network.Loopback.Contains(n.Addr())
}

// gated is a listener behind a gate.
type gated struct {
	net.Listener
	gate *gate
}

// Accept implements net.Listener. It responds with 503 to connections that are not
// admitted.
func (l *gated) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.gate.makeRoom() // the server then waits and retries
		}
		if err != nil {
			return nil, err
		}
		if c := l.gate.admit(inner); c != nil {
			return c, nil
		}
		l.gate.refused.Add(1)
		l.gate.refuse(inner, errCrowded)
		_ = inner.Close()
	}
}

// admit returns the connection to serve, or nil if there is no room.
func (g *gate) admit(inner net.Conn) *conn {
	n := network.Of(addrOf(inner.RemoteAddr().String()))
	g.mu.Lock()
	own := g.crowds[n]
	if own == nil {
		own = &crowd{share: g.share(n), most: g.most}
		if g.isProxy(n) {
			own.most = g.mostOfProxy
		}
	}
	var gone *conn
	switch {
	case own.open >= own.most:
		gone = own.waiting.first()
	case g.open >= g.max:
		gone = g.waiting.first()
	}
	if gone != nil {
		g.remove(gone)
	}
	var c *conn
	if own.open < own.most && g.open < g.max {
		c = &conn{Conn: inner, gate: g, crowd: own, phase: busy, fresh: true}
		c.header.charge = charge{budget: g.received, holders: []share{own.share}}
		g.crowds[n] = own // a crowd without connections is removed
		g.open++
		own.open++
		g.move(c, silent)
	}
	g.mu.Unlock()
	g.drop(gone)
	return c
}

// makeRoom closes a connection that waits for its client.
func (g *gate) makeRoom() {
	g.mu.Lock()
	gone := g.waiting.first()
	if gone != nil {
		g.remove(gone)
	}
	g.mu.Unlock()
	g.drop(gone)
}

// drop closes a removed connection; its server goroutine then ends.
func (g *gate) drop(c *conn) {
	if c != nil {
		g.dropped.Add(1)
		_ = c.Conn.Close()
	}
}

// refuse sends a client a response that refuses its connection.
func (g *gate) refuse(c net.Conn, reason error) {
	_ = c.SetWriteDeadline(time.Now().Add(refuseWithin))
	_, _ = c.Write(g.render(reason))
}

// awaits records that a connection waits for more of a body, if a handler is still
// reading it.
func (g *gate) awaits(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.reading.Load() {
		g.move(c, receiving)
	}
}

// knows records that a busy connection belongs to a known client.
func (g *gate) knows(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.phase == busy {
		c.known.Store(true)
	}
}

// turn notes that a connection that was busy with one thing is with another.
func (g *gate) turn(c *conn, from, to phase) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.phase == from {
		g.move(c, to)
	}
}

// set records a connection's phase.
func (g *gate) set(c *conn, to phase) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.reading.Store(false)
	g.move(c, to)
}

// move is set with mu held.
func (g *gate) move(c *conn, to phase) {
	if c.left || c.phase == to {
		return
	}
	if c.phase != busy {
		c.crowd.waiting.of(c).Remove(c.own)
		g.waiting.of(c).Remove(c.all)
		c.own, c.all = nil, nil
	}
	if c.phase = to; to != busy {
		c.own, c.all = c.crowd.waiting.of(c).PushBack(c), g.waiting.of(c).PushBack(c)
	}
}

// leave removes a connection that is being closed.
func (g *gate) leave(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(c)
}

// remove is leave with mu held.
func (g *gate) remove(c *conn) {
	if c.left {
		return
	}
	g.move(c, busy)
	c.left = true
	g.open--
	if c.crowd.open--; c.crowd.open == 0 {
		delete(g.crowds, c.crowd.share.network)
	}
}

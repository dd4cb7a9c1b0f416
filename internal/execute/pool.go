package execute

import (
	"container/list"
	"context"
	"errors"
	"net"
	"slices"
	"time"
)

var (
	errPoolClosed = errors.New("no connections are kept any more")
	// errHTTP2 means that the target has chosen HTTP/2 for a connection that was to be
	// opened: http2Pool has it.
	errHTTP2 = errors.New("the target speaks HTTP/2")
)

// recentUse is how long ago a connection was used at most that carries a request which is
// not to be lost; recentOpen is how long ago it was opened, if it has not been used since.
// Servers close connections that have been idle for longer. Tests on slow machines raise
// both.
var recentUse, recentOpen = time.Second, 2 * time.Second

// choice is which connections a request may use.
type choice uint8

const (
	anyConn    choice = iota
	recentConn        // a new one, or one that was used lately
	newConn
)

// keptConn is what belongs to a connection over which this package speaks
// HTTP/1.1. connSet's mu guards it.
type keptConn struct {
	checked time.Time // when it was checked or used last
	busy    bool      // being checked: no request may take it
	ahead   bool      // opened ahead and not used since
	probe   [1]byte   // what quiet reads
}

// pool is the connections over which this package speaks HTTP/1.1, by the route
// for which they were opened. It belongs to a connSet, whose mu guards it.
type pool struct {
	hosts map[route]*poolHost
	open  int                  // connections, those being opened included
	ahead int                  // of these, those opened ahead that no request has used
	dials map[*waiter]struct{} // for which a connection is being opened
}

type poolHost struct {
	idle    []*targetConn // the most recently used last
	open    int           // connections, those being opened included
	opening int
	waiting list.List // of *waiter
}

// waiter is a request that waits for a connection: the one that is opened for it, or
// one that becomes idle before.
type waiter struct {
	got    chan supply        // has room for one
	recent bool               // it takes recent connections only
	place  *list.Element      // while it waits
	stop   context.CancelFunc // ends the opening of its connection
}

type supply struct {
	conn *targetConn
	kept bool // it was not opened for this request
	err  error
}

// host returns the entry of a route.
func (p *pool) host(to route) *poolHost {
	h := p.hosts[to]
	if h == nil {
		h = &poolHost{}
		p.hosts[to] = h
	}
	return h
}

// tidy removes the entry of a route that has nothing left.
func (p *pool) tidy(to route, h *poolHost) {
	if h.open == 0 && h.waiting.Len() == 0 {
		delete(p.hosts, to)
	}
}

func (s *connSet) begin(to route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.begin(to)
}

// begin counts a connection that is about to be opened.
func (p *pool) begin(to route) {
	h := p.host(to)
	h.open++
	h.opening++
	p.open++
}

// lose discounts a connection that has ended or could not be opened.
func (p *pool) lose(to route) {
	h := p.hosts[to]
	h.open--
	p.open--
	p.tidy(to, h)
}

// use counts a connection as used, or lost, if it was opened ahead. Called with mu
// held.
func (s *connSet) use(c *targetConn) {
	if c.kept.ahead {
		c.kept.ahead = false
		s.addAhead(c.route, -1)
	}
}

// addAhead counts connections that are opened ahead. Called with mu held.
func (s *connSet) addAhead(to route, n int) {
	s.kept.ahead += n
	h := s.holder(to.party.Account)
	h.ahead += n
	s.release(h)
}

func (p *pool) list(c *targetConn) {
	h := p.hosts[c.route]
	h.idle = append(h.idle, c)
}

func (p *pool) unlist(c *targetConn) {
	h := p.hosts[c.route]
	if h.idle[0] == c { // what has been idle for longest is closed, thousands at once
		h.idle[0] = nil
		h.idle = h.idle[1:]
		return
	}
	at := len(h.idle) - 1
	for h.idle[at] != c { // usually the last one
		at--
	}
	h.idle = slices.Delete(h.idle, at, at+1)
}

// last returns the most recently used idle connection of a route, or nil.
func (p *pool) last(to route) *targetConn {
	h := p.hosts[to]
	if h == nil {
		return nil
	}
	for _, c := range slices.Backward(h.idle) {
		if !c.kept.busy {
			return c
		}
	}
	return nil
}

// serve gives a connection to the first request that waits for one and may use it, if
// any does. recent is whether it was used lately.
func (s *connSet) serve(c *targetConn, recent bool) bool {
	h := s.kept.hosts[c.route]
	for e := h.waiting.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); recent || !w.recent {
			s.use(c)
			s.kept.give(h, w, supply{conn: c, kept: true})
			return true
		}
	}
	return false
}

func (p *pool) give(h *poolHost, w *waiter, s supply) {
	h.waiting.Remove(w.place)
	w.place = nil
	w.got <- s
}

// take returns an idle connection, which no other request can take any more, or
// nil.
func (s *connSet) take(to route, recent bool) *targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(to, recent)
}

func (s *connSet) takeLocked(to route, recent bool) *targetConn {
	c := s.kept.last(to) // also the most recent one
	if c == nil || recent && !c.recent() {
		return nil
	}
	s.unlist(c)
	s.use(c)
	return c
}

// recent reports whether a connection was used or opened lately. Called with the
// connSet's mu held.
func (c *targetConn) recent() bool {
	limit := recentUse
	if c.kept != nil && c.kept.ahead {
		limit = recentOpen
	}
	return c.used.age() < limit
}

// stillRecent is recent for a connection that its caller has.
func (s *connSet) stillRecent(c *targetConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.recent()
}

// wait has w wait for a connection, unless there is one now. It calls open if one is
// to be opened for w. It fails when the pool is closed.
func (s *connSet) wait(to route, w *waiter, open func()) (*targetConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errPoolClosed
	}
	if c := s.takeLocked(to, w.recent); c != nil {
		return c, nil
	}
	w.place = s.kept.host(to).waiting.PushBack(w)
	if _, opening := s.kept.dials[w]; !opening {
		s.kept.dials[w] = struct{}{}
		s.kept.begin(to)
		open()
	}
	return nil, nil
}

// served ends the opening of a connection for w, which has got another one, if there
// are many: a target that does not shake hands must not collect them.
func (s *connSet) served(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, opening := s.kept.dials[w]; opening && len(s.kept.dials) > s.mostAll {
		w.stop()
	}
}

// forget ends the wait of w and the opening of its connection. It returns the
// connection that w got meanwhile, or nil.
func (s *connSet) forget(to route, w *waiter) *targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.stop()
	if w.place == nil {
		return (<-w.got).conn
	}
	h := s.kept.hosts[to]
	h.waiting.Remove(w.place)
	w.place = nil
	s.kept.tidy(to, h)
	return nil
}

// adopt takes over a connection that was opened, or with err, none. It goes to w,
// which may be nil, if that still waits; otherwise it is returned. ahead is whether it
// was opened ahead.
func (s *connSet) adopt(to route, c *targetConn, w *waiter, ahead bool, err error) (*targetConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.kept.hosts[to]
	h.opening--
	delete(s.kept.dials, w)
	if err == nil {
		if _, open := s.conns[c]; !open {
			c, err = nil, net.ErrClosed // operators have blocked its target
		}
	}
	if c != nil {
		c.kept = &keptConn{ahead: ahead}
		c.allowance.Store(idleAllowance)
	}
	if w != nil && w.place != nil {
		s.kept.give(h, w, supply{conn: c, err: err})
		c = nil
	}
	if err == errHTTP2 { // so are all the others
		for h.waiting.Len() > 0 {
			other := h.waiting.Front().Value.(*waiter)
			s.kept.give(h, other, supply{err: err})
			other.stop()
		}
	}
	if err != nil {
		s.kept.lose(to)
		if ahead {
			s.addAhead(to, -1)
		}
	}
	return c, err
}

// back lists a connection that was taken or opened and not used.
func (s *connSet) back(c *targetConn) {
	if spare := s.setIdle(c, false); spare != nil {
		_ = spare.Close()
	}
}

// connection returns a connection over which to speak HTTP/1.1; kept reports whether
// it was open before. The error is errHTTP2 if the target speaks HTTP/2.
func (c *Client) connection(ctx context.Context, to route, which choice) (conn *targetConn, kept bool, err error) {
	for which != newConn {
		if conn = c.conns.take(to, which == recentConn); conn == nil {
			conn, kept, err = c.await(ctx, to, which)
			if err != errPoolClosed {
				return conn, kept, err
			}
			break
		}
		if conn.quiet() {
			return conn, true, nil
		}
		_ = conn.Close()
	}
	c.conns.begin(to)
	conn, err = c.openKept(ctx, to, nil)
	return conn, false, err
}

// await opens a connection and returns it, or one that becomes idle before.
func (c *Client) await(ctx context.Context, to route, which choice) (conn *targetConn, kept bool, err error) {
	w := &waiter{got: make(chan supply, 1), recent: which == recentConn}
	for {
		conn, err = c.conns.wait(to, w, func() { c.openFor(ctx, to, w) })
		got := supply{conn: conn, kept: true, err: err}
		if conn == nil && err == nil {
			select {
			case got = <-w.got:
			case <-ctx.Done():
				if conn := c.conns.forget(to, w); conn != nil {
					c.conns.back(conn)
				}
				return nil, false, ctx.Err()
			}
		}
		switch {
		case got.err != nil, !got.kept:
			return got.conn, got.kept, got.err
		case got.conn.quiet():
			c.conns.served(w)
			return got.conn, true, nil
		}
		_ = got.conn.Close()
	}
}

// openFor opens a connection for a request that waits for one. When the request gets
// another one before, the opening goes on within the time of the request, unless there
// are many: others may wait, too. Called with conns.mu held.
func (c *Client) openFor(ctx context.Context, to route, w *waiter) {
	limit := time.Now().Add(dialLimit)
	if end, ok := ctx.Deadline(); ok && end.Before(limit) {
		limit = end
	}
	ctx, w.stop = context.WithDeadline(context.WithoutCancel(ctx), limit)
	c.openings.all.Go(func() {
		defer w.stop()
		if conn, _ := c.openKept(ctx, to, w); conn != nil {
			c.conns.back(conn)
		}
	})
}

// openKept opens a connection over which to speak HTTP/1.1. It is given to w if that
// still waits, and returned otherwise.
func (c *Client) openKept(ctx context.Context, to route, w *waiter) (*targetConn, error) {
	conn, err := c.open(ctx, to)
	return c.conns.adopt(to, conn, w, false, err)
}

// open opens a connection over which to speak HTTP/1.1. If the target chooses HTTP/2,
// http2 gets the connection and the error is errHTTP2.
func (c *Client) open(ctx context.Context, to route) (*targetConn, error) {
	if to.plain {
		return c.connect(ctx, to)
	}
	conn, err := c.dial(ctx, to, c.tls.NextProtos)
	if err == nil && conn.speaksHTTP2() {
		c.only2.add(to.to)
		c.http2.adopt(conn)
		return nil, errHTTP2
	}
	return conn, err
}

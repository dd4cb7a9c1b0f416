package execute

import (
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"
)

var errPoolClosed = errors.New("no connections are kept any more")

// keptConn is what belongs to a connection over which this package speaks
// HTTP/1.1. connSet's mu guards it, but for secure.
type keptConn struct {
	secure  *tls.Conn
	idle    time.Time // since when
	checked time.Time // or used
	busy    bool      // being checked: no request may take it
	ahead   bool      // opened ahead and not used since
	probe   [1]byte   // what quiet reads
}

// pool is the connections over which this package speaks HTTP/1.1, by the host
// and port for which they were opened. It belongs to a connSet, whose mu guards
// it.
type pool struct {
	hosts  map[string]*poolHost
	open   int                  // connections, those being opened included
	ahead  int                  // of these, those opened ahead that no request has used
	dials  map[*waiter]struct{} // for which a connection is being opened
	timer  *time.Timer          // of the next sweep; nil while no connection is idle
	sweeps sync.WaitGroup
	closed bool
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
	got   chan supply        // has room for one
	place *list.Element      // while it waits
	stop  context.CancelFunc // ends the opening of its connection
}

type supply struct {
	conn *targetConn
	kept bool // it was not opened for this request
	err  error
}

// host returns the entry of a host and port.
func (p *pool) host(to string) *poolHost {
	h := p.hosts[to]
	if h == nil {
		h = &poolHost{}
		p.hosts[to] = h
	}
	return h
}

// tidy removes the entry of a host that has nothing left.
func (p *pool) tidy(to string, h *poolHost) {
	if h.open == 0 && h.waiting.Len() == 0 {
		delete(p.hosts, to)
	}
}

func (s *connSet) begin(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.begin(to)
}

// begin counts a connection that is about to be opened.
func (p *pool) begin(to string) {
	h := p.host(to)
	h.open++
	h.opening++
	p.open++
}

// lose discounts a connection that has ended or could not be opened.
func (p *pool) lose(to string) {
	h := p.hosts[to]
	h.open--
	p.open--
	p.tidy(to, h)
}

// use counts a connection as used, or lost, if it was opened ahead.
func (p *pool) use(c *targetConn) {
	if c.kept.ahead {
		c.kept.ahead = false
		p.ahead--
	}
}

func (p *pool) unlist(c *targetConn) {
	h := p.hosts[c.to]
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

// last returns the most recently used idle connection to a host, or nil.
func (p *pool) last(to string) *targetConn {
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

// serve gives a connection to a request that waits for one, if any does.
func (p *pool) serve(c *targetConn) bool {
	h := p.hosts[c.to]
	first := h.waiting.Front()
	if first == nil {
		return false
	}
	p.use(c)
	p.give(h, first.Value.(*waiter), supply{conn: c, kept: true})
	return true
}

func (p *pool) give(h *poolHost, w *waiter, s supply) {
	h.waiting.Remove(w.place)
	w.place = nil
	w.got <- s
}

// list adds a connection to its host's idle ones. Called with mu held.
func (s *connSet) list(c *targetConn) {
	now := time.Now()
	c.kept.idle, c.kept.checked = now, now
	h := s.kept.hosts[c.to]
	h.idle = append(h.idle, c)
	if s.kept.timer == nil {
		s.kept.timer = time.AfterFunc(sweepEvery, s.sweep)
	}
}

// take returns an idle connection, which no other request can take any more, or
// nil.
func (s *connSet) take(to string) *targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeLocked(to)
}

func (s *connSet) takeLocked(to string) *targetConn {
	c := s.kept.last(to)
	if c != nil {
		s.unlist(c)
		s.kept.use(c)
	}
	return c
}

// wait has w wait for a connection, unless there is one now. It calls open if one is
// to be opened for w. It fails when the pool is closed.
func (s *connSet) wait(to string, w *waiter, open func()) (*targetConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.closed {
		return nil, errPoolClosed
	}
	if c := s.takeLocked(to); c != nil {
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
func (s *connSet) forget(to string, w *waiter) *targetConn {
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
func (s *connSet) adopt(to string, secure *tls.Conn, w *waiter, ahead bool, err error) (*targetConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.kept.hosts[to]
	h.opening--
	delete(s.kept.dials, w)
	var c *targetConn
	if err == nil {
		c = secure.NetConn().(*targetConn)
		if _, open := s.conns[c]; !open {
			c, err = nil, net.ErrClosed // operators have blocked its target
		}
	}
	if c != nil {
		c.kept = &keptConn{secure: secure, ahead: ahead}
		c.allowance.Store(idleAllowance)
	}
	if w != nil && w.place != nil {
		s.kept.give(h, w, supply{conn: c, err: err})
		c = nil
	}
	if err != nil {
		s.kept.lose(to)
		if ahead {
			s.kept.ahead--
		}
	}
	return c, err
}

// back lists a connection that was taken or opened and not used.
func (s *connSet) back(c *targetConn) {
	if spare := s.setIdle(c, true); spare != nil {
		spare.retire()
	}
}

// connection returns a connection to a host and port over which to speak HTTP/1.1;
// kept reports whether it was open before. If it must be fresh, it was not.
func (c *Client) connection(ctx context.Context, to string, fresh bool) (conn *targetConn, kept bool, err error) {
	for !fresh {
		if conn = c.conns.take(to); conn == nil {
			conn, kept, err = c.await(ctx, to)
			if err != errPoolClosed {
				return conn, kept, err
			}
			break
		}
		if conn.quiet() {
			return conn, true, nil
		}
		conn.retire()
	}
	c.conns.begin(to)
	conn, err = c.openKept(ctx, to, nil)
	return conn, false, err
}

// await opens a connection and returns it, or one that becomes idle before.
func (c *Client) await(ctx context.Context, to string) (conn *targetConn, kept bool, err error) {
	w := &waiter{got: make(chan supply, 1)}
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
		got.conn.retire()
	}
}

// openFor opens a connection for a request that waits for one. When the request gets
// another one before, the opening goes on within the time of the request, unless there
// are many: others may wait, too. Called with conns.mu held.
func (c *Client) openFor(ctx context.Context, to string, w *waiter) {
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
func (c *Client) openKept(ctx context.Context, to string, w *waiter) (*targetConn, error) {
	secure, err := c.dialVersion(ctx, "tcp", to, nil)
	return c.conns.adopt(to, secure, w, false, err)
}

package execute

import (
	"container/list"
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// streamsEach is how many requests that wait justify one more connection while others
// are being opened: as many streams as servers permit at least (RFC 9113, section
// 6.5.2).
const streamsEach = 100

// http2Pool is the connections over which net/http speaks HTTP/2, by route. Each
// carries as many requests as its target permits. connSet bounds and closes those that
// are idle.
type http2Pool struct {
	open     func(ctx context.Context, to route) (*targetConn, error)
	wrap     func(*targetConn) (*http.ClientConn, error)
	openings *openings

	mu     sync.Mutex
	hosts  map[route]*http2Host
	closed bool
}

// http2Host is the connections of one route.
type http2Host struct {
	conns   []*http2Conn // the last one opened last
	opening int
	queued  int                // of these, those opened ahead that wait for a slot
	waiting list.List          // of *http2Waiter
	ctx     context.Context    // ends the openings that requests wait for, when none does
	stop    context.CancelFunc // nil while there are none
}

// http2Conn is a connection over which net/http speaks HTTP/2. Its streams are reserved
// here rather than with net/http, in which the first request to begin would wait for the
// reserved streams of others if the target lowers its limit, and these for that one.
type http2Conn struct {
	*http.ClientConn
	raw    *targetConn
	opened time.Time

	mu       sync.Mutex
	reserved int // streams of requests that have not begun
}

// reserve reserves a stream, if there is a free one.
func (c *http2Conn) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.free() <= c.reserved {
		return false
	}
	c.reserved++
	return true
}

// free returns how many streams may begin. Called with mu held.
func (c *http2Conn) free() int {
	if c.Err() != nil { // one that was never used says that it is available
		return 0
	}
	return c.Available()
}

// mayBegin reports whether the target still permits a stream that was reserved.
func (c *http2Conn) mayBegin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.free() > 0
}

// begun ends the reservation of a request that has its stream, or failed without.
func (c *http2Conn) begun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reserved--
}

// http2Waiter is a request that waits for a connection with room.
type http2Waiter struct {
	woken chan error    // has room for one; nil: look again
	place *list.Element // while it waits
}

func newHTTP2Pool(o *openings, open func(context.Context, route) (*targetConn, error),
	wrap func(*targetConn) (*http.ClientConn, error)) *http2Pool {
	return &http2Pool{open: open, wrap: wrap, openings: o, hosts: map[route]*http2Host{}}
}

// host returns the entry of a route. Called with mu held.
func (p *http2Pool) host(to route) *http2Host {
	h := p.hosts[to]
	if h == nil {
		h = &http2Host{}
		p.hosts[to] = h
	}
	return h
}

// tidy removes the entry of a route that has nothing left. Called with mu held.
func (p *http2Pool) tidy(to route, h *http2Host) {
	if h.waiting.Len() == 0 && h.stop != nil {
		h.stop()
		h.ctx, h.stop = nil, nil
	}
	if len(h.conns) == 0 && h.opening == 0 && h.waiting.Len() == 0 && p.hosts[to] == h {
		delete(p.hosts, to)
	}
}

// connection returns a connection with a stream reserved for the caller, which calls
// release, or else begun and then leave. kept reports whether it was open before.
func (p *http2Pool) connection(ctx context.Context, to route, which choice) (conn *http2Conn, kept bool, err error) {
	began := time.Now()
	w := &http2Waiter{woken: make(chan error, 1)}
	for opened := 0; ; {
		if conn = p.take(to, which, began); conn != nil {
			return conn, conn.opened.Before(began), nil
		}
		if p.wait(to, w, opened <= maxTries) {
			opened++
		}
		// One may have become available before w waited.
		if conn = p.take(to, which, began); conn != nil {
			p.leave(to, w)
			return conn, conn.opened.Before(began), nil
		}
		select {
		case err = <-w.woken:
			if err != nil {
				return nil, false, err
			}
		case <-ctx.Done():
			p.leave(to, w)
			return nil, false, ctx.Err()
		}
	}
}

// take reserves a stream on an open connection, or returns nil. It queries connections
// without mu held, because they may call changed.
func (p *http2Pool) take(to route, which choice, began time.Time) *http2Conn {
	p.mu.Lock()
	var conns []*http2Conn
	if h := p.hosts[to]; h != nil {
		conns = append(conns, h.conns...)
	}
	p.mu.Unlock()
	for i := len(conns) - 1; i >= 0; i-- {
		c := conns[i]
		if which == newConn && c.opened.Before(began) || which == recentConn && !c.raw.usedLately() {
			continue
		}
		if !c.reserve() {
			continue
		}
		if c.raw.reserve() {
			return c
		}
		c.begun()
	}
	return nil
}

// release gives back a reserved stream that was not used, to a request that waits.
func (p *http2Pool) release(c *http2Conn) {
	c.begun()
	c.raw.cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if h := p.hosts[c.raw.route]; h != nil {
		h.wake(1, nil)
	}
}

// wait has w wait. If it may, it opens a connection when those that are being opened do
// not suffice, and reports so: a target may permit no streams on any connection.
func (p *http2Pool) wait(to route, w *http2Waiter, may bool) (opens bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(to)
	w.place = h.waiting.PushBack(w)
	if now := h.opening - h.queued; !may || now > 0 && h.waiting.Len() <= now*streamsEach {
		return false
	}
	if h.stop == nil {
		h.ctx, h.stop = context.WithCancel(context.Background())
	}
	parent := h.ctx
	h.opening++
	p.openings.all.Go(func() {
		ctx, cancel := context.WithTimeout(parent, dialLimit)
		defer cancel()
		conn, err := p.open(ctx, to)
		p.opened(to, conn, err, parent.Err() != nil)
	})
	return true
}

// leave ends the wait of w. Another one takes its turn if it was woken.
func (p *http2Pool) leave(to route, w *http2Waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(to)
	if w.place != nil {
		h.waiting.Remove(w.place)
		w.place = nil
	} else if err := <-w.woken; err == nil {
		h.wake(1, nil)
	}
	p.tidy(to, h)
}

// wake wakes up to n requests that wait. Called with mu held.
func (h *http2Host) wake(n int, err error) {
	for ; n > 0 && h.waiting.Len() > 0; n-- {
		w := h.waiting.Remove(h.waiting.Front()).(*http2Waiter)
		w.place = nil
		w.woken <- err
	}
}

// prewarm opens a connection ahead of requests, unless there is one that they may use.
func (p *http2Pool) prewarm(to route, recent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(to)
	defer p.tidy(to, h)
	usable := func(c *http2Conn) bool { return !recent || c.raw.unused() }
	if p.closed || h.opening > 0 || slices.ContainsFunc(h.conns, usable) {
		return
	}
	h.opening++
	h.queued++
	begun := sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		h.queued--
	})
	p.openings.all.Go(func() {
		var conn *targetConn
		err := p.openings.run(to.party.Account, func(ctx context.Context) (err error) {
			begun()
			conn, err = p.open(ctx, to)
			return err
		})
		begun() // there was no slot
		p.opened(to, conn, err, true)
	})
}

// opened takes over a connection that was opened, or with err, none. stopped is whether
// requests that wait open another one then: no request waited for this one, or it was
// opened ahead, within a time that is shorter than theirs.
func (p *http2Pool) opened(to route, raw *targetConn, err error, stopped bool) {
	var conn *http2Conn
	if err == nil {
		conn, err = p.wrapped(raw)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.host(to)
	defer p.tidy(to, h)
	h.opening--
	switch {
	case err == nil:
		p.list(h, conn)
	case h.opening > h.queued:
	case stopped:
		h.wake(h.waiting.Len(), nil) // they have come since, and open another
	default:
		h.wake(h.waiting.Len(), err)
	}
}

// adopt takes over a connection that another opened, unless there is one with room.
func (p *http2Pool) adopt(raw *targetConn) {
	if c := p.take(raw.route, anyConn, time.Time{}); c != nil {
		p.release(c)
		_ = raw.Close()
		return
	}
	conn, err := p.wrapped(raw)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list(p.host(raw.route), conn)
}

// wrapped speaks HTTP/2 over a connection, which is closed if that fails.
func (p *http2Pool) wrapped(raw *targetConn) (*http2Conn, error) {
	raw.allowance.Store(idleAllowance)
	conn, err := p.wrap(raw)
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	return &http2Conn{ClientConn: conn, raw: raw, opened: time.Now()}, nil
}

// list adds a connection, which is idle until a request uses it, and wakes requests for
// it. Called with mu held.
func (p *http2Pool) list(h *http2Host, conn *http2Conn) {
	h.conns = append(h.conns, conn)
	last := p.closed && h.waiting.Len() > 0 // an idle connection would be closed at once
	h.wake(streamsEach, nil)
	p.openings.all.Go(func() { // without mu held, because both may call changed
		if !last {
			conn.raw.settle()
		}
		conn.SetStateHook(func(*http.ClientConn) { p.changed(conn) })
		p.changed(conn)
	})
}

// changed is called when a connection can take more requests, or has ended.
func (p *http2Pool) changed(c *http2Conn) {
	// Without mu held, because both may call changed.
	ended, available := c.Err() != nil, c.Available()
	p.mu.Lock()
	defer p.mu.Unlock()
	to := c.raw.route
	h := p.hosts[to]
	if h == nil {
		return
	}
	if !ended {
		h.wake(available, nil)
		return
	}
	for i, other := range h.conns {
		if other == c {
			h.conns = slices.Delete(slices.Clone(h.conns), i, i+1)
			h.wake(1, nil) // to open another
			break
		}
	}
	p.tidy(to, h)
}

// close keeps connections from being opened ahead. connSet closes the idle ones.
func (p *http2Pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
}

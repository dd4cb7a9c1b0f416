package execute

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// warmConns keeps prewarmed connections. Requests use them first; if there is
// none, the transport opens its own.
type warmConns struct {
	open     func(ctx context.Context, addr string) (*http.ClientConn, *targetConn, error)
	most     int // connections to one host
	mostAll  int // connections to all
	openings *openings

	mu     sync.Mutex
	hosts  map[string]*warmHost
	count  int // connections, those being opened included
	closed bool
}

// warmHost is what is kept to one host and port.
type warmHost struct {
	conns  map[*http.ClientConn]*warmConn // all open ones
	idle   []*warmConn                    // can take a request; the most recently used last
	count  int                            // including those being opened
	shared bool                           // one connection carries many requests (HTTP/2)
}

type warmConn struct {
	*http.ClientConn
	raw    *targetConn
	addr   string
	listed bool        // among its host's idle ones
	expiry *time.Timer // closes it when it has been idle for long
}

func newWarmConns(most, mostAll int, o *openings, open func(context.Context, string) (*http.ClientConn, *targetConn, error)) *warmConns {
	return &warmConns{open: open, most: most, mostAll: mostAll, openings: o, hosts: map[string]*warmHost{}}
}

// Prewarm opens connections to a URL's host ahead of requests, until n are
// kept, or one if it carries many requests. It returns at once; Close ends what
// is under way. It ignores errors: the request that follows will report them. It
// does nothing for plain http, whose connections are cheap.
func (c *Client) Prewarm(rawURL string, n int) {
	if u, err := parseURL(rawURL); err == nil && u.Scheme == "https" && !job.ToListener(u) {
		c.prewarm(hostPort(u), n)
	}
}

func (c *Client) prewarm(to string, n int) {
	if c.speaksHTTP1(to) {
		c.fill(to, n, true)
	} else {
		c.warm.fill(to, n)
	}
}

// fill opens connections over which to speak HTTP/1.1, the first to a host alone: it
// shows whether the target is there and speaks that. check is whether to look first
// which connections are still alive.
func (c *Client) fill(to string, n int, check bool) {
	s := c.conns
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, s.most)
	h := s.kept.host(to)
	defer s.kept.tidy(to, h)
	switch {
	case s.kept.closed:
	case check && len(h.idle) > 0:
		c.openings.all.Go(func() {
			s.checkHost(to)
			c.fill(to, n, false)
		})
	case h.open == h.opening && n > 1:
		if h.open == 0 && s.kept.ahead < s.mostAll {
			c.openAhead(to, func() { c.fillUp(to, n) })
		}
	default:
		c.openRest(to, h, n)
	}
}

// fillUp opens the other connections after the first, if that was kept.
func (c *Client) fillUp(to string, n int) {
	s := c.conns
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.kept.hosts[to]; h != nil && h.open > h.opening && !s.kept.closed {
		c.openRest(to, h, n)
	}
}

// openRest opens connections until there are n. It ends when as many as may be idle
// have been opened ahead and not been used: more would only replace them. Called with
// conns.mu held.
func (c *Client) openRest(to string, h *poolHost, n int) {
	for h.open < n && c.conns.kept.ahead < c.conns.mostAll {
		c.openAhead(to, nil)
	}
}

// openAhead opens a connection in a goroutine and then calls opened, which may be
// nil. Called with conns.mu held.
func (c *Client) openAhead(to string, opened func()) {
	c.conns.kept.begin(to)
	c.conns.kept.ahead++
	c.openings.all.Go(func() {
		var secure *tls.Conn
		err := c.openings.run(func(ctx context.Context) (err error) {
			secure, err = c.dialVersion(ctx, "tcp", to, nil)
			return err
		})
		conn, err := c.conns.adopt(to, secure, nil, true, err)
		switch {
		case err == nil:
			c.conns.back(conn)
			if opened != nil {
				opened()
			}
		case refusesVersion(err):
			c.warm.fill(to, 1)
		}
	})
}

// fill opens the first connection to a host alone, which shows whether more are
// needed.
func (w *warmConns) fill(addr string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[addr]
	if h == nil {
		h = &warmHost{conns: map[*http.ClientConn]*warmConn{}}
	}
	n = min(n, w.most)
	switch {
	case h.shared:
		n = min(n, 1)
	case len(h.conns) == 0 && n > 1:
		if h.count == 0 {
			w.start(addr, h, func() { w.fill(addr, n) })
		}
		return
	}
	for h.count < n && w.start(addr, h, nil) {
	}
}

// start opens a connection in a goroutine and then calls opened, which may be
// nil. Called with mu held.
func (w *warmConns) start(addr string, h *warmHost, opened func()) bool {
	if w.closed || w.count >= w.mostAll {
		return false
	}
	w.hosts[addr] = h
	h.count++
	w.count++
	w.openings.all.Go(func() {
		if w.openOne(addr, h) && opened != nil {
			opened()
		}
	})
	return true
}

func (w *warmConns) openOne(addr string, h *warmHost) bool {
	var conn *http.ClientConn
	var raw *targetConn
	err := w.openings.run(func(ctx context.Context) (err error) {
		conn, raw, err = w.open(ctx, addr)
		return err
	})
	w.mu.Lock()
	if err == nil && w.closed {
		err = net.ErrClosed
		defer conn.Close()
	}
	if err != nil {
		w.lose(addr, h)
		w.mu.Unlock()
		return false
	}
	c := &warmConn{ClientConn: conn, raw: raw, addr: addr}
	c.expiry = time.AfterFunc(idleTimeout, func() { w.expire(c) })
	h.conns[conn] = c
	h.shared = conn.Available() > 1
	w.list(h, c)
	w.mu.Unlock()
	conn.SetStateHook(func(*http.ClientConn) { w.changed(c) })
	return true
}

// lose removes a connection that ended or failed to open from the counts. Called
// with mu held.
func (w *warmConns) lose(addr string, h *warmHost) {
	w.count--
	if h.count--; h.count == 0 {
		delete(w.hosts, addr)
	}
}

// list adds a connection to its host's idle ones. Called with mu held.
func (w *warmConns) list(h *warmHost, c *warmConn) {
	if !c.listed {
		c.listed = true
		h.idle = append(h.idle, c)
	}
	c.expiry.Reset(idleTimeout)
}

// take reserves a prewarmed connection for a request, or returns nil. It
// queries connections without mu held, because they may call changed.
func (w *warmConns) take(addr string) *warmConn {
	for {
		w.mu.Lock()
		h := w.hosts[addr]
		if h == nil || len(h.idle) == 0 {
			w.mu.Unlock()
			return nil
		}
		c, shared := h.idle[len(h.idle)-1], h.shared
		if !shared {
			w.unlist(h, c)
		}
		w.mu.Unlock()
		switch {
		case c.Reserve() == nil:
			return c
		case shared:
			return nil
		}
	}
}

// unlist removes a connection from its host's idle ones. Called with mu held.
func (w *warmConns) unlist(h *warmHost, c *warmConn) {
	if c.listed {
		c.listed = false
		c.expiry.Stop()
		at := len(h.idle) - 1
		for h.idle[at] != c { // usually the last one
			at--
		}
		h.idle = slices.Delete(h.idle, at, at+1)
	}
}

// changed is called when a connection can take requests again, or has ended.
func (w *warmConns) changed(c *warmConn) {
	// Without mu held, because both may call changed.
	ended, available := c.Err() != nil, c.Available()
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.hosts[c.addr]
	if h == nil || h.conns[c.ClientConn] == nil {
		return
	}
	switch {
	case ended:
		w.unlist(h, c)
		c.expiry.Stop()
		delete(h.conns, c.ClientConn)
		w.lose(c.addr, h)
	case available > 0:
		w.list(h, c)
	}
}

// expire closes a connection that has been idle for too long.
func (w *warmConns) expire(c *warmConn) {
	if c.InFlight() == 0 {
		_ = c.Close()
		return
	}
	w.mu.Lock()
	c.expiry.Reset(idleTimeout)
	w.mu.Unlock()
}

// close closes idle connections and opens no more. Those in use are closed when
// their requests end.
func (w *warmConns) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.closeIdle()
}

// closeIdle closes the connections that no request uses.
func (w *warmConns) closeIdle() {
	w.mu.Lock()
	var all []*warmConn
	for _, h := range w.hosts {
		for _, c := range h.conns {
			all = append(all, c)
		}
	}
	w.mu.Unlock()
	for _, c := range all {
		if c.InFlight() == 0 {
			_ = c.Close()
		}
	}
}

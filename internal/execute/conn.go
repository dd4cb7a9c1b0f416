package execute

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"net/netip"
	"sync"
	"sync/atomic"
)

// A target may send whatever it likes, and some protocols let it send much that
// ends up nowhere: empty DATA frames, SETTINGS, PING and CONTINUATION of
// HTTP/2, chunk extensions, TLS records. So each connection has an allowance of
// bytes that may come beside the bodies that attempts read. What is read of a
// body is given back twice over, which pays for its framing.
const (
	// handshakeAllowance is for the TLS handshake; crypto/tls bounds its parts.
	handshakeAllowance = 512 << 10
	// idleAllowance is for what comes while no attempt uses the connection:
	// settings, session tickets, answers to pings.
	idleAllowance = 16 << 10
	// attemptAllowance is what each attempt adds: a header and trailer, and what
	// the transport reads ahead.
	attemptAllowance = 1 << 20
	// maxAllowance bounds what attempts that share a connection add up to.
	maxAllowance = 8 << 20
)

var errFlood = errors.New("the target sent far more than its answer takes")

// targetConn is a connection to a target, below TLS.
type targetConn struct {
	net.Conn
	host  string // as hostName returns it
	addr  netip.Addr
	conns *connSet

	allowance atomic.Int64 // bytes that may still come
	retired   atomic.Bool  // this side has closed it, on its own account

	mu   sync.Mutex
	uses int // attempts under way on it
}

// Read implements net.Conn. Over the allowance the connection is closed.
func (c *targetConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.allowance.Add(-int64(n)) < 0 {
		_ = c.Close()
		return 0, errFlood
	}
	return n, err
}

// Close implements net.Conn.
func (c *targetConn) Close() error {
	c.conns.remove(c)
	return c.Conn.Close()
}

// retire closes a connection that may be kept for other attempts, which then
// use another one.
func (c *targetConn) retire() {
	c.retired.Store(true)
	_ = c.Close()
}

// use counts an attempt in.
func (c *targetConn) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.uses++
	c.add(attemptAllowance)
}

// leave counts an attempt out. One that was given up leaves an answer behind
// that may go on for ever: the connection is closed unless others use it.
func (c *targetConn) leave(gaveUp bool) {
	c.mu.Lock()
	c.uses--
	last := c.uses == 0
	if spare := c.allowance.Load(); last && spare > idleAllowance {
		c.allowance.Add(idleAllowance - spare)
	}
	c.mu.Unlock()
	if last && gaveUp {
		c.retire()
	}
}

// idle sets the allowance to that of a connection nobody uses yet.
func (c *targetConn) idle() { c.allowance.Store(idleAllowance) }

func (c *targetConn) add(n int64) {
	if spare := c.allowance.Load(); spare+n > maxAllowance {
		n = maxAllowance - spare
	}
	c.allowance.Add(n)
}

// connSet is the open connections to targets.
type connSet struct {
	mu    sync.Mutex
	conns map[*targetConn]struct{}
}

func (s *connSet) add(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *connSet) remove(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// closeIf closes the connections that a condition holds for.
func (s *connSet) closeIf(condition func(*targetConn) bool) {
	s.mu.Lock()
	var found []*targetConn
	for c := range s.conns {
		if condition(c) {
			found = append(found, c)
		}
	}
	s.mu.Unlock()
	for _, c := range found {
		_ = c.Close()
	}
}

// hop is the use of a connection by one request. It is for one goroutine.
type hop struct{ conn *targetConn }

// chosen hears from the transport which connection a request goes over. It may
// choose again, when the first one turns out to be dead.
func (h *hop) chosen(info httptrace.GotConnInfo) {
	if secure, ok := info.Conn.(*tls.Conn); ok {
		conn, _ := secure.NetConn().(*targetConn)
		h.take(conn)
	}
}

func (h *hop) take(conn *targetConn) {
	h.leave(false)
	if conn != nil {
		conn.use()
		h.conn = conn
	}
}

func (h *hop) leave(gaveUp bool) {
	if h.conn != nil {
		h.conn.leave(gaveUp)
		h.conn = nil
	}
}

// lost reports whether this side has closed the connection under the request.
func (h *hop) lost() bool { return h.conn != nil && h.conn.retired.Load() }

// body is an answer's body, the reading of which extends the allowance of its
// connection. Closing it ends the hop.
type body struct {
	io.ReadCloser
	hop   *hop
	whole bool // the end has been read
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.hop.conn != nil {
		b.hop.conn.add(2 * int64(n))
	}
	b.whole = b.whole || err == io.EOF
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.hop.leave(!b.whole)
	return err
}

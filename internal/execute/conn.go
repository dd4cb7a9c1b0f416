package execute

import (
	"container/list"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// A target can send data that never reaches an attempt: empty DATA frames,
// SETTINGS, PING and CONTINUATION of HTTP/2, chunk extensions, TLS records. So
// each connection has an allowance of bytes besides the bodies that attempts
// read. Reading a byte of a body returns two to the allowance, which covers its
// framing.
const (
	// handshakeAllowance is for the TLS handshake; crypto/tls limits its parts.
	handshakeAllowance = 512 << 10
	// idleAllowance is for what arrives while no attempt uses the connection:
	// settings, session tickets, acknowledged pings.
	idleAllowance = 16 << 10
	// attemptAllowance is what each attempt adds: a header and trailer, and what
	// the transport reads ahead.
	attemptAllowance = 1 << 20
	// framingAllowance is what is left of that once the header of a response over
	// HTTP/1.1 is there: nothing is read ahead then. framingRate comes back each
	// second, and pieceFraming with each piece of the body that is read, which is
	// as much as one TLS record has, up to 4 KiB. So small pieces that are sent as
	// they come up pay for their framing; chunks of a byte by the thousand in each
	// record, which cost far more CPU than bandwidth, don't.
	framingAllowance = 128 << 10
	framingRate      = 64 << 10
	pieceFraming     = 16
	// maxAllowance bounds the sum for attempts that share a connection.
	maxAllowance = 8 << 20
)

var errFlood = errors.New("the target sent far more data than its response needs")

// targetConn is a connection to a target, below TLS.
type targetConn struct {
	net.Conn
	route             route
	server            string // the host that was dialled
	host              string // the same, as hostName returns it
	at                string // address and port
	addr              netip.Addr
	conns             *connSet
	lookup, handshake time.Duration // how long DNS and TLS took when it was opened
	stream            net.Conn      // what carries HTTP: the connection itself, or TLS over it
	place             *list.Element // in the list of idle connections, or nil. Guarded by conns.mu
	used              moment        // when it was opened, or last carried a request. Guarded by conns.mu
	ending            bool          // this side closes it. Guarded by conns.mu
	kept              *keptConn     // set if this package speaks HTTP/1.1 over it, rather than net/http HTTP/2

	allowance atomic.Int64 // bytes that may still arrive
	sent      atomic.Int64 // bytes written
	noWait    bool         // Read returns errNothing rather than wait, Write fails. For its only user

	mu      sync.Mutex
	uses    int  // attempts under way on it
	carried bool // it has carried a request
}

// Read implements net.Conn. It closes the connection when the allowance is used
// up.
func (c *targetConn) Read(b []byte) (n int, err error) {
	if c.noWait {
		n, err = readNow(c.Conn, b)
	} else {
		n, err = c.Conn.Read(b)
	}
	if n > 0 && c.allowance.Add(-int64(n)) < 0 {
		_ = c.Close()
		return 0, errFlood
	}
	return n, err
}

// Write implements net.Conn. It could wait, so a check during which TLS has something
// to send, such as an alert, ends the connection.
func (c *targetConn) Write(b []byte) (int, error) {
	if c.noWait {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (c *targetConn) Close() error {
	c.conns.remove(c)
	return c.Conn.Close()
}

// reserve adds an attempt to the connection, which may begin later or never. It reports
// whether that is open, unless this side is closing it.
func (c *targetConn) reserve() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil && !c.conns.busy(c) { // the pool has marked the others
		return false
	}
	c.uses++
	return true
}

// begin notes that a request is about to be written for which reserve was called.
func (c *targetConn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.carried = true
	if c.kept == nil { // of the others, nobody asks before they are idle
		c.conns.touch(c)
	}
	c.add(attemptAllowance)
}

// cancel removes an attempt that has not begun.
func (c *targetConn) cancel() { c.end(false, false) }

// leave removes an attempt from the connection. After an abandoned attempt the
// target may go on sending its response, so the connection is closed unless
// others use it.
func (c *targetConn) leave(gaveUp bool) { c.end(true, gaveUp) }

func (c *targetConn) end(begun, gaveUp bool) {
	c.mu.Lock()
	c.uses--
	last := c.uses == 0
	var spare *targetConn
	switch {
	case last && gaveUp:
		c.conns.end(c)
		spare = c
	case last:
		c.cut(idleAllowance)
		spare = c.conns.setIdle(c, begun)
	case begun:
		c.conns.touch(c)
	}
	c.mu.Unlock()
	if spare != nil {
		_ = spare.Close()
	}
}

// settle lists a connection as idle that no attempt has used yet.
func (c *targetConn) settle() {
	c.mu.Lock()
	var spare *targetConn
	if c.uses == 0 {
		spare = c.conns.setIdle(c, false)
	}
	c.mu.Unlock()
	if spare != nil {
		_ = spare.Close()
	}
}

// usedLately reports whether a connection that many attempts share was used or opened
// lately.
func (c *targetConn) usedLately() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	age := c.conns.age(c)
	return age < recentUse || !c.carried && age < recentOpen
}

// unused reports whether a connection that many attempts share was opened lately and
// not used since.
func (c *targetConn) unused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.carried && c.conns.age(c) < recentOpen
}

// speaksHTTP2 reports whether the target has chosen HTTP/2.
func (c *targetConn) speaksHTTP2() bool {
	secure, ok := c.stream.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

func (c *targetConn) add(n int64) {
	if spare := c.allowance.Load(); spare+n > maxAllowance {
		n = maxAllowance - spare
	}
	c.allowance.Add(n)
}

// cut reduces the allowance to n.
func (c *targetConn) cut(n int64) {
	if spare := c.allowance.Load(); spare > n {
		c.allowance.Add(n - spare)
	}
}

// hop is the use of a connection by one request. It is for one goroutine.
type hop struct{ conn *targetConn }

// take begins the hop on a connection. One over which this package speaks HTTP/1.1 needs
// no reservation: nobody else has it.
func (h *hop) take(conn *targetConn) {
	h.leave(false)
	if conn.kept != nil && !conn.reserve() {
		return
	}
	conn.begin()
	h.conn = conn
}

func (h *hop) leave(gaveUp bool) {
	if h.conn != nil {
		h.conn.leave(gaveUp)
		h.conn = nil
	}
}

// responseBody extends its connection's allowance as it is read. Close ends the
// hop.
type responseBody struct {
	io.ReadCloser
	hop      *hop
	exchange *exchange // nil for a response over HTTP/2
	whole    bool      // the end has been read
	refilled time.Time // when framingRate was last added; zero: no framing comes back
}

// newResponseBody takes over the body of a response whose header has arrived.
func newResponseBody(resp *http.Response, h *hop, x *exchange) *responseBody {
	b := &responseBody{ReadCloser: resp.Body, hop: h, exchange: x}
	// The connection tells the version: the target can write any into a response.
	overHTTP2 := resp.TLS != nil && resp.TLS.NegotiatedProtocol == "h2"
	if h.conn != nil && !overHTTP2 {
		h.conn.cut(framingAllowance)
		b.refilled = time.Now()
	}
	return b
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.hop.conn != nil {
		b.hop.conn.add(2*int64(n) + b.refill())
	}
	b.whole = b.whole || err == io.EOF
	return n, err
}

// refill returns how many bytes of framing come back with a piece of the body.
func (b *responseBody) refill() int64 {
	if b.refilled.IsZero() {
		return 0
	}
	now := time.Now()
	passed := now.Sub(b.refilled)
	if passed < 10*time.Millisecond {
		return pieceFraming
	}
	b.refilled = now
	return pieceFraming + int64(min(passed, time.Second))*framingRate/int64(time.Second)
}

func (b *responseBody) Close() error {
	if x := b.exchange; x != nil {
		b.exchange, b.ReadCloser = nil, http.NoBody // Close of the body would read all of it
		b.hop.leave(!x.end(b.whole))
		return nil
	}
	err := b.ReadCloser.Close()
	b.hop.leave(!b.whole)
	return err
}

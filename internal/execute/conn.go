package execute

import (
	"container/list"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
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
	to     string // the host and port that were dialled
	server string // the host
	host   string // the same, as hostName returns it
	at     string // address and port
	addr   netip.Addr
	conns  *connSet
	place  *list.Element // in the list of idle connections, or nil. Guarded by conns.mu
	kept   *keptConn     // set if this package speaks HTTP/1.1 over it, rather than the transport

	allowance atomic.Int64 // bytes that may still arrive
	sent      atomic.Int64 // bytes written
	retired   atomic.Bool  // this side closed it; its attempts may use another
	noWait    bool         // Read returns errNothing rather than wait, Write fails. For its only user

	mu   sync.Mutex
	uses int // attempts under way on it
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

// retire closes a connection that other attempts may use; they then use another
// one.
func (c *targetConn) retire() {
	c.retired.Store(true)
	_ = c.Close()
}

// use adds an attempt to the connection.
func (c *targetConn) use() {
	c.mu.Lock()
	if c.uses++; c.uses == 1 && c.kept == nil { // the pool has marked it
		c.conns.setIdle(c, false)
	}
	c.add(attemptAllowance)
	c.mu.Unlock()
}

// leave removes an attempt from the connection. After an abandoned attempt the
// target may go on sending its response, so the connection is closed unless
// others use it.
func (c *targetConn) leave(gaveUp bool) {
	c.mu.Lock()
	c.uses--
	last := c.uses == 0
	var spare *targetConn
	switch {
	case last && gaveUp:
		spare = c
	case last:
		c.cut(idleAllowance)
		spare = c.conns.setIdle(c, true)
	}
	c.mu.Unlock()
	if spare != nil {
		spare.retire()
	}
}

// ready marks the end of the handshake.
func (c *targetConn) ready() {
	c.allowance.Store(idleAllowance)
	if spare := c.conns.setIdle(c, true); spare != nil {
		spare.retire()
	}
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

// connSet is the open connections to targets. It bounds how many of them are
// idle. The transport does so for HTTP/1.1 only, and a target can make it open
// HTTP/2 connections that no request ever uses again.
type connSet struct {
	most, mostAll int // idle connections to one host and port, and to all

	mu    sync.Mutex
	conns map[*targetConn]struct{}
	idle  list.List      // of *targetConn, the longest idle first
	count map[string]int // of idle ones, by address and port
	kept  pool
}

func newConnSet(most, mostAll int) *connSet {
	return &connSet{
		most: most, mostAll: mostAll, conns: map[*targetConn]struct{}{}, count: map[string]int{},
		kept: pool{hosts: map[string]*poolHost{}, dials: map[*waiter]struct{}{}},
	}
}

// setIdle records whether a connection is idle, and returns one that exceeds
// the bounds and is to be closed; nil when none does.
func (s *connSet) setIdle(c *targetConn, idle bool) *targetConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.conns[c]; !open || idle == (c.place != nil) {
		return nil
	}
	switch {
	case !idle:
		s.unlist(c)
		return nil
	case c.kept != nil && s.kept.closed:
		return c
	case c.kept != nil && s.kept.serve(c):
		return nil
	}
	if c.kept != nil {
		s.list(c)
	}
	c.place = s.idle.PushBack(c)
	var spare *targetConn
	if s.count[c.at]++; s.count[c.at] > s.most {
		spare = c
	} else if s.idle.Len() > s.mostAll {
		spare = s.idle.Front().Value.(*targetConn)
	}
	if spare != nil {
		s.unlist(spare) // no request takes it any more
	}
	return spare
}

// unlist removes a connection from the idle ones. Called with mu held.
func (s *connSet) unlist(c *targetConn) {
	if c.place == nil {
		return
	}
	s.idle.Remove(c.place)
	c.place = nil
	if c.kept != nil {
		s.kept.unlist(c)
	}
	if s.count[c.at]--; s.count[c.at] == 0 {
		delete(s.count, c.at)
	}
}

func (s *connSet) add(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
}

func (s *connSet) remove(c *targetConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlist(c)
	if _, open := s.conns[c]; open && c.kept != nil {
		s.kept.use(c)
		s.kept.lose(c.to)
	}
	delete(s.conns, c)
}

// closeIf closes the connections that satisfy a condition.
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

// chosen is called when the transport has chosen a connection for the request.
// It may choose again, when the first one turns out to be dead.
func (h *hop) chosen(info httptrace.GotConnInfo) {
	conn := info.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if raw, ok := conn.(*targetConn); ok {
		h.take(raw)
	}
}

func (h *hop) take(conn *targetConn) {
	h.leave(false)
	if conn != nil {
		conn.use()
		h.conn = conn
	}
}

// refuse keeps the transport from sending the request over the connection that
// it has chosen. A connection that is shared stays open: the request's context
// has ended.
func (h *hop) refuse(info httptrace.GotConnInfo) {
	if secure, ok := info.Conn.(*tls.Conn); ok && secure.ConnectionState().NegotiatedProtocol != "h2" {
		_ = info.Conn.Close()
	}
}

func (h *hop) leave(gaveUp bool) {
	if h.conn != nil {
		h.conn.leave(gaveUp)
		h.conn = nil
	}
}

// lost reports whether this side closed the connection during the request.
func (h *hop) lost() bool { return h.conn != nil && h.conn.retired.Load() }

// responseBody extends its connection's allowance as it is read. Close ends the
// hop.
type responseBody struct {
	io.ReadCloser
	hop      *hop
	exchange *exchange // nil for a response that the transport reads
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

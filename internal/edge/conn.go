package edge

import (
	"bytes"
	"container/list"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// headerTimeout is how long a header may take from its first byte. idleTimeout
	// is how long a connection may wait for a header: clients keep idle
	// connections, often for 90 seconds, and lose a call that they send just as
	// the server closes the connection.
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// answerTimeout is how long a call may take from its header to the last byte of
	// its response, unless its handler says otherwise.
	answerTimeout = 60 * time.Second
	// maxHeaderBytes and maxHeaderLines bound a header. Each line costs several
	// times its length in memory: lineCost is what it counts for.
	maxHeaderBytes = 64 << 10
	maxHeaderLines = 1000
	lineCost       = 128
	// A client must read writePiece bytes of a response within writeStall. Bytes
	// unread after writeSoon count in the budget of unread responses.
	writePiece = 64 << 10
	writeStall = 10 * time.Second
	writeSoon  = time.Second
	// smallWrite bytes or fewer are not counted.
	smallWrite = 4 << 10
)

// phase is what a connection is doing.
type phase int

const (
	silent    phase = iota // waits for a complete header
	receiving              // waits for more of a body
	sending                // its client does not take the response
	busy                   // the service works for it
)

// conn is a client's connection. It counts the bytes that arrive before a handler
// runs, and limits the memory that clients hold by not reading.
type conn struct {
	net.Conn
	gate *gate

	// Used by the gate, guarded by its mutex.
	crowd    *crowd
	phase    phase
	own, all *list.Element // where it waits; nil while it is busy
	known    atomic.Bool   // it has carried a call with credentials; set with the mutex held
	left     bool
	reading  atomic.Bool // a handler reads the body; cleared with the mutex held

	inTurn  atomic.Bool // see turns
	handled atomic.Bool // a handler was called for the request
	body    *body       // of the request; used by its handler only

	mu      sync.Mutex
	fresh   bool // no byte has arrived yet
	header  header
	writeBy time.Time // the deadline that the server or a handler has set
}

// errRefused ends a connection whose client was refused. net/http sends no response
// for an error of this type.
var errRefused = &net.OpError{Op: "read", Err: errors.New("the client was refused")}

// header counts a header as it arrives.
type header struct {
	done         bool
	bytes, lines int
	line         int // bytes of the line so far
	counted      int64
	charge       charge
}

// cost returns the bytes that the header is charged.
func (h *header) cost() int64 { return int64(h.bytes) + int64(h.lines)*lineCost }

// read counts the bytes and lines up to the empty line that ends the header.
func (h *header) read(p []byte) {
	for len(p) > 0 && !h.done {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			h.bytes += len(p)
			h.line += len(p)
			return
		}
		line := h.line + len(bytes.TrimSuffix(p[:end], []byte{'\r'}))
		h.bytes += end + 1
		h.line, p = 0, p[end+1:]
		if h.done = line == 0 && h.lines > 0; !h.done {
			h.lines++
		}
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	if c.reading.Load() {
		c.gate.awaits(c)
	}
	c.endTurn()
	n, err := c.Conn.Read(p)
	if n == 0 {
		return n, err
	}
	inHeader, refused := c.arrived(p[:n])
	if refused != nil {
		return 0, refused
	}
	if inHeader {
		c.takeTurn()
	}
	return n, err
}

// arrived counts what has arrived and reports whether it is of a header. The
// error, when there is one, ends the connection.
func (c *conn) arrived(p []byte) (inHeader bool, refused error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh {
		c.fresh = false
		_ = c.Conn.SetReadDeadline(time.Now().Add(headerTimeout)) // fails only when it is closed
	}
	if c.header.done {
		return false, nil
	}
	c.header.read(p)
	if c.header.lines > maxHeaderLines {
		c.gate.refuse(c.Conn, errHeader)
		return true, errRefused
	}
	if over := c.header.cost() - max(c.header.counted, freeBytes); over > 0 {
		if full := c.header.charge.add(over); full != nil {
			c.gate.refuse(c.Conn, full)
			return true, errRefused
		}
		c.header.counted = c.header.cost()
	}
	return true, nil
}

// SetReadDeadline implements net.Conn. It allows a new connection on which nothing
// has arrived the idle timeout, where net/http would set the header timeout.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh && !t.IsZero() {
		t = t.Add(idleTimeout - headerTimeout)
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBy = t
	return c.Conn.SetWriteDeadline(t)
}

// Write implements net.Conn. It sets the deadline of each write. The error of a
// client that does not read is os.ErrDeadlineExceeded.
func (c *conn) Write(p []byte) (n int, err error) {
	c.endTurn() // the server itself answers what is no request
	if !c.handled.Load() {
		if reason := misread(p); reason != nil {
			if _, err := c.writePiece(c.gate.render(reason), 0, nil); err != nil {
				return 0, err
			}
			return len(p), nil
		}
	}
	if len(p) <= smallWrite {
		return c.writePiece(p, 0, nil)
	}
	unread := charge{budget: c.gate.unread, holders: []share{c.crowd.share}}
	defer unread.release()
	for n < len(p) && err == nil {
		var m int
		m, err = c.writePiece(p[n:min(len(p), n+writePiece)], len(p)-n, &unread)
		n += m
	}
	return n, err
}

// writePiece writes a part of a response of which left bytes are not written yet.
// A client that does not take it soon holds them in the budget, unless unread is
// nil, and may have to make room for others.
func (c *conn) writePiece(p []byte, left int, unread *charge) (int, error) {
	c.writeWithin(writeSoon)
	n, err := c.Conn.Write(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) || !c.writeWithin(writeStall-writeSoon) {
		return n, err
	}
	if unread != nil && unread.bytes == 0 && unread.add(int64(left-n)) != nil {
		return n, err // too many clients don't read: this one is let go
	}
	c.gate.turn(c, busy, sending)
	m, err := c.Conn.Write(p[n:])
	c.gate.turn(c, sending, busy)
	return n + m, err
}

// writeWithin sets how long the next write may take, at most until the deadline of
// the server or the handler. It reports whether any time is left.
func (c *conn) writeWithin(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	until := now.Add(d)
	if !c.writeBy.IsZero() && c.writeBy.Before(until) {
		until = c.writeBy
	}
	_ = c.Conn.SetWriteDeadline(until) // fails only when it is closed
	return until.After(now)
}

// CloseWrite lets a client that still sends read the response before its
// connection is closed.
func (c *conn) CloseWrite() error {
	if inner, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return inner.CloseWrite()
	}
	return nil
}

// begun records that a header is complete and a handler runs.
func (c *conn) begun() {
	c.endTurn()
	c.mu.Lock()
	c.header.done = true
	c.mu.Unlock()
	c.gate.set(c, busy)
}

// ended records that a response is complete and a header comes next.
func (c *conn) ended() {
	c.gate.set(c, silent)
	c.handled.Store(false)
	c.mu.Lock()
	c.resetHeader()
	c.mu.Unlock()
	c.takeTurn()
}

// resetHeader releases the header's charge. Called with mu held.
func (c *conn) resetHeader() {
	c.header.charge.release()
	c.header = header{charge: charge{budget: c.gate.received, holders: c.header.charge.holders}}
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.gate.leave(c)
	c.endTurn()
	err := c.Conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resetHeader()
	return err
}

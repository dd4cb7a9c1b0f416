package edge

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// bodyGrace is how long a body of any size may take; bodyRate is how many
	// bytes per second must arrive on average after that.
	bodyGrace = 10 * time.Second
	bodyRate  = 8 << 10
	// discardWithin is how long the server waits for the unread rest of a body, so
	// that the connection can be used again.
	discardWithin = 2 * time.Second
	// freeBytes of each body are not counted; the limit of connections bounds
	// them. So small calls succeed even while large ones are refused.
	freeBytes = 8 << 10
	// bodyStep is how much is read before it is counted.
	bodyStep = 32 << 10
)

// body is a request's body. It must arrive fast enough, and it counts in the
// budget of bytes in flight until the request ends. Its errors are faults.
type body struct {
	io.ReadCloser
	w      http.ResponseWriter
	conn   *conn
	charge charge
	start  time.Time
	until  time.Time // the deadline that is set
	bytes  int64
	whole  bool  // everything has arrived
	err    error // what every further Read returns
}

// receive enforces the limits on bodies.
func receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connOf(r.Context())
		if c == nil || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &body{ReadCloser: r.Body, w: w, conn: c, charge: charge{budget: c.gate.received}, start: time.Now()}
		_ = b.charge.attach(c.gate.share(Network(r))) // can't fail: the charge is still empty
		b.expect(b.start.Add(bodyGrace))
		defer b.end()
		c.body = b
		// Copy the request: the server checks the body of its own request to decide
		// whether a client that still sends may read the response before the
		// connection closes.
		counted := *r
		counted.Body = b
		next.ServeHTTP(w, &counted)
	})
}

// Authenticated records a request's account. From now on its body counts for the
// account too and, unless the credentials are public, its connection is among the
// last to be closed for another one. In a Multiplexed, its connection may then send
// more. It returns a TooMany fault if the account's share of the bytes in flight is
// used up. Call it before reading the body.
func Authenticated(r *http.Request, account int64, public bool) error {
	if c := connOf(r.Context()); c != nil && !public {
		c.gate.knows(c)
	}
	accepted(r)
	switch b := r.Body.(type) {
	case *body:
		return b.charge.attach(share{holder{account: account}, accountShare})
	case *stream:
		return b.charge.attach(share{holder{account: account}, accountShare})
	}
	return nil
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.conn.reading.Store(true)
	n, err := b.ReadCloser.Read(p[:min(len(p), bodyStep)])
	over := b.bytes + int64(n) - max(b.bytes, freeBytes)
	b.bytes += int64(n)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return n, b.fail(fault.New(fault.TooSlow, "the body arrived too slowly; send it again over a faster connection"))
	case over > 0:
		if full := b.charge.add(over); full != nil {
			return n, b.fail(full)
		}
	}
	if err != nil {
		b.err = err
		if b.whole = err == io.EOF; b.whole {
			b.expect(time.Time{}) // the body is complete
			b.conn.gate.set(b.conn, busy)
		}
		return n, err
	}
	// Don't update the deadline for every few bytes.
	if until := b.start.Add(bodyGrace + time.Duration(b.bytes)*time.Second/bodyRate); until.Sub(b.until) > time.Second {
		b.expect(until)
	}
	return n, nil
}

func (b *body) expect(until time.Time) {
	b.until = until
	_ = b.conn.SetReadDeadline(until) // fails only when the connection is closed
}

// fail ends the body early and closes the connection after the response, since the
// rest of the body can't be told from the next request.
func (b *body) fail(err error) error {
	b.err = err
	b.w.Header().Set("Connection", "close")
	return err
}

// end is called after or just before the response is complete. The server then
// reads the rest of a small body.
func (b *body) end() {
	b.conn.body = nil
	b.charge.release()
	b.conn.gate.set(b.conn, busy)
	if soon := time.Now().Add(discardWithin); !b.whole && soon.Before(b.until) {
		b.expect(soon)
	}
}

package edge

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
)

const (
	// bodyGrace is how long a body may take whatever its size, and bodyRate how
	// many bytes of it must arrive each second after that, on average.
	bodyGrace = 10 * time.Second
	bodyRate  = 8 << 10
	// discardWithin is how long the rest of a body that nobody has read is waited
	// for, so that the connection can be used again.
	discardWithin = 2 * time.Second
	// freeBytes of each body are not counted: the number of connections bounds
	// them. So small calls get through while large ones are refused.
	freeBytes = 8 << 10
	// bodyStep is how much is read before it is counted.
	bodyStep = 32 << 10
)

// body is a request's body as it arrives: fast enough, and counted in the budget
// of bytes in flight until the request ends. Its errors are faults that can be
// shown.
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

// receive lets bodies arrive within bounds.
func receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := connOf(r.Context())
		if c == nil || r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		b := &body{ReadCloser: r.Body, w: w, conn: c, charge: charge{budget: c.gate.received}, start: time.Now()}
		_ = b.charge.attach(c.gate.share(network.Of(ClientAddr(r)))) // nothing is held yet
		b.expect(b.start.Add(bodyGrace))
		defer b.end()
		// A copy: by the body of its own request the server knows whether to let a
		// client that still sends read the answer before it closes the connection.
		counted := *r
		counted.Body = b
		next.ServeHTTP(w, &counted)
	})
}

// Authenticated notes whose call it is: the request's body counts for the account
// too, from now on, and unless everybody knows the credentials (public) the
// connection is the last to be closed when others need the room. It returns a
// TooMany fault when the account's share of the bytes in flight is used up. Call
// it before reading the body.
func Authenticated(r *http.Request, account int64, public bool) error {
	if c := connOf(r.Context()); c != nil && !public {
		c.gate.knows(c)
	}
	b, ok := r.Body.(*body)
	if !ok {
		return nil
	}
	return b.charge.attach(share{holder{account: account}, accountShare})
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
		return n, b.fail(fault.New(fault.TooSlow, "the body arrived too slowly; send it again, over a connection that is faster"))
	case over > 0:
		if full := b.charge.add(over); full != nil {
			return n, b.fail(full)
		}
	}
	if err != nil {
		b.err = err
		if b.whole = err == io.EOF; b.whole {
			b.expect(time.Time{}) // what comes next is not part of the body
			b.conn.gate.set(b.conn, busy)
		}
		return n, err
	}
	// A deadline is not moved for each few bytes.
	if until := b.start.Add(bodyGrace + time.Duration(b.bytes)*time.Second/bodyRate); until.Sub(b.until) > time.Second {
		b.expect(until)
	}
	return n, nil
}

func (b *body) expect(until time.Time) {
	b.until = until
	_ = b.conn.SetReadDeadline(until) // fails only when the connection is closed
}

// fail ends the body early. The rest of it can't be told from the next request.
func (b *body) fail(err error) error {
	b.err = err
	b.w.Header().Set("Connection", "close")
	return err
}

// end is called when the request was answered, or is about to be: the server
// reads what is left of a small body.
func (b *body) end() {
	b.charge.release()
	b.conn.gate.set(b.conn, busy)
	if soon := time.Now().Add(discardWithin); !b.whole && soon.Before(b.until) {
		b.expect(soon)
	}
}

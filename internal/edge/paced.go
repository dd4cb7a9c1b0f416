package edge

import (
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/quota"
)

const (
	// idleBytes is how many bytes a second a network may send that belong to no call
	// of an account: frames of HTTP/2 that carry nothing, streams beyond the limit,
	// calls without a valid key or over the rate. An empty frame has 9 bytes and
	// costs up to 10 µs, so this is 4 % of a processor at most. Of a trusted proxy,
	// which forwards whole requests of many networks, each request counts as a call
	// of an account, and proxyIdleBytes bound the rest.
	idleBytes      = quota.Rate(32 << 10)
	proxyIdleBytes = quota.Rate(1 << 20)
	// callBytes is what a call pays for its headers and frames; for the frames of a
	// body, it also pays a byte for each bodyShare that it reads. A connection may
	// save savedBytes of that.
	callBytes  = 1 << 10
	bodyShare  = 128
	savedBytes = 256 << 10
	// refusedBytes is what a call that is refused counts beside its own bytes: with
	// compressed headers it has few, and costs about 200 µs.
	refusedBytes = 128
	// pacedPiece is how many bytes a network pays for at once. A connection that waits
	// for them asks again up to longestTurn after there are some.
	pacedPiece  = 512
	longestTurn = time.Second
	// maxFrame is how long a frame may be: all of it is read before a call can pay.
	maxFrame = 16 << 10
)

// paced is a connection of a Multiplexed. HTTP/2 lets a client keep the server busy with
// frames that never become a request, so limits of calls don't bound it. What is read
// is paid for by the calls of accounts on the connection: each pays for callBytes and
// what it reads of its body. The rest waits until the network has bytes left for
// it; meanwhile nothing is read, and the client can send no more.
type paced struct {
	net.Conn
	network netip.Prefix
	proxy   bool // trusted
	idle    *quota.Meter[netip.Prefix]
	waiting *tally // connections that wait for bytes of idle
	leave   func()

	paid   atomic.Int64  // bytes that may be read without waiting
	taken  atomic.Int64  // bytes that the network has paid for
	change chan struct{} // wakes a Read that waits; has room for one

	mu     sync.Mutex
	closed bool
	until  time.Time // the deadline of reads
}

// Read implements net.Conn.
func (c *paced) Read(p []byte) (int, error) {
	if err := c.afford(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), max(1, c.paid.Load()))])
	c.paid.Add(-int64(n))
	return n, err
}

// afford waits until a call or the network has paid for something to read.
func (c *paced) afford() error {
	if c.paid.Load() > 0 {
		return nil
	}
	c.waiting.add(c.network, 1)
	defer c.waiting.add(c.network, -1)
	for c.paid.Load() <= 0 {
		now := time.Now()
		c.mu.Lock()
		closed, until := c.closed, c.until
		c.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case !until.IsZero() && !until.After(now):
			return os.ErrDeadlineExceeded
		}
		count := c.idle.Take(c.network, c.rate(), 0, pacedPiece, now)
		if count.Allowed {
			c.taken.Add(pacedPiece)
			c.paid.Add(pacedPiece)
			continue
		}
		wait := c.turn(count.Wait)
		if !until.IsZero() {
			wait = min(wait, until.Sub(now))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-c.change:
		}
		timer.Stop()
	}
	return nil
}

func (c *paced) rate() quota.Rate {
	if c.proxy {
		return proxyIdleBytes
	}
	return idleBytes
}

// turn returns when to ask the network again, which has the next piece after a time. The
// connections that wait for it ask at different times, so that they don't all wake for
// each piece and one gets it.
func (c *paced) turn(next time.Duration) time.Duration {
	others := time.Duration(c.waiting.add(c.network, 0) - 1)
	piece := pacedPiece * time.Second / time.Duration(c.rate())
	return next + rand.N(min(others*piece, longestTurn)+1)
}

// pay lets a connection read more.
func (c *paced) pay(bytes int64) {
	for {
		paid := c.paid.Load()
		more := min(savedBytes, paid+bytes)
		switch {
		case more <= paid:
			return
		case !c.paid.CompareAndSwap(paid, more):
			continue
		case paid <= 0:
			c.wake()
		}
		return
	}
}

func (c *paced) wake() {
	select {
	case c.change <- struct{}{}:
	default:
	}
}

// SetReadDeadline implements net.Conn.
func (c *paced) SetReadDeadline(t time.Time) error {
	c.expect(t)
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *paced) SetDeadline(t time.Time) error {
	c.expect(t)
	return c.Conn.SetDeadline(t)
}

func (c *paced) expect(t time.Time) {
	c.mu.Lock()
	c.until = t
	c.mu.Unlock()
	c.wake()
}

// Close implements net.Conn. What is left of what calls have paid goes back to the network,
// up to what that had paid: connections with one call each cost it little.
func (c *paced) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.wake()
	if left := min(c.paid.Swap(0), c.taken.Swap(0)); left > 0 {
		c.idle.Return(c.network, c.rate(), left, time.Now())
	}
	c.leave()
	return c.Conn.Close()
}

// tally counts by network.
type tally struct {
	mu       sync.Mutex
	networks map[netip.Prefix]int
}

// add counts some more, and returns how many there are.
func (t *tally) add(network netip.Prefix, more int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.networks[network] + more
	if n == 0 {
		delete(t.networks, network)
	} else {
		t.networks[network] = n
	}
	return n
}

// counted is a listener that closes connections for which there is no room, and paces
// the others.
type counted struct {
	net.Listener
	conns   *shares
	idle    *quota.Meter[netip.Prefix]
	waiting *tally
}

// Accept implements net.Listener.
func (l *counted) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := network.Of(addrOf(c.RemoteAddr().String()))
		if l.conns.enter(from) {
			return &paced{
				Conn: c, network: from, proxy: l.conns.policy.Proxies.Contains(from.Addr()), idle: l.idle, waiting: l.waiting,
				change: make(chan struct{}, 1),
				leave:  sync.OnceFunc(func() { l.conns.leave(from) }),
			}, nil
		}
		_ = c.Close() // there is no protocol yet to say why in
	}
}

// pacedKey is the key of the connection of a Multiplexed in the contexts of its requests.
type pacedKey struct{}

func pacedOf(r *http.Request) *paced {
	c, _ := r.Context().Value(pacedKey{}).(*paced)
	return c
}

// arrived counts a request as one that is refused, until it is accepted. One that a
// trusted proxy forwards is accepted at once.
func (c *paced) arrived(r *http.Request) {
	c.paid.Add(-refusedBytes)
	if c.proxy {
		c.payFor(r)
	}
}

// accepted has a call of an account pay for its connection.
func accepted(r *http.Request) {
	c := pacedOf(r)
	if c == nil {
		return
	}
	if !c.proxy {
		c.payFor(r)
	}
	if b, ok := r.Body.(*stream); ok {
		b.payer = c
	}
}

// payFor pays for the frames and headers of a request.
func (c *paced) payFor(r *http.Request) {
	bytes := int64(callBytes + refusedBytes)
	if r.ProtoMajor < 2 { // headers are sent whole with each request
		for name, values := range r.Header {
			for _, value := range values {
				bytes += int64(len(name) + len(value))
			}
		}
	}
	c.pay(bytes)
}

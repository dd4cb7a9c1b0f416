//go:build unix

package execute

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// gated is a connection whose writes wait while full is not nil, and whose checks wait
// while held is not nil.
type gated struct {
	*net.TCPConn
	full, held atomic.Pointer[gate]
}

type gate struct {
	reached, open chan struct{}
	once          sync.Once
}

func newGate() *gate { return &gate{reached: make(chan struct{}), open: make(chan struct{})} }

func (g *gate) pass() {
	if g != nil {
		g.once.Do(func() { close(g.reached) })
		<-g.open
	}
}

func (c *gated) Write(b []byte) (int, error) {
	c.full.Load().pass()
	return c.TCPConn.Write(b)
}

func (c *gated) SyscallConn() (syscall.RawConn, error) {
	c.held.Load().pass()
	return c.TCPConn.SyscallConn()
}

// gatedClient returns a client with what it dials.
func gatedClient(t *testing.T) (*Client, chan *gated) {
	c, dialled := newClient(t), make(chan *gated, 100)
	c.dialTCP = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := c.dialGuarded(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		g := &gated{TCPConn: conn.(*net.TCPConn)}
		dialled <- g
		return g, nil
	}
	return c, dialled
}

// A target that reads nothing any more and makes TLS write, be it an alert, stops
// neither the checks of others nor an attempt.
func TestCheck_NeverWaitsToWrite(t *testing.T) {
	for name, check := range map[string]func(c *Client, url string){
		"sweep":   func(c *Client, _ string) { c.conns.sweep() },
		"request": func(c *Client, url string) { _ = c.Do(context.Background(), get(url)) },
	} {
		t.Run(name, func(t *testing.T) {
			first := make(chan *tls.Conn, 1)
			url, _ := scripted(t, func(r turn) bool {
				r.say(okay)
				if r.conn == 1 {
					first <- r.out
				}
				return true
			})
			c, dialled := gatedClient(t)
			answered(t, c, get(url))
			full := newGate()
			receive(t, dialled).full.Store(full)
			defer close(full.open)
			_, _ = io.WriteString(receive(t, first).NetConn(), "garbage below the encryption")
			arrived(t, c)
			done := make(chan struct{})
			go func() { check(c, url); close(done) }()
			receive(t, done)
		})
	}
}

// A request that found the only idle connection being checked gets it afterwards: the
// target may accept no other.
func TestCheck_GivesTheConnectionToAWaitingRequest(t *testing.T) {
	second := make(chan struct{}, 100)
	url := servingOne(t, second, func(int) {})
	c, dialled := gatedClient(t)
	answered(t, c, get(url))
	conn, held := receive(t, dialled), newGate()
	conn.held.Store(held)
	var done sync.WaitGroup
	done.Go(c.conns.sweep)
	receive(t, held.reached)
	done.Go(func() { answered(t, c, get(url)) })
	receive(t, second)
	conn.held.Store(nil)
	close(held.open)
	done.Wait()
}

// A host whose address has as many idle connections as are kept gets none ahead, rather
// than one after the other.
func TestPrewarm_EndsWhenNoMoreAreKept(t *testing.T) {
	url, conns := counted(t, false, nil)
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 2})
	defer c.Close()
	c.Prewarm(Party{}, url, 2, false)
	awaitWarm(t, c, 2)
	c.prewarm(ahead{route{to: "localhost:" + url[len("https://127.0.0.1:"):]}, 2, false})
	done := make(chan struct{})
	go func() { c.openings.all.Wait(); close(done) }()
	receive(t, done)
	if n := conns.Load(); n > 4 {
		t.Errorf("%d connections were made, want 4 at most", n)
	}
}

// awaitCount waits until openings have ended and a target has counted so many
// connections.
func awaitCount(t *testing.T, c *Client, count *atomic.Int64, want int64) {
	t.Helper()
	c.openings.all.Wait()
	eventually(t, func() string {
		if n := count.Load(); n != want {
			return fmt.Sprintf("%d connections were made, want %d", n, want)
		}
		return ""
	})
}

// Connections that were opened ahead take the place of those that have been idle for
// longest.
func TestPrewarm_ReplacesWhatIsIdle(t *testing.T) {
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 2, MaxConnsIdleAll: 3})
	defer c.Close()
	for range 3 {
		answered(t, c, get(serve(t, false, http.NotFoundHandler())))
	}
	url, conns := counted(t, false, http.NotFoundHandler())
	for _, n := range []int{1, 2} {
		c.Prewarm(Party{}, url, n, false)
		awaitCount(t, c, conns, int64(n))
		awaitWarm(t, c, 3)
	}
}

// Of what was opened ahead, no more stays unused than may be idle.
func TestPrewarm_IsBoundedOverAllHosts(t *testing.T) {
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 2, MaxConnsIdleAll: 3})
	defer c.Close()
	var total atomic.Int64
	var urls []string
	for range 6 {
		urls = append(urls, serveCounting(t, false, http.NotFoundHandler(), &total).URL)
		c.Prewarm(Party{}, urls[len(urls)-1], 2, false)
	}
	awaitWarm(t, c, 3)
	awaitCount(t, c, &total, 3)
	answered(t, c, get(urls[0]))
	c.Prewarm(Party{}, urls[5], 1, false)
	awaitCount(t, c, &total, 4)
}

// A target that lets connections wait in the handshake, while it responds on another,
// does not collect them: of those that no request waits for, some are given up.
func TestPool_BoundsOpeningsThatNobodyWaitsFor(t *testing.T) {
	opened := make(chan struct{}, 100)
	url := servingOne(t, opened, func(number int) {
		if number%2 == 0 {
			<-opened // by another request
		}
	})
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 2, MaxConnsIdleAll: 4})
	defer c.Close()
	r := get(url)
	r.Timeout = 10 * patience
	for range 20 {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { answered(t, c, r) })
		}
		both.Wait()
	}
	eventually(t, func() string {
		if n := c.Connections(); n > 6 {
			return fmt.Sprintf("%d connections are open", n)
		}
		return ""
	})
}

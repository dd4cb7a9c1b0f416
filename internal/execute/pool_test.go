//go:build unix

package execute

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// arrived waits until something has arrived on each idle connection.
func arrived(t *testing.T, c *Client) {
	t.Helper()
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	for conn := range c.conns.conns {
		raw, err := conn.Conn.(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() string {
			if !readable(raw) {
				return "nothing has arrived"
			}
			return ""
		})
	}
}

// readable reports whether bytes, the end or an error can be read from a connection.
func readable(raw syscall.RawConn) (ready bool) {
	_ = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		ready = err != syscall.EAGAIN
		return true
	})
	return ready
}

// What a target does to an idle connection is noticed before the next request, which
// is not sent again.
func TestPool_ReplacesConnectionsThatTheTargetTouched(t *testing.T) {
	for name, touch := range map[string]func(*tls.Conn){
		"close_notify": func(c *tls.Conn) { _ = c.CloseWrite() },
		"closed":       func(c *tls.Conn) { _ = c.NetConn().Close() },
		"reset": func(c *tls.Conn) {
			_ = c.NetConn().(*net.TCPConn).SetLinger(0)
			_ = c.NetConn().Close()
		},
		"forged response": func(c *tls.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n") },
		"a byte":          func(c *tls.Conn) { _, _ = c.Write([]byte("x")) },
		"garbage":         func(c *tls.Conn) { _, _ = io.WriteString(c.NetConn(), "garbage below the encryption") },
	} {
		for _, sweep := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				first := make(chan *tls.Conn, 1)
				url, conns := scripted(t, func(r turn) bool {
					r.readBody()
					r.say(okay)
					if r.conn == 1 {
						first <- r.out
					}
					return true
				})
				c := newClient(t)
				answered(t, c, post(url, "hello"))
				touch(receive(t, first))
				arrived(t, c)
				if sweep {
					c.conns.sweep()
					awaitNoConns(t, c)
				}
				if got := answered(t, c, post(url, "hello")); got.Status != 200 {
					t.Errorf("got %d", got.Status)
				}
				if n := conns.Load(); n != 2 {
					t.Errorf("%d connections were made, want 2", n)
				}
			})
		}
	}
}

// A session ticket that arrives on an idle connection leaves it usable, and makes the
// next handshake shorter.
func TestPool_ReadsSessionTickets(t *testing.T) {
	var resumed atomic.Int64
	url, conns := scripted(t, func(r turn) bool {
		if r.out.ConnectionState().DidResume {
			resumed.Add(1)
		}
		r.say("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		return false
	})
	c := newClient(t)
	c.Prewarm(Party{}, url, 1, false)
	awaitWarm(t, c, 1)
	at := url[len("https://"):]
	eventually(t, func() string {
		c.conns.checkLast(route{to: at})
		if _, ok := c.sessions.all.Get("0 0 " + at + " 127.0.0.1"); !ok {
			return "no session ticket was read"
		}
		return ""
	})
	c.Prewarm(Party{}, url, 2, false)
	awaitWarm(t, c, 2)
	for range 2 {
		answered(t, c, post(url, "hello"))
	}
	if conns.Load() != 2 || resumed.Load() != 1 {
		t.Errorf("%d connections were made, %d of them resumed; want 2 and 1", conns.Load(), resumed.Load())
	}
}

func TestPool_ClosesWhatIsIdleForLong(t *testing.T) {
	url, _ := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := newClient(t)
	answered(t, c, get(url))
	c.conns.sweep()
	if idle, open := idleOf(c); idle != 1 || open != 1 {
		t.Fatalf("%d of %d connections are idle, want 1 of 1", idle, open)
	}
	c.conns.mu.Lock()
	for conn := range c.conns.conns {
		conn.used.wall -= int64(idleTimeout) // the machine was suspended
	}
	c.conns.mu.Unlock()
	c.conns.sweep()
	awaitNoConns(t, c)
	if idle, open := idleOf(c); idle != 0 || open != 0 || len(c.conns.kept.hosts) != 0 {
		t.Errorf("%d of %d connections are idle, %d hosts are left", idle, open, len(c.conns.kept.hosts))
	}
}

func TestPool_IsBounded(t *testing.T) {
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 3, MaxConnsIdleAll: 5})
	defer c.Close()
	for range 3 {
		const many = 8
		var all, done sync.WaitGroup
		all.Add(many)
		url, _ := scripted(t, func(r turn) bool {
			all.Done()
			all.Wait()
			r.say(okay)
			return true
		})
		c.Prewarm(Party{}, url, many, false)
		for range many {
			done.Go(func() { answered(t, c, get(url)) })
		}
		done.Wait()
		c.conns.mu.Lock()
		here := idleAt(c, url[len("https://"):])
		c.conns.mu.Unlock()
		if idle, _ := idleOf(c); here > 3 || idle > 5 {
			t.Errorf("%d connections are idle, %d of them to one target", idle, here)
		}
	}
}

// A request that opens a connection takes one that becomes idle before: a target may
// serve only so many at once.
func TestPool_AWaitingRequestTakesWhatBecomesIdle(t *testing.T) {
	asked, second := make(chan struct{}, 1), make(chan struct{}, 100)
	url := servingOne(t, second, func(number int) {
		if number == 0 {
			asked <- struct{}{}
			<-second
		}
	})
	c := newClient(t)
	var done sync.WaitGroup
	done.Go(func() { answered(t, c, get(url)) })
	receive(t, asked)
	done.Go(func() { answered(t, c, get(url)) })
	done.Wait()
	c.Close() // ends the handshake that nobody waits for
	awaitNoConns(t, c)
}

func TestPool_KeepsNothingAfterClose(t *testing.T) {
	url, _ := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := newClient(t)
	answered(t, c, get(url))
	c.Close()
	awaitNoConns(t, c)
	answered(t, c, get(url))
	awaitNoConns(t, c)
}

// A target that refused HTTP/1.1 once may speak nothing else later.
func TestDo_ForgetsWhoRefusedHTTP1(t *testing.T) {
	url, handshakes := serveVersions(t, "http/1.1")
	c := newClient(t)
	c.only2.add(url[len("https://"):])
	answered(t, c, get(url))
	answered(t, c, get(url))
	if n := len(handshakes); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

// The bound of an address holds for what is idle, not for a connection that a request
// needs.
func TestPool_OpensConnectionsToAnAddressWithManyIdle(t *testing.T) {
	url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 1})
	defer c.Close()
	answered(t, c, get(url))
	answered(t, c, post(strings.Replace(url, "127.0.0.1", "localhost", 1), "hello"))
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
}

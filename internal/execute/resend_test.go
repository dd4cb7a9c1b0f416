//go:build unix

package execute

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"

	"golang.org/x/net/http2"
)

// dying starts a target that drops the second request of its first connection, after it
// has sent some bytes, and counts requests. A plain one speaks no TLS.
func dying(t *testing.T, plain bool, say string) (url string, requests *atomic.Int32) {
	requests = &atomic.Int32{}
	answer := func(r turn) bool {
		r.readBody()
		requests.Add(1)
		if r.conn == 1 && r.number == 2 {
			r.say(say)
			return false
		}
		r.say(okay)
		return true
	}
	if plain {
		url, _ = scriptedPlain(t, answer)
	} else {
		url, _ = scripted(t, answer)
	}
	return url, requests
}

// A request that was written and got no response is never sent again, whatever its
// method: the outcome says how it was lost.
func TestExchange_NeverSendsAgain(t *testing.T) {
	large := strings.Repeat("x", 100_000)
	for name, test := range map[string]struct {
		plain   bool
		request func(url string) Request
		say     string // on the kept connection, before it ends
		kind    job.Kind
	}{
		"GET":                {false, get, "", job.KindClosed},
		"GET over http":      {true, get, "", job.KindClosed},
		"POST":               {false, func(url string) Request { return post(url, "hello") }, "", job.KindClosed},
		"POST over http":     {true, func(url string) Request { return post(url, "hello") }, "", job.KindClosed},
		"signed POST":        {false, func(url string) Request { return signed(post(url, "hello")) }, "", job.KindClosed},
		"large signed POST":  {false, func(url string) Request { return signed(post(url, large)) }, "", job.KindClosed},
		"large over http":    {true, func(url string) Request { return signed(post(url, large)) }, "", job.KindClosed},
		"idempotency key":    {false, keyed, "", job.KindClosed},
		"key over http":      {true, keyed, "", job.KindClosed},
		"a byte of response": {false, func(url string) Request { return signed(post(url, "hello")) }, "H", job.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			url, requests := dying(t, test.plain, test.say)
			c := plainClient(t)
			answered(t, c, test.request(url))
			f := fails(t, c, test.request(url), test.kind)
			if f.Dropped != (test.kind == job.KindClosed) {
				t.Errorf("got %+v", f)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("%d requests were made, want 2", n)
			}
		})
	}
}

func keyed(url string) Request {
	r := post(url, "hello")
	r.Header = []Field{{"Idempotency-Key", "1"}, {"X-Idempotency-Key", "1"}}
	return r
}

// A connection that was opened for the request is none that was kept.
func TestExchange_ADropOnANewConnectionIsNoneOfAKeptOne(t *testing.T) {
	var requests atomic.Int32
	url, _ := scripted(t, func(turn) bool { requests.Add(1); return false })
	if f := fails(t, newClient(t), get(url), job.KindClosed); f.Dropped {
		t.Errorf("got %+v", f)
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests were made, want 1", n)
	}
}

// Over HTTP/2, too, no request is sent again: neither one that the target has refused to
// process, nor one that it had not read when it closed the connection.
func TestHTTP2_NeverSendsAgain(t *testing.T) {
	for name, drop := range map[string]func(f *framer, stream uint32){
		"refused": func(f *framer, stream uint32) { _ = f.WriteRSTStream(stream, http2.ErrCodeRefusedStream) },
		"goaway":  func(f *framer, _ uint32) { _ = f.WriteGoAway(1, http2.ErrCodeNo, nil) },
		"closed":  func(f *framer, _ uint32) { _ = f.conn.Close() },
	} {
		for _, r := range []Request{{Method: "GET"}, signed(post("", "hello"))} {
			t.Run(name+" "+r.Method, func(t *testing.T) {
				var requests atomic.Int32
				url := framing(t, nil, func(f *framer, frame http2.Frame) {
					head, ok := frame.(*http2.HeadersFrame)
					if !ok {
						return
					}
					if requests.Add(1) == 1 {
						_ = writeStatus(f.Framer, head.StreamID, "204", true)
						return
					}
					drop(f, head.StreamID)
				})
				r.URL, r.Timeout = url, patience
				c := newClientOf(t, true)
				answered(t, c, r)
				if f := fails(t, c, r, job.KindClosed); !f.Dropped {
					t.Errorf("got %+v", f)
				}
				if n := requests.Load(); n != 2 {
					t.Errorf("%d requests were made, want 2", n)
				}
			})
		}
	}
}

// A request that must not be lost uses a connection that is new or was used lately.
func TestDo_RecentLeavesOldConnections(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) (url string, conns func() int64){
		"HTTP/1.1": func(t *testing.T) (string, func() int64) {
			url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
			return url, conns.Load
		},
		"HTTP/2": func(t *testing.T) (string, func() int64) {
			url, conns := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			return url, conns.Load
		},
		"http": func(t *testing.T) (string, func() int64) {
			url, conns := scriptedPlain(t, func(r turn) bool { r.say(okay); return true })
			return url, conns.Load
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, conns := start(t)
			c := plainClient(t)
			recent := get(url)
			recent.Recent = true
			send := func(r Request, want int64) {
				t.Helper()
				answered(t, c, r)
				if n := conns(); n != want {
					t.Fatalf("%d connections were made, want %d", n, want)
				}
			}
			send(recent, 1)
			age(c, recentUse/2)
			send(recent, 1)
			age(c, recentUse)
			send(get(url), 1)
			age(c, recentUse)
			send(recent, 2)
			// Of two, it takes the one that was used last.
			send(recent, 2)
		})
	}
}

// A connection that was opened ahead and not used since is new for longer.
func TestDo_RecentUsesWhatWasOpenedAhead(t *testing.T) {
	url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := newClient(t)
	c.Prewarm(Party{}, url, 1, false)
	awaitWarm(t, c, 1)
	age(c, recentUse+recentUse/2)
	r := get(url)
	r.Recent = true
	answered(t, c, r)
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// age makes all connections that nobody uses appear to have been so for longer.
func age(c *Client, by time.Duration) {
	c.conns.mu.Lock()
	defer c.conns.mu.Unlock()
	for conn := range c.conns.conns {
		conn.used.clock = conn.used.clock.Add(-by)
	}
}

// A waiting request that wants a recent connection is not given an old one.
func TestCheck_GivesNoOldConnectionToARequestThatWantsARecentOne(t *testing.T) {
	second := make(chan struct{}, 100)
	url := servingOne(t, second, func(int) {})
	c, dialled := gatedClient(t)
	answered(t, c, get(url))
	age(c, recentUse)
	conn, held := receive(t, dialled), newGate()
	conn.held.Store(held)
	var done sync.WaitGroup
	done.Go(c.conns.sweep)
	receive(t, held.reached)
	r := get(url)
	r.Recent, r.Timeout = true, 1500*time.Millisecond
	done.Go(func() { fails(t, c, r, job.KindTimeout) })
	receive(t, second)
	conn.held.Store(nil)
	close(held.open)
	done.Wait()
}

// scriptedPlain is scripted without TLS.
func scriptedPlain(t testing.TB, answer func(turn) bool) (url string, conns *atomic.Int64) {
	conns = &atomic.Int64{}
	return "http://" + listen(t, func(conn net.Conn) { script(conn, nil, conns, answer) }), conns
}

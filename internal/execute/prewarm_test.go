//go:build unix

package execute

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// counted is a target that counts its connections.
func counted(t *testing.T, h2 bool, h http.Handler) (url string, conns *atomic.Int64) {
	conns = &atomic.Int64{}
	return serveCounting(t, h2, h, conns).URL, conns
}

func awaitWarm(t *testing.T, c *Client, want int) {
	t.Helper()
	eventually(t, func() string {
		c.http2.mu.Lock()
		idle := 0
		for _, h := range c.http2.hosts {
			idle += len(h.conns)
		}
		c.http2.mu.Unlock()
		c.conns.mu.Lock()
		for _, h := range c.conns.kept.hosts {
			idle += len(h.idle)
		}
		c.conns.mu.Unlock()
		if idle != want {
			return fmt.Sprintf("%d connections are kept, want %d", idle, want)
		}
		return ""
	})
}

func TestPrewarm_RequestsUseTheConnections(t *testing.T) {
	var all sync.WaitGroup
	all.Add(5)
	url, conns := counted(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A response that comes before the whole request was sent ends the connection.
		_, _ = io.Copy(io.Discard, r.Body)
		all.Done()
		all.Wait()
	}))
	c := newClient(t)
	c.Prewarm(Party{}, url, 5, false)
	awaitWarm(t, c, 5)
	var done sync.WaitGroup
	for range 5 {
		done.Go(func() {
			if out := c.Do(t.Context(), Request{Method: "POST", URL: url, Body: []byte("1")}); out.Failure != nil ||
				out.Response.Status != 200 {
				t.Errorf("the request failed: %+v", out.Failure)
			}
		})
	}
	done.Wait()
	awaitWarm(t, c, 5)
	c.Prewarm(Party{}, url, 5, false)
	if got := conns.Load(); got != 5 {
		t.Errorf("%d connections were made, want 5", got)
	}
}

func TestPrewarm_OpensOneConnectionOverHTTP2(t *testing.T) {
	url, conns := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c := newClient(t)
	c.Prewarm(Party{}, url, 20, false)
	awaitWarm(t, c, 1)
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			if out := c.Do(t.Context(), Request{Method: "GET", URL: url}); out.Failure != nil || out.Response.Status != 200 {
				t.Errorf("the request failed: %+v", out.Failure)
			}
		})
	}
	done.Wait()
	if got := conns.Load(); got != 1 {
		t.Errorf("%d connections were made, want 1", got)
	}
}

// A request that may not leave any more frees its place on the connection.
func TestPrewarm_LateRequestsReserveNothing(t *testing.T) {
	url, _ := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c := newClient(t)
	c.Prewarm(Party{}, url, 1, false)
	awaitWarm(t, c, 1)
	late := get(url)
	late.Leave = func() bool { return false }
	fails(t, c, late, job.KindInterrupted)
	c.http2.mu.Lock()
	defer c.http2.mu.Unlock()
	for _, h := range c.http2.hosts {
		for _, conn := range h.conns {
			if n := conn.InFlight() + conn.reserved; n != 0 {
				t.Errorf("%d streams are used or reserved, want 0", n)
			}
		}
	}
}

func TestPrewarm_AClosedConnectionIsReplaced(t *testing.T) {
	for _, name := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(name, func(t *testing.T) {
			var conns atomic.Int64
			srv := serveCounting(t, name == "HTTP/2", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), &conns)
			c := newClient(t)
			c.Prewarm(Party{}, srv.URL, 1, false)
			awaitWarm(t, c, 1)
			awaitCount(t, c, &conns, 1)
			srv.CloseClientConnections()
			awaitClosed(t, c)
			if out := c.Do(t.Context(), Request{Method: "POST", URL: srv.URL, Body: []byte("1")}); out.Failure != nil ||
				out.Response.Status != 200 {
				t.Errorf("the request failed: %+v", out.Failure)
			}
			awaitWarm(t, c, 1)
			if got := conns.Load(); got != 2 {
				t.Errorf("%d connections were made, want 2", got)
			}
		})
	}
}

// awaitClosed waits until the end of every connection has arrived. net/http reads from
// those over HTTP/2, and the pool checks the others before it uses them.
func awaitClosed(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, func() string {
		c.conns.sweep()
		if n := c.Connections(); n > 0 {
			return fmt.Sprintf("%d connections are open", n)
		}
		return ""
	})
}

func TestPrewarm_AppliesTheGuardAndIgnoresErrors(t *testing.T) {
	var conns atomic.Int64
	url := serveCounting(t, false, http.NotFoundHandler(), &conns).URL
	c := New(Config{Version: "1", RootCAs: authority().pool})
	for _, target := range []string{url, "https://127.0.0.1:1/", "nonsense"} {
		c.Prewarm(Party{}, target, 3, false)
	}
	c.Close() // waits for what is under way
	if got := conns.Load(); got != 0 {
		t.Errorf("%d connections were made to an address that may not be called", got)
	}
	awaitNoConns(t, c)
	if n := len(c.http2.hosts) + len(c.conns.kept.hosts); n != 0 {
		t.Errorf("%d hosts are left", n)
	}
}

func TestClose_EndsPrewarming(t *testing.T) {
	addr := listen(t, func(conn net.Conn) { <-t.Context().Done() })
	c := newClient(t)
	c.Prewarm(Party{}, "https://"+addr, 4, false)
	done := make(chan struct{})
	go func() { c.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatal("Close waits for a target that does not answer")
	}
}

func TestDo_SendsACancelledRequestOnce(t *testing.T) {
	var requests atomic.Int64
	began := make(chan struct{}, 10)
	url, _ := counted(t, false, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // only then is the end of the connection noticed
		began <- struct{}{}
		<-r.Context().Done()
	}))
	c := newClient(t)
	c.Prewarm(Party{}, url, 1, false)
	awaitWarm(t, c, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-began; cancel(ErrCancelled) }()
	out := c.Do(ctx, Request{Method: "POST", URL: url, Body: []byte("1")})
	if out.Failure == nil || out.Failure.Kind != "cancelled" {
		t.Errorf("the outcome is %+v, want cancelled", out)
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests were made, want 1", got)
	}
	awaitWarm(t, c, 0)
}

// Two accounts that open connections ahead without using them leave room to a third.
func TestPrewarm_AccountsDisplaceNoneOfOthers(t *testing.T) {
	url, _ := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 6, MaxConnsIdleAll: 8})
	t.Cleanup(c.Close)
	ahead := func(account int64) int {
		c.conns.mu.Lock()
		defer c.conns.mu.Unlock()
		if h := c.conns.holders[account]; h != nil && h.idle.Len() == h.ahead {
			return h.ahead
		}
		return 0
	}
	warm := func(account int64, n, want int) {
		t.Helper()
		c.Prewarm(Party{Account: account}, url, n, false)
		eventually(t, func() string {
			if got := ahead(account); got != want {
				return "account " + strconv.FormatInt(account, 10) + " has " + strconv.Itoa(got) + " connections, want " +
					strconv.Itoa(want)
			}
			return ""
		})
	}
	warm(1, 6, 6)
	warm(2, 2, 2)
	warm(3, 2, 2)
	if a, b := ahead(1), ahead(2); a != 4 || b != 2 {
		t.Errorf("the others have %d and %d connections, want 4 and 2", a, b)
	}
	c.Prewarm(Party{Account: 1}, url, 6, false)
	c.openings.all.Wait()
	if own, b, d := ahead(1), ahead(2), ahead(3); own != 4 || b != 2 || d != 2 {
		t.Errorf("the accounts have %d, %d and %d connections, want 4, 2 and 2", own, b, d)
	}
}

// Targets that don't shake hands hold half of the slots for one account at most.
func TestOpenings_AnAccountLeavesSlotsToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOpenings()
		defer o.close()
		for range 10 * openingAtOnce {
			o.all.Go(func() {
				_ = o.run(1, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
			})
		}
		synctest.Wait()
		began := time.Now()
		if err := o.run(2, func(context.Context) error { return nil }); err != nil || time.Since(began) > 0 {
			t.Errorf("another account got its slot after %s: %v", time.Since(began), err)
		}
		o.end()
		o.all.Wait()
		if n := len(o.each); n != 0 {
			t.Errorf("%d accounts are left", n)
		}
	})
}

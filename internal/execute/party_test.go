//go:build unix

package execute

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/punctual-dev/punctual/internal/job"
)

// parties are all that must share nothing.
var parties = []Party{{1, ForJob, nil}, {1, ForDelivery, nil}, {1, ForToken, nil}, {2, ForJob, nil}}

// of returns a request of a party.
func (p Party) of(r Request) Request {
	r.Party = p
	return r
}

// over starts a target of each kind of connection and counts these.
var over = map[string]func(t *testing.T) (c *Client, url string, conns *atomic.Int64){
	"HTTP/1.1": func(t *testing.T) (*Client, string, *atomic.Int64) {
		url, conns := scripted(t, func(r turn) bool { r.readBody(); r.say(okay); return true })
		return newClient(t), url, conns
	},
	"HTTP/1.1, 2 preferred": func(t *testing.T) (*Client, string, *atomic.Int64) {
		url, conns := scripted(t, func(r turn) bool { r.readBody(); r.say(okay); return true })
		return newClientOf(t, true), url, conns
	},
	"HTTP/2": func(t *testing.T) (*Client, string, *atomic.Int64) {
		url, conns := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		return newClient(t), url, conns
	},
	"HTTP/2 preferred": func(t *testing.T) (*Client, string, *atomic.Int64) {
		url, conns := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		return newClientOf(t, true), url, conns
	},
	"http": func(t *testing.T) (*Client, string, *atomic.Int64) {
		url, conns := scriptedPlain(t, func(r turn) bool { r.readBody(); r.say(okay); return true })
		return plainClient(t), url, conns
	},
}

func TestParties_ShareNoConnection(t *testing.T) {
	for name, start := range over {
		t.Run(name, func(t *testing.T) {
			c, url, conns := start(t)
			for range 3 {
				for _, party := range parties {
					answered(t, c, party.of(post(url, "hello")))
				}
			}
			if n := conns.Load(); n != int64(len(parties)) {
				t.Errorf("%d connections were made, want %d", n, len(parties))
			}
		})
	}
}

func TestParties_ShareNoPrewarmedConnection(t *testing.T) {
	for name, start := range over {
		if name == "http" {
			continue // these are not opened ahead
		}
		t.Run(name, func(t *testing.T) {
			c, url, conns := start(t)
			c.Prewarm(parties[0], url, 1, false)
			awaitWarm(t, c, 1)
			for i, want := range []int64{2, 3, 4} {
				answered(t, c, parties[i+1].of(get(url)))
				awaitCount(t, c, conns, want)
			}
			answered(t, c, parties[0].of(get(url)))
			awaitCount(t, c, conns, 4)
		})
	}
}

// A request that waits for a connection gets none that another party has used, even if
// the target opens no other.
func TestParties_AWaitingRequestGetsNoConnectionOfAnother(t *testing.T) {
	for _, other := range parties[1:] {
		asked, second := make(chan struct{}, 1), make(chan struct{}, 100)
		url := servingOne(t, second, func(int) {
			asked <- struct{}{}
			select {
			case <-second:
			case <-time.After(patience / 30): // a busy machine may have opened none in time
			}
		})
		c := newClient(t)
		var done sync.WaitGroup
		done.Go(func() { answered(t, c, parties[0].of(get(url))) })
		receive(t, asked)
		r := other.of(get(url))
		r.Timeout = 200 * time.Millisecond
		done.Go(func() { fails(t, c, r, job.KindTimeout) })
		done.Wait()
	}
}

// The hops of a request use connections of its party.
func TestParties_KeepToTheirConnectionsAlongRedirects(t *testing.T) {
	var mu sync.Mutex
	users := map[string]string{} // accounts by connection
	url := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		account, hop, _ := strings.Cut(r.URL.Path[1:], "/")
		mu.Lock()
		defer mu.Unlock()
		if before := users[r.RemoteAddr]; before != "" && before != account {
			t.Errorf("a connection carried requests of the accounts %s and %s", before, account)
		}
		users[r.RemoteAddr] = account
		if hop == "1" {
			http.Redirect(w, r, "/"+account+"/2", http.StatusFound)
		}
	}))
	c := newClient(t)
	for range 2 {
		for account := range int64(3) {
			answered(t, c, Party{Account: account}.of(get(url+"/"+strconv.FormatInt(account, 10)+"/1")))
		}
	}
	if len(users) != 3 {
		t.Errorf("%d connections were made, want 3", len(users))
	}
}

// A session ticket is offered by the party that got it only.
func TestSessions_BelongToAParty(t *testing.T) {
	url, conns, resumed := hosting(t, certificate(t, nil))
	c := newClient(t)
	for _, party := range parties {
		answered(t, c, party.of(get(url)))
	}
	if n := resumed.Load(); n != 0 {
		t.Errorf("%d of %d connections resumed the session of another party", n, conns.Load())
	}
	answered(t, c, parties[0].of(get(url)))
	if n := resumed.Load(); n != 1 {
		t.Errorf("%d connections resumed a session, want 1", n)
	}
}

// An account with many idle connections loses its own when others need room.
func TestPool_AnAccountDisplacesNoneOfOthers(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			h2 := protocol == "HTTP/2"
			c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 10, MaxConnsIdleAll: 16, PreferHTTP2: h2})
			defer c.Close()
			var urls []string
			for range 20 {
				urls = append(urls, serve(t, h2, http.NotFoundHandler()))
			}
			const greedy = 99
			want := map[int64]int{}
			idle := func(when string) {
				t.Helper()
				eventually(t, func() string { // the state of HTTP/2 follows the response
					c.conns.mu.Lock()
					defer c.conns.mu.Unlock()
					for account, n := range want {
						if got := c.conns.holders[account]; got == nil || got.idle.Len() != n {
							return when + ": account " + strconv.FormatInt(account, 10) + " has not as many idle connections as it should"
						}
					}
					return ""
				})
			}
			for _, url := range urls {
				answered(t, c, Party{Account: greedy}.of(get(url)))
			}
			want[greedy] = 12 // three quarters
			idle("alone")
			for account := range int64(8) {
				answered(t, c, Party{Account: account}.of(get(urls[0])))
				want[account] = 1
			}
			want[greedy] = 8 // all that is left
			idle("others came")
			for _, url := range urls {
				answered(t, c, Party{Account: greedy}.of(get(url)))
			}
			idle("again")
		})
	}
}

// Where all accounts have as many, the connection goes that has been idle for longest.
func TestPool_AmongEqualsTheLongestIdleGoes(t *testing.T) {
	url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 10, MaxConnsIdleAll: 3})
	defer c.Close()
	for account := range int64(4) {
		answered(t, c, Party{Account: account}.of(get(url)))
	}
	for _, account := range []int64{1, 2, 3} {
		answered(t, c, Party{Account: account}.of(get(url)))
	}
	if n := conns.Load(); n != 4 {
		t.Errorf("%d connections were made, want 4", n)
	}
	answered(t, c, Party{Account: 0}.of(get(url)))
	if n := conns.Load(); n != 5 {
		t.Errorf("%d connections were made, want 5", n)
	}
}

// Connections of requests that are Recent are opened ahead anew.
func TestPrewarm_OpensNewConnectionsForRecentRequests(t *testing.T) {
	for _, name := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(name, func(t *testing.T) {
			c, url, conns := over[name](t)
			answered(t, c, get(url))
			c.Prewarm(Party{}, url, 1, false)
			c.openings.all.Wait()
			if n := conns.Load(); n != 1 {
				t.Fatalf("%d connections were made, want 1", n)
			}
			for range 2 {
				c.Prewarm(Party{}, url, 1, true)
				c.openings.all.Wait()
				awaitWarm(t, c, 2)
			}
			age(c, recentUse)
			r := get(url)
			r.Recent = true
			answered(t, c, r)
			if n := conns.Load(); n != 2 {
				t.Errorf("%d connections were made, want 2", n)
			}
		})
	}
}

// Requests that come at once to a target of HTTP/2 share few connections.
func TestHTTP2_RequestsShareConnections(t *testing.T) {
	const many = 250
	var all sync.WaitGroup
	all.Add(many)
	url, conns := counted(t, true, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		all.Done()
		all.Wait()
	}))
	c := newClient(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var done sync.WaitGroup
	for range many {
		done.Go(func() {
			if out := c.Do(ctx, get(url)); out.Failure != nil {
				t.Errorf("got %+v", out.Failure)
				end() // the others would wait for this one
			}
		})
	}
	done.Wait()
	if n := conns.Load(); n > 4 {
		t.Errorf("%d connections were made, want 4 at most", n)
	}
}

// A request that ends before its connection is open leaves it to another one that came
// meanwhile.
func TestHTTP2_AnOpeningEndsWithTheLastThatWaits(t *testing.T) {
	url := "https://" + listen(t, hold)
	c := newClient(t)
	c.only2.add(url[len("https://"):])
	r := get(url)
	r.Timeout = 50 * time.Millisecond
	for range 3 {
		fails(t, c, r, job.KindTimeout)
	}
	c.openings.all.Wait() // long before dialLimit
	awaitNoConns(t, c)
	c.http2.mu.Lock()
	defer c.http2.mu.Unlock()
	if n := len(c.http2.hosts); n != 0 {
		t.Errorf("%d hosts are left", n)
	}
}

// A target that permits no streams makes a request open few connections.
func TestHTTP2_NoStreamsPermitted(t *testing.T) {
	var conns atomic.Int64
	url := framing(t, func(f *framer) {
		conns.Add(1)
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
	}, func(*framer, http2.Frame) {})
	c := newClient(t)
	r := get(url)
	r.Timeout = 500 * time.Millisecond
	const requests = 3
	for range requests {
		fails(t, c, r, job.KindTimeout)
	}
	if n := conns.Load(); n > requests*(maxTries+1) {
		t.Errorf("%d requests opened %d connections", requests, n)
	}
}

// A target that permits no stream as soon as one is reserved makes a request open few
// connections, too, and ask seldom whether it may be sent.
func TestHTTP2_StreamsTakenBackAtOnce(t *testing.T) {
	var conns, asked atomic.Int64
	url := framing(t, func(f *framer) {
		conns.Add(1)
		_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100})
	}, func(f *framer, frame http2.Frame) {
		if _, acked := frame.(*http2.SettingsFrame); acked && !f.limited.Swap(true) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		}
	})
	c := newClientOf(t, true)
	r := get(url)
	r.Timeout = time.Second
	r.Leave = func() bool {
		asked.Add(1)
		time.Sleep(10 * time.Millisecond) // for the settings to arrive over loopback
		return true
	}
	out := c.Do(t.Context(), r)
	if f := out.Failure; f == nil || f.Kind != job.KindTimeout && f.Kind != job.KindClosed {
		t.Errorf("got %+v", out)
	}
	if conns.Load() > 20 || asked.Load() > 20 {
		t.Errorf("%d connections were opened, the question was asked %d times", conns.Load(), asked.Load())
	}
}

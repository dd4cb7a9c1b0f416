//go:build unix

package execute

import (
	"context"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// sendingOn starts a target that redirects requests to its path "/" to another address,
// and counts them.
func sendingOn(t *testing.T, h2 bool, to string) (url string, hits *atomic.Int32) {
	hits = &atomic.Int32{}
	return serve(t, h2, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})), hits
}

// cutConn writes one byte and then has no buffers.
type cutConn struct{ net.Conn }

func (c cutConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b[:1])
	if err == nil {
		err = &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ENOBUFS)}
	}
	return n, err
}

// What this machine lacks makes an attempt count as soon as a byte of any of its requests
// has left: it must not be sent again without a retry.
func TestLocalFaults_CountOnceARequestHasLeft(t *testing.T) {
	exhausted := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	for name, test := range map[string]func(t *testing.T) *job.Failure{
		"a redirect": func(t *testing.T) *job.Failure {
			url, _ := sendingOn(t, false, "https://192.0.2.1/")
			c := newClient(t)
			answered(t, c, get(url+"/first"))
			c.dialTCP = exhausted
			return fails(t, c, get(url), job.KindClosed)
		},
		"a redirect over HTTP/2": func(t *testing.T) *job.Failure {
			url, _ := sendingOn(t, true, "https://192.0.2.1/")
			c := newClient(t)
			answered(t, c, get(url+"/first"))
			c.dialTCP = exhausted
			return fails(t, c, get(url), job.KindClosed)
		},
		"a request written in part": func(t *testing.T) *job.Failure {
			url, _ := scriptedPlain(t, func(turn) bool { return false })
			c := plainClient(t)
			dial := c.dialTCP
			c.dialTCP = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return cutConn{conn}, err
			}
			return fails(t, c, post(url, "hello"), job.KindClosed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := test(t)
			if f.Local || f.Unsent || f.Dropped || f.Wait != 0 || !strings.Contains(f.Message, "local resources") {
				t.Errorf("got %+v", f)
			}
		})
	}
}

// A job may be cancelled between two hops: each of them asks.
func TestLeave_IsAskedBeforeEachHop(t *testing.T) {
	eachProtocol(t, func(t *testing.T, _ func(http.Handler) string) {
		h2 := strings.HasSuffix(t.Name(), "2")
		url, hits := sendingOn(t, h2, "/second")
		c := newClient(t)
		r := get(url)
		asked := 0
		r.Leave = func() bool { asked++; return asked < 2 }
		if f := fails(t, c, r, job.KindClosed); f.Unsent {
			t.Errorf("got %+v", f)
		}
		if n := hits.Load(); n != 1 || asked != 2 {
			t.Errorf("%d requests were sent, the question was asked %d times", n, asked)
		}
	})
}

// A cancelled job ends as cancelled at the hop that it prevents.
func TestLeave_ACancelEndsTheHopThatFollows(t *testing.T) {
	url, hits := sendingOn(t, false, "/second")
	r := get(url)
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0
	r.Leave = func() bool {
		if asked++; asked == 2 {
			cancel(ErrCancelled)
			return false
		}
		return true
	}
	out := newClient(t).Do(ctx, r)
	if f := out.Failure; f == nil || f.Kind != job.KindCancelled || hits.Load() != 1 {
		t.Errorf("got %+v after %d requests", f, hits.Load())
	}
}

// While the store is asked, a kept connection may end, or the target may send a response
// too many: the request uses another one, for which the question is asked again.
func TestLeave_LooksAtTheConnectionAgainAfterAWait(t *testing.T) {
	for name, meanwhile := range map[string]func(r turn){
		"it is closed":          func(r turn) { _ = r.raw.Close() },
		"a second response":     func(r turn) { r.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil") },
		"part of a response":    func(r turn) { r.say("HTTP/1.1 ") },
		"a byte of no response": func(r turn) { r.say("x") },
	} {
		t.Run(name, func(t *testing.T) {
			late, done := make(chan struct{}), make(chan struct{})
			url, conns := scripted(t, func(r turn) bool {
				r.say(okay)
				if r.conn == 1 && r.number == 1 {
					<-late
					meanwhile(r)
					close(done)
				}
				return true
			})
			c := newClient(t)
			answered(t, c, get(url))
			r := get(url)
			asked := 0
			r.Leave = func() bool {
				if asked++; asked == 1 {
					close(late)
					<-done
					time.Sleep(longWait + 20*time.Millisecond) // also for the bytes to arrive over loopback
				}
				return true
			}
			if resp := answered(t, c, r); string(resp.Body) != "ok" {
				t.Errorf("the response is %q", resp.Body)
			}
			if asked != 2 || conns.Load() != 2 {
				t.Errorf("the question was asked %d times, %d connections were made; want 2 and 2", asked, conns.Load())
			}
		})
	}
}

// A request has the fields of when it is sent, however long the question took that
// changed them.
func TestLeave_SendsTheFieldsThatItChanged(t *testing.T) {
	eachProtocol(t, func(t *testing.T, start func(http.Handler) string) {
		got := make(chan http.Header, 1)
		url := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
		c := newClient(t)
		for _, test := range []struct {
			kept bool
			took time.Duration
		}{{false, 2 * longWait}, {true, 2 * longWait}, {true, 0}} {
			r := get(url)
			r.Own = []Field{{"X-Points", "1"}}
			r.Leave = func() bool {
				r.Own[0].Value = "2"
				time.Sleep(test.took)
				return true
			}
			answered(t, c, r)
			if points := (<-got).Get("X-Points"); points != "2" {
				t.Errorf("%+v: the request has %q points, want those of when it left", test, points)
			}
		}
	})
}

// If it takes long to make a request again after a wait, as when its values have to be
// stored, whether it may leave is asked again.
func TestLeave_AsksAgainIfTheRequestTakesLongToMake(t *testing.T) {
	eachProtocol(t, func(t *testing.T, start func(http.Handler) string) {
		var hits atomic.Int64
		url := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
		r := get(url)
		asked := 0
		r.Leave = func() bool {
			asked++
			time.Sleep(2 * longWait)
			return asked == 1
		}
		r.Authorize = func(*http.Request, []byte) *job.Failure {
			if asked == 1 {
				time.Sleep(2 * longMaking)
			}
			return nil
		}
		out := newClient(t).Do(t.Context(), r)
		if out.Failure == nil || asked != 2 || hits.Load() != 0 {
			t.Errorf("got %+v after %d questions and %d requests; want a failure after 2 and none", out.Failure, asked, hits.Load())
		}
	})
}

// A connection over which a request was not sent has not been used, however often it was
// taken and listed again.
func TestRecent_OnlyRequestsThatAreSentUseAConnection(t *testing.T) {
	for name, start := range over {
		for what, touch := range map[string]func(t *testing.T, c *Client, url string){
			"a refused request": func(t *testing.T, c *Client, url string) {
				r := get(url)
				r.Leave = func() bool { return false }
				fails(t, c, r, job.KindInterrupted)
			},
			"listed again": func(t *testing.T, c *Client, url string) {
				to := route{plain: strings.HasPrefix(url, "http:"), to: strings.SplitN(url, "//", 2)[1]}
				if conn := c.conns.take(to, false); conn != nil {
					c.conns.back(conn)
				} else if shared := c.http2.take(to, anyConn, time.Time{}); shared != nil {
					c.http2.release(shared)
				} else {
					t.Fatal("there is no idle connection")
				}
			},
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				c, url, conns := start(t)
				answered(t, c, get(url))
				before := conns.Load()
				age(c, 2*recentUse)
				touch(t, c, url)
				r := get(url)
				r.Recent = true
				answered(t, c, r)
				if n := conns.Load() - before; n != 1 {
					t.Errorf("%d more connections were made, want 1", n)
				}
			})
		}
	}
}

// A machine that was suspended has not used its connections meanwhile, though its
// monotonic clock stood still.
func TestRecent_CountsTheTimeOfASuspendedMachine(t *testing.T) {
	for name, start := range over {
		t.Run(name, func(t *testing.T) {
			c, url, conns := start(t)
			answered(t, c, get(url))
			before := conns.Load()
			c.conns.mu.Lock()
			for conn := range c.conns.conns {
				conn.used.wall -= int64(time.Hour)
			}
			c.conns.mu.Unlock()
			r := get(url)
			r.Recent = true
			answered(t, c, r)
			if n := conns.Load() - before; n != 1 {
				t.Errorf("%d more connections were made, want 1", n)
			}
		})
	}
}

package execute

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// turn is a request that a scripted target has received: the number of its
// connection, and its own number on that, both from 1.
type turn struct {
	*http.Request
	conn, number int
	raw          net.Conn
	out          *tls.Conn // nil without TLS
}

func (r turn) say(text string) { _, _ = io.WriteString(r.raw, text) }

func (r turn) readBody() { _, _ = io.Copy(io.Discard, r.Body) }

// scripted starts a target of HTTP/1.1 that answers each request as the test says,
// and closes the connection when that returns false. It counts connections.
func scripted(t testing.TB, answer func(turn) bool) (url string, conns *atomic.Int64) {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, NextProtos: []string{"http/1.1"}}
	conns = &atomic.Int64{}
	return "https://" + listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		if conn.Handshake() == nil {
			script(conn, conn, conns, answer)
		}
	}), conns
}

// script answers the requests on a connection; secure is nil without TLS.
func script(conn net.Conn, secure *tls.Conn, conns *atomic.Int64, answer func(turn) bool) {
	id := int(conns.Add(1))
	in := bufio.NewReader(conn)
	for number := 1; ; number++ {
		req, err := http.ReadRequest(in)
		if err != nil || !answer(turn{req, id, number, conn, secure}) {
			_ = conn.Close()
			return
		}
	}
}

const okay = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func post(url, body string) Request {
	return Request{Method: "POST", URL: url, Body: []byte(body), Timeout: patience}
}

func signed(r Request) Request {
	r.MessageID, r.Signing.Secrets = "msg", []Secret{[]byte("key")}
	return r
}

// rawResponses are responses in the bytes of HTTP/1.1, good and bad. The target closes
// the connection after each.
var rawResponses = map[string]string{
	"empty":                 "",
	"length":                okay,
	"no length":             "HTTP/1.1 200 OK\r\n\r\nuntil the end",
	"HTTP/1.0":              "HTTP/1.0 200 OK\r\n\r\nuntil the end",
	"HTTP/1.0, kept":        "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/1.2":              "HTTP/1.2 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/2.0":              "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
	"HTTP/0.9":              "hello",
	"closing":               "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
	"chunked":               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3;x=y\r\nyes\r\n0\r\n\r\n",
	"trailer":               "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n",
	"half a trailer":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Su",
	"chunked and length":    "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"two encodings":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
	"bad chunk":             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n0\r\n\r\n",
	"huge chunk":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nok\r\n0\r\n\r\n",
	"half a chunk":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nok",
	"half a body":           "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
	"more than the body":    okay + "HTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n",
	"same lengths":          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
	"two lengths":           "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
	"negative length":       "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
	"204":                   "HTTP/1.1 204 No Content\r\n\r\n",
	"204 with a length":     "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nok",
	"304":                   "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n",
	"no reason":             "HTTP/1.1 299\r\nContent-Length: 0\r\n\r\n",
	"status 99":             "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n",
	"status 1000":           "HTTP/1.1 1000 High\r\nContent-Length: 0\r\n\r\n",
	"status of letters":     "HTTP/1.1 abc OK\r\n\r\n",
	"line feeds":            "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
	"no colon":              "HTTP/1.1 200 OK\r\nwhat\r\n\r\n",
	"space before colon":    "HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 2\r\n\r\nok",
	"folded field":          "HTTP/1.1 200 OK\r\nX-A: b\r\n c\r\nContent-Length: 2\r\n\r\nok",
	"first line folded":     "HTTP/1.1 200 OK\r\n X-A: b\r\n\r\n",
	"zero byte":             "HTTP/1.1 200 OK\r\nX-A: b\x00c\r\nContent-Length: 2\r\n\r\nok",
	"same field":            "HTTP/1.1 200 OK\r\nX-A: b\r\nx-a: c\r\nContent-Length: 2\r\n\r\nok",
	"half a status line":    "HTTP/1.1 200",
	"half a header":         "HTTP/1.1 200 OK\r\nX-A: b\r\n",
	"half a field":          "HTTP/1.1 200 OK\r\nX-A",
	"garbage":               "\x16\x03\x01 garbage\r\n\r\n",
	"empty line before":     "\r\nHTTP/1.1 200 OK\r\n\r\n",
	"hints":                 "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + okay,
	"continue":              "HTTP/1.1 100 Continue\r\n\r\n" + okay,
	"hints only":            "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n",
	"many hints":            strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50) + okay,
	"endless hints":         strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 10_000) + okay,
	"hints with a length":   "HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\n" + okay,
	"switch":                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nwhat follows",
	"switch without fields": "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	"long header":           "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 200<<10) + "\r\nContent-Length: 2\r\n\r\nok",
	"longer header":         "HTTP/1.1 200 OK\r\nX-A: " + strings.Repeat("x", 300<<10) + "\r\nContent-Length: 2\r\n\r\nok",
	"many fields":           "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 1_500) + "Content-Length: 2\r\n\r\nok",
	"too many fields":       "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 40_000) + "Content-Length: 2\r\n\r\nok",
	"long body":             fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 100_000, strings.Repeat("x", 100_000)),
	"redirect":              "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nno",
	"compressed":            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
}

// The transport of net/http decides what is right.
func TestExchange_ReadsResponsesAsTheTransportDoes(t *testing.T) {
	for name, text := range rawResponses {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				t.Parallel()
				slowly := false
				url, _ := scripted(t, func(r turn) bool {
					r.readBody()
					if slowly {
						for i := range len(text) {
							r.say(text[i : i+1])
						}
						return false
					}
					r.say(text)
					return false
				})
				r := Request{Method: method, URL: url, Timeout: patience}
				if method == "POST" {
					r.Body = []byte("hello")
				}
				c := newClient(t)
				want := viaTransport(t, c, r)
				got := c.Do(t.Context(), r)
				same(t, got, want)
				awaitNoConns(t, c)
				if slowly = len(text) < 1000; slowly {
					same(t, c.Do(t.Context(), r), want)
				}
			})
		}
	}
}

// viaTransport sends a request over HTTP/1.1 of net/http.
func viaTransport(t *testing.T, c *Client, r Request) job.Outcome {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority().pool}, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeaderBytes}
	defer transport.CloseIdleConnections()
	r.Divert, r.Listener = true, roundTripper{c, transport}
	return c.Do(t.Context(), r)
}

// roundTripper is a listener that answers requests by sending them over a transport.
type roundTripper struct {
	client    *Client
	transport http.RoundTripper
}

func (l roundTripper) Answer(r *http.Request, _ []byte, _ func() bool) (*http.Response, *job.Failure) {
	resp, err := l.transport.RoundTrip(r)
	if err != nil {
		return nil, (&attempt{client: l.client, req: &Request{}, url: r.URL}).failure(r.Context(), err)
	}
	return resp, nil
}

// same expects two outcomes to be the same but for their durations.
func same(t *testing.T, got, want job.Outcome) {
	t.Helper()
	got.Duration, want.Duration, got.Timings, want.Timings = 0, 0, job.Timings{}, job.Timings{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got response %.200v, failure %v\nwant %.200v, %v", got.Response, got.Failure, want.Response, want.Failure)
	}
}

// FuzzExchange_EndsWhateverTheTargetSays sends the bytes as a response, and then a good
// one on the same connection, which must be read by nobody.
func FuzzExchange_EndsWhateverTheTargetSays(f *testing.F) {
	for _, text := range rawResponses {
		if len(text) < 1000 {
			f.Add([]byte(text), false)
			f.Add([]byte(text), true)
		}
	}
	var text atomic.Pointer[[]byte]
	url, _ := scripted(f, func(r turn) bool {
		r.readBody()
		_, _ = r.out.Write(*text.Load())
		return r.Method == "POST" // go on
	})
	f.Fuzz(func(t *testing.T, raw []byte, kept bool) {
		c := newClient(t)
		text.Store(&raw)
		r := get(url)
		r.FollowRedirects = false
		if kept {
			// The target keeps the connection open: a response without an end ends
			// with the attempt.
			r.Method, r.Timeout = "POST", 20*time.Millisecond
		}
		for range 2 {
			out := c.Do(t.Context(), r)
			if (out.Response == nil) == (out.Failure == nil) {
				t.Fatalf("got %+v", out)
			}
			if out.Response != nil && len(out.Response.Body) > job.MaxResponseBody {
				t.Fatalf("got %d bytes", len(out.Response.Body))
			}
		}
		c.Close()
		awaitNoConns(t, c)
	})
}

// What decides whether a connection is kept.
func TestExchange_KeepsConnections(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		conns int64 // that three requests take
	}{
		"length":             {okay, 1},
		"chunked":            {rawResponses["chunked"], 1},
		"trailer":            {rawResponses["trailer"], 1},
		"hints":              {rawResponses["hints"], 1},
		"204":                {rawResponses["204"], 1},
		"closing":            {rawResponses["closing"], 3},
		"HTTP/1.0":           {"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", 3},
		"HTTP/1.0, kept":     {rawResponses["HTTP/1.0, kept"], 3},
		"more than the body": {rawResponses["more than the body"], 3},
		"one byte more":      {okay + "\n", 3},
		"204 with a body":    {rawResponses["204 with a length"], 3},
		"more than a buffer": {fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n%s%s", strings.Repeat("x", 4000),
			strings.Repeat(okay, 20)), 3},
		"filling a buffer": {fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: 4055\r\n\r\n%s%s", strings.Repeat("x", 4055), okay), 3},
		"closing in a list": {"HTTP/1.1 200 OK\r\nConnection: keep-alive, X-A\r\nConnection: x ,\tCLOSE\r\nContent-Length: 2\r\n\r\nok",
			3},
	} {
		t.Run(name, func(t *testing.T) {
			url, conns := scripted(t, func(r turn) bool { r.readBody(); r.say(test.text); return true })
			c := newClient(t)
			for range 3 {
				if got := answered(t, c, post(url, "hello")); got.Status/100 != 2 {
					t.Errorf("got %d", got.Status)
				}
			}
			if n := conns.Load(); n != test.conns {
				t.Errorf("%d connections were made, want %d", n, test.conns)
			}
		})
	}
	t.Run("a HEAD with a body", func(t *testing.T) {
		url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
		c := newClient(t)
		for range 2 {
			answered(t, c, Request{Method: "HEAD", URL: url, Timeout: patience})
		}
		if n := conns.Load(); n != 2 {
			t.Errorf("%d connections were made, want 2", n)
		}
	})
}

// A target may respond to a large request before it has read it.
func TestExchange_EarlyResponseToALargeRequest(t *testing.T) {
	const refused = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno"
	body := strings.Repeat("x", 8<<20)
	for name, after := range map[string]func(turn) bool{
		"never reading": func(turn) bool { return false },
		"closing":       func(turn) bool { return false },
		"reading then":  func(r turn) bool { r.readBody(); return true },
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := scripted(t, func(r turn) bool {
				r.say(refused)
				if name == "never reading" {
					hold(blocked{r.out, t.Context()})
				}
				return after(r)
			})
			c := newClient(t)
			for range 2 {
				out := c.Do(t.Context(), post(url, body))
				if f := out.Failure; name == "closing" && f != nil && f.Kind == job.KindClosed {
					continue // the reset may overtake the response
				}
				if got := out.Response; got == nil || got.Status != 413 || string(got.Body) != "no" {
					t.Errorf("got %+v %+v", out, out.Failure)
				}
			}
			if name != "reading then" {
				awaitNoConns(t, c)
			}
		})
	}
}

// What fails while a large request is written is recognized as what it is.
func TestExchange_CauseOfAnUnsentLargeRequest(t *testing.T) {
	for _, cause := range []error{syscall.ECONNRESET, syscall.ENOBUFS} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://example.com/", strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		defer theirs.Close()
		x := exchange{conn: &targetConn{Conn: ours, stream: broken{ours, cause}, conns: newClient(t).conns}}
		x.sendLarge(req)
		if err := <-x.sent; !errors.Is(err, cause) {
			t.Errorf("got %T (%v), want %v", err, err, cause)
		}
	}
}

// broken is a connection to which nothing can be written.
type broken struct {
	net.Conn
	cause error
}

func (b broken) Write([]byte) (int, error) { return 0, b.cause }

// blocked is a connection from which nothing is read until the test ends.
type blocked struct {
	net.Conn
	ctx context.Context
}

func (b blocked) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, io.EOF }

func TestExchange_LargeRequestsArriveWhole(t *testing.T) {
	sums := make(chan int, 10)
	url, conns := scripted(t, func(r turn) bool {
		body, _ := io.ReadAll(r.Body)
		sums <- bytes.Count(body, []byte("x"))
		r.say(okay)
		return true
	})
	c := newClient(t)
	for _, size := range []int{inlineSize - 1000, inlineSize, inlineSize + 1, 1 << 20, 1} {
		answered(t, c, post(url, strings.Repeat("x", size)))
		if got := receive(t, sums); got != size {
			t.Errorf("%d bytes arrived, want %d", got, size)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// When an attempt ends in whatever phase, so do its goroutines and its connection.
func TestExchange_EndsWithItsAttempt(t *testing.T) {
	large := func(url string) Request { return post(url, strings.Repeat("x", 8<<20)) }
	for name, test := range map[string]struct {
		target  func(reached func()) string
		request func(url string) Request
	}{
		"handshake": {func(reached func()) string {
			return "https://" + listen(t, func(c net.Conn) { reached(); hold(c) })
		}, get},
		"request": {func(reached func()) string {
			url, _ := scripted(t, func(r turn) bool { reached(); hold(blocked{r.out, t.Context()}); return false })
			return url
		}, large},
		"response": {func(reached func()) string {
			url, _ := scripted(t, func(r turn) bool { reached(); return true })
			return url
		}, get},
		"header": {func(reached func()) string {
			url, _ := scripted(t, func(r turn) bool { r.say("HTTP/1.1 200 OK\r\nX-A"); reached(); return true })
			return url
		}, get},
		"body": {func(reached func()) string {
			url, _ := scripted(t, func(r turn) bool { r.say(okay[:len(okay)-1]); reached(); return true })
			return url
		}, get},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			url := test.target(func() { cancel(ErrCancelled) })
			c := newClient(t)
			r := test.request(url)
			r.Timeout = 10 * patience
			out := c.Do(ctx, r)
			if out.Failure == nil || out.Failure.Kind != job.KindCancelled {
				t.Errorf("got %+v %+v", out, out.Failure)
			}
			awaitNoConns(t, c)
			c.Close() // waits for goroutines
		})
	}
}

func TestExchange_SendsNothingAfterItsAttempt(t *testing.T) {
	url, conns := scripted(t, func(r turn) bool {
		if r.number > 1 {
			t.Error("a request was sent")
		}
		r.say(okay)
		return true
	})
	c := newClient(t)
	answered(t, c, get(url))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrCancelled)
	if out := c.Do(ctx, get(url)); out.Failure == nil || out.Failure.Kind != job.KindCancelled {
		t.Errorf("got %+v %+v", out, out.Failure)
	}
	if idle, _ := idleOf(c); idle != 1 || conns.Load() != 1 {
		t.Errorf("%d connections are idle of %d, want 1 of 1", idle, conns.Load())
	}
}

func TestExchange_BlockEndsIt(t *testing.T) {
	c := newClient(t)
	rule, err := ParseRule("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	url, _ := scripted(t, func(turn) bool { c.Block([]Rule{rule}); return true })
	r := post(url, "hello")
	r.Timeout = 10 * patience
	fails(t, c, r, job.KindClosed)
	fails(t, c, r, job.KindBlocked)
	awaitNoConns(t, c)
}

func TestExchange_LeaveReturnsTheConnection(t *testing.T) {
	url, conns := scripted(t, func(r turn) bool { r.say(okay); return true })
	c := newClient(t)
	late := get(url)
	late.Leave = func() bool { return false }
	for range 2 {
		if f := fails(t, c, late, job.KindInterrupted); !f.Unsent {
			t.Errorf("got %+v", f)
		}
	}
	answered(t, c, get(url))
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

func TestExchange_RefusesInvalidFields(t *testing.T) {
	url, _ := scripted(t, func(r turn) bool { t.Error("a request was sent"); return false })
	for _, field := range []Field{{"X-A", "b\r\nX-B: c"}, {"X-A\r\nX-B", "c"}, {"", "c"}, {"X A", "c"}} {
		r := get(url)
		r.Header = []Field{field}
		if f := fails(t, newClient(t), r, job.KindProtocol); f.Message != "a header field of the request is not valid" {
			t.Errorf("%q: got message %q", field, f.Message)
		}
	}
}

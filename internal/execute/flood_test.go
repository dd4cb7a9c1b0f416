package execute

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/punctual-dev/punctual/internal/job"
)

// floods are frames that a target can send forever to no purpose. Stream 1 is
// that of the first request.
var floods = map[string]func(*http2.Framer) error{
	"empty DATA":    func(f *http2.Framer) error { return f.WriteData(1, false, nil) },
	"padded DATA":   func(f *http2.Framer) error { return f.WriteDataPadded(1, false, nil, make([]byte, 255)) },
	"SETTINGS":      func(f *http2.Framer) error { return f.WriteSettings() },
	"SETTINGS acks": func(f *http2.Framer) error { return f.WriteSettingsAck() },
	"PING":          func(f *http2.Framer) error { return f.WritePing(false, [8]byte{}) },
	"PING acks":     func(f *http2.Framer) error { return f.WritePing(true, [8]byte{}) },
	"WINDOW_UPDATE": func(f *http2.Framer) error { return f.WriteWindowUpdate(5, 1) },
	"PRIORITY":      func(f *http2.Framer) error { return f.WritePriority(3, http2.PriorityParam{StreamDep: 5}) },
	"RST_STREAM":    func(f *http2.Framer) error { return f.WriteRSTStream(7, http2.ErrCodeCancel) },
	"CONTINUATION":  func(f *http2.Framer) error { return f.WriteContinuation(1, false, nil) },
	"unknown":       func(f *http2.Framer) error { return f.WriteRawFrame(0xbb, 0, 0, nil) },
	"GOAWAY":        func(f *http2.Framer) error { return f.WriteGoAway(1<<31-1, http2.ErrCodeNo, nil) },
	"PUSH_PROMISE": func(f *http2.Framer) error {
		return f.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
	},
	"1xx": func(f *http2.Framer) error { return writeStatus(f, 1, "103", false) },
}

func writeStatus(f *http2.Framer, stream uint32, status string, end bool) error {
	var block bytes.Buffer
	_ = hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: status})
	return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: end})
}

// framing starts a target that speaks HTTP/2, to a client that prefers it, frame by frame: first is called
// when a connection is there, react with each frame that comes.
func framing(t *testing.T, first func(*framer), react func(*framer, http2.Frame)) string {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, NextProtos: []string{"h2"}}
	return "https://" + listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := &framer{Framer: http2.NewFramer(conn, conn), conn: conn, acks: make(chan struct{}, 64), ended: make(chan struct{})}
		if f.WriteSettings() != nil {
			return
		}
		if first != nil {
			first(f)
		}
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				close(f.ended)
				return
			}
			react(f, frame)
		}
	})
}

type framer struct {
	*http2.Framer
	limited atomic.Bool   // for the test
	acks    chan struct{} // has what a test takes for answers to pings
	ended   chan struct{} // closed when the other side has ended the connection
	conn    net.Conn
}

// flood sends frames until the other side has closed the connection. They go
// out in pieces of some thousand, as fast as they are taken.
func (f *framer) flood(name string) {
	var piece bytes.Buffer
	some := http2.NewFramer(&piece, nil)
	some.AllowIllegalWrites = true
	for range 4000 {
		_ = floods[name](some)
	}
	if name == "CONTINUATION" {
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: nil})
	}
	go func() { _, _ = io.Copy(io.Discard, f.conn) }() // acks are taken
	for {
		if _, err := f.conn.Write(piece.Bytes()); err != nil {
			return
		}
	}
}

// awaitNoConns waits until no connection is left. It looks for those that the target
// has closed.
func awaitNoConns(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, func() string {
		c.conns.sweep()
		c.conns.mu.Lock()
		defer c.conns.mu.Unlock()
		if left := len(c.conns.conns); left > 0 {
			return fmt.Sprintf("%d connections are still open", left)
		}
		return ""
	})
}

func isRequest(frame http2.Frame) bool { _, ok := frame.(*http2.HeadersFrame); return ok }

// A flood while a request is open ends the connection, long before the time
// allowed is over.
func TestFlood_DuringARequestClosesTheConnection(t *testing.T) {
	for name := range floods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClientOf(t, true)
			url := framing(t, nil, func(f *framer, frame http2.Frame) {
				if isRequest(frame) {
					f.flood(name)
				}
			})
			out := c.Do(t.Context(), Request{Method: "GET", URL: url, Timeout: 10 * patience})
			if out.Failure == nil || out.Failure.Kind == job.KindTimeout {
				t.Errorf("got %+v", out)
			}
			awaitNoConns(t, c)
		})
	}
}

// A connection on which an attempt timed out is closed, whatever goes on on it.
func TestTimeout_ClosesTheConnection(t *testing.T) {
	c := newClientOf(t, true)
	url := framing(t, nil, func(f *framer, frame http2.Frame) {
		if _, reset := frame.(*http2.RSTStreamFrame); reset {
			f.flood("PING")
		}
	})
	r := get(url)
	r.Timeout = 100 * time.Millisecond
	fails(t, c, r, job.KindTimeout)
	awaitNoConns(t, c)
}

// Where others use the connection it stays, and they are not disturbed.
func TestTimeout_KeepsASharedConnection(t *testing.T) {
	c := newClient(t)
	waiting := make(chan struct{})
	base, conns := counted(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/patient":
			close(waiting)
			<-r.Context().Done()
		case "/slow":
			<-r.Context().Done()
		case "/released":
			<-waiting
		}
	}))
	answered(t, c, get(base+"/"))
	patient := make(chan job.Outcome, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { patient <- c.Do(ctx, Request{Method: "GET", URL: base + "/patient"}) }()
	<-waiting
	r := get(base + "/slow")
	r.Timeout = 50 * time.Millisecond
	fails(t, c, r, job.KindTimeout)
	answered(t, c, get(base+"/released"))
	cancel(ErrCancelled)
	if out := receive(t, patient); out.Failure == nil || out.Failure.Kind != job.KindCancelled {
		t.Errorf("got %+v", out)
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections were made, want 1", n)
	}
}

// A connection that is kept for later requests is closed when a target goes on
// sending, be it one that was used or one that was opened ahead.
func TestFlood_OnAnIdleConnectionClosesIt(t *testing.T) {
	for name := range floods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClientOf(t, true)
			url := framing(t, nil, func(f *framer, frame http2.Frame) {
				if isRequest(frame) {
					if writeStatus(f.Framer, 1, "204", true) == nil {
						f.flood(name)
					}
				}
			})
			answered(t, c, get(url))
			awaitNoConns(t, c)
		})
	}
	t.Run("opened ahead", func(t *testing.T) {
		t.Parallel()
		c := newClientOf(t, true)
		url := framing(t, func(f *framer) { f.flood("PING") }, func(*framer, http2.Frame) {})
		c.Prewarm(Party{}, url, 1, false)
		c.openings.all.Wait()
		awaitNoConns(t, c)
		awaitWarm(t, c, 0)
	})
}

// Endless answers over HTTP/1.1 end long before the time allowed: each of these
// sends its start once and the rest again and again.
func TestFlood_EndlessResponses(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, x := range map[string]struct{ start, rest string }{
		"1xx":              {"", "HTTP/1.1 103 Early Hints\r\n\r\n"},
		"header":           {ok, "a: b\r\n"},
		"header line":      {ok + "a: ", "b"},
		"status line":      {"HTTP/1.1 200 ", "O"},
		"empty lines":      {"", "\r\n"},
		"chunk extensions": {ok + "Transfer-Encoding: chunked\r\n\r\n", "1;" + strings.Repeat("e", 1000) + "\r\nx\r\n"},
		"chunk extension":  {ok + "Transfer-Encoding: chunked\r\n\r\n1;", "e"},
		"trailer":          {ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "a: b\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t)
			url := hostile(t, func(conn net.Conn) {
				_, err := io.WriteString(conn, x.start)
				for rest := []byte(strings.Repeat(x.rest, 1+8000/len(x.rest))); err == nil; {
					_, err = conn.Write(rest)
				}
			})
			out := c.Do(t.Context(), Request{Method: "GET", URL: url, Timeout: 10 * patience})
			if out.Failure == nil || out.Failure.Kind == job.KindTimeout || out.Failure.Kind == job.KindInterrupted {
				t.Errorf("got %+v", out)
			}
			awaitNoConns(t, c)
		})
	}
}

// A body in chunks of a byte, thousands in each record, is given up soon, whatever
// version of HTTP the response claims to be.
func TestTinyChunksEndEarly(t *testing.T) {
	for _, version := range []string{"HTTP/1.1", "HTTP/2.0"} {
		for client, c := range map[string]*Client{"own": newClient(t), "transport": newClientOf(t, true)} {
			t.Run(version+"/"+client, func(t *testing.T) {
				url := hostile(t, func(conn net.Conn) {
					const chunks = 60_000
					_, _ = io.WriteString(conn, version+" 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+
						strings.Repeat("1\r\na\r\n", chunks)+"0\r\n\r\n")
				})
				out := c.Do(t.Context(), Request{Method: "GET", URL: url, Timeout: 10 * patience})
				if out.Failure == nil || out.Failure.Kind != job.KindProtocol {
					t.Errorf("got failure %+v", out.Failure)
				}
				awaitNoConns(t, c)
			})
		}
	}
}

// A header of many short fields takes more memory than its bytes tell.
func TestFlood_HeadersOfManyFields(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		var fields int
		url := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := range fields {
				w.Header().Set(fmt.Sprintf("X-%d", i), "b")
			}
		}))
		c := newClient(t)
		fields = 1_500
		if resp := answered(t, c, get(url)); len(resp.Header) < fields {
			t.Errorf("got %d fields", len(resp.Header))
		}
		fields = 5_000 // less than 64 KiB
		if f := fails(t, c, get(url), job.KindProtocol); !strings.Contains(f.Message, "128 bytes more") {
			t.Errorf("the message is %q", f.Message)
		}
		awaitNoConns(t, c)
	})
}

// Large answers in small pieces are within the allowance.
func TestFlood_PermitsLargeResponsesInSmallPieces(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for range 40_000 {
				_, _ = io.WriteString(w, "0123456789")
				http.NewResponseController(w).Flush()
			}
		}))
		resp := answered(t, newClient(t), get(base))
		if len(resp.Body) != job.MaxResponseBody || !resp.Truncated {
			t.Errorf("got %d bytes, truncated %t", len(resp.Body), resp.Truncated)
		}
	})
}

// A target that answers and then permits no further request on a connection
// would have one more opened for each attempt. How many stay is bounded, for
// each address and for all.
func TestIdleConnections_AreBounded(t *testing.T) {
	closing := func(f *framer, frame http2.Frame) {
		if isRequest(frame) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
			_ = writeStatus(f.Framer, frame.Header().StreamID, "204", true)
		}
	}
	c := New(Config{Targets: anywhere(), RootCAs: authority().pool, MaxConnsIdle: 3, MaxConnsIdleAll: 5, PreferHTTP2: true})
	defer c.Close()
	var urls []string
	for range 3 {
		urls = append(urls, framing(t, nil, closing))
	}
	for range 10 {
		for i, url := range urls {
			answered(t, c, get(url))
			c.conns.mu.Lock()
			idle, here := c.conns.idle, idleAt(c, strings.TrimPrefix(url, "https://"))
			c.conns.mu.Unlock()
			if idle > 5 || here > 3 {
				t.Fatalf("%d connections are idle, %d of them to target %d", idle, here, i)
			}
		}
	}
	if open := c.Connections(); open > 5 {
		t.Errorf("%d connections are open", open)
	}
}

package execute

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/punctual-dev/punctual/internal/job"
)

// brief is a timeout that is meant to expire.
const brief = 150 * time.Millisecond

func closedPort(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func TestDo_ConnectFailures(t *testing.T) {
	c := newClient(t)
	refused := closedPort(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	withCert := func(change func(*x509.Certificate)) string {
		cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, change)}}
		return listen(t, func(c net.Conn) { tls.Server(c, cfg).Handshake() })
	}
	for _, test := range []struct {
		name    string
		addr    string
		kind    job.Kind
		message string
	}{
		{"refused", refused, job.KindConnect, "the connection to " + refused + " was refused"},
		{"no such port", "127.0.0.1:99999", job.KindBlocked, "port 99999"},
		{"no such name", "nothing.invalid", job.KindDNS, "nothing.invalid"},
		{"plain HTTP", plain.Listener.Addr().String(), job.KindTLS, "plain HTTP"},
		{"not TLS", listen(t, says("220 mail.example ESMTP\r\n")), job.KindTLS, "does not speak TLS"},
		{"other name", withCert(func(c *x509.Certificate) { c.IPAddresses = nil }), job.KindTLS, "not valid for 127.0.0.1"},
		{"expired", withCert(func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), job.KindTLS, "expired"},
		{"closed at once", listen(t, func(net.Conn) {}), job.KindClosed, "TLS handshake"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fails(t, c, get("https://"+test.addr), test.kind)
			if !strings.Contains(f.Message, test.message) {
				t.Errorf("got message %q, want %q in it", f.Message, test.message)
			}
		})
	}
	t.Run("unknown authority", func(t *testing.T) {
		stranger := New(Config{Targets: anywhere(), RootCAs: x509.NewCertPool()})
		defer stranger.Close()
		fails(t, stranger, get("https://"+withCert(nil)), job.KindTLS)
	})
}

func TestHandshakeAlerts(t *testing.T) {
	old := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
	picky := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, ClientAuth: tls.RequireAnyClientCert}
	for name, cfg := range map[string]*tls.Config{"old versions only": old, "client certificate": picky} {
		addr := listen(t, func(c net.Conn) {
			tls.Server(c, cfg).Handshake()
			hold(c)
		})
		f := fails(t, newClient(t), get("https://"+addr), job.KindTLS)
		if !strings.Contains(f.Message, "handshake") {
			t.Errorf("%s: got message %q", name, f.Message)
		}
	}
}

func TestDo_ResponseFailures(t *testing.T) {
	hugeHeader := "HTTP/1.1 200 OK\r\nX-Huge: " + strings.Repeat("x", 300<<10) + "\r\n\r\n"
	for _, test := range []struct {
		name    string
		answer  func(net.Conn)
		kind    job.Kind
		message string
	}{
		{"nothing", func(c net.Conn) { c.Close() }, job.KindClosed, "without a response"},
		{"half a header", says("HTTP/1.1 200 OK\r\nX-A: b\r\n"), job.KindClosed, "without a response"},
		{"half a field", says("HTTP/1.1 200 OK\r\nContent-Le"), job.KindProtocol, "valid HTTP"},
		{"half a body", says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), job.KindClosed, "in the middle"},
		{"half a large body", says("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n" + strings.Repeat("x", 300000)), job.KindClosed,
			"in the middle"},
		{"half a chunked body", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"), job.KindClosed, "in the middle"},
		{"reset", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
			c.(*tls.Conn).NetConn().(*net.TCPConn).SetLinger(0)
			c.(*tls.Conn).NetConn().Close()
		}, job.KindClosed, ""},
		{"garbage", says("\x00\x01\x02\x03 garbage\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"bad status", says("HTTP/1.1 abc OK\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"bad length", says("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"two lengths", says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), job.KindProtocol, "valid HTTP"},
		{"bad field", says("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"field in the words of net/http", says("HTTP/1.1 200 OK\r\nGOAWAY\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"status in the words of net/http", says("HTTP/1.1 GOAWAY OK\r\n\r\n"), job.KindProtocol, "valid HTTP"},
		{"length in the words of net/http", says("HTTP/1.1 200 OK\r\nContent-Length: headers exceeded\r\n\r\n"), job.KindProtocol,
			"valid HTTP"},
		{"bad chunk", says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), job.KindProtocol, "valid HTTP"},
		{"huge header", says(hugeHeader), job.KindProtocol, "256 KiB"},
		{"endless hints", says(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n", 20000)), job.KindProtocol, "256 KiB"},
		{"switching unasked", func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
			hold(c)
		}, job.KindProtocol, "switched"},
		{"plain text under TLS", func(c net.Conn) {
			io.WriteString(c.(*tls.Conn).NetConn(), "garbage below the encryption")
			hold(c)
		}, job.KindTLS, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fails(t, newClient(t), get(hostile(t, test.answer)), test.kind)
			if !strings.Contains(f.Message, test.message) {
				t.Errorf("got message %q, want %q in it", f.Message, test.message)
			}
		})
	}
}

// No response has a status that the API's document does not permit.
func TestDo_RefusesStatusesOutOfRange(t *testing.T) {
	for _, status := range []string{"000", "-00", "099", "+20"} {
		t.Run("HTTP/1.1/"+status, func(t *testing.T) {
			url := hostile(t, says("HTTP/1.1 "+status+" Odd\r\nContent-Length: 0\r\n\r\n"))
			fails(t, newClient(t), get(url), job.KindProtocol)
		})
	}
	for _, status := range []string{"0", "-5", "99", "1000"} {
		t.Run("HTTP/2/"+status, func(t *testing.T) {
			url := framing(t, nil, func(f *framer, frame http2.Frame) {
				if isRequest(frame) {
					_ = writeStatus(f.Framer, frame.Header().StreamID, status, true)
				}
			})
			fails(t, newClientOf(t, true), get(url), job.KindProtocol)
		})
	}
}

func TestTimeouts(t *testing.T) {
	drip := func(c net.Conn) {
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
		}
	}
	for _, test := range []struct{ name, url, message string }{
		{"silent before TLS", "https://" + listen(t, hold), "no response"},
		{"silent", hostile(t, hold), "no response"},
		{"half a header", hostile(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200"); hold(c) }), "no response"},
		{"half a body", hostile(t, func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\nhalf"); hold(c) }),
			"the response was not complete"},
		{"drip", hostile(t, drip), "the response was not complete"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for timeout := brief; ; timeout *= 2 { // on a busy machine a header may come later
				r := get(test.url)
				r.Timeout = timeout
				start := time.Now()
				f := fails(t, newClient(t), r, job.KindTimeout)
				if took := time.Since(start); took < timeout || took > patience {
					t.Errorf("it took %v", took)
				}
				said, within, _ := strings.Cut(f.Message, " within ")
				if timeout == brief && within != "150 ms" {
					t.Errorf("got message %q", f.Message)
				}
				if said == test.message {
					return
				}
				if timeout > patience/4 {
					t.Fatalf("got message %q", f.Message)
				}
			}
		})
	}
}

// The timeout is for the attempt, not for each hop.
func TestTimeoutCoversRedirects(t *testing.T) {
	base := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(brief / 2):
			http.Redirect(w, r, "/", http.StatusFound)
		}
	}))
	r := get(base)
	r.Timeout = brief
	fails(t, newClient(t), r, job.KindTimeout)
}

func TestDo_StoppedContext(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		asked := make(chan struct{})
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/body" {
				io.WriteString(w, "half")
				http.NewResponseController(w).Flush()
			}
			asked <- struct{}{}
			<-r.Context().Done()
		}))
		c := newClient(t)
		for _, path := range []string{"/", "/body"} {
			for cause, kind := range map[error]job.Kind{
				ErrCancelled: job.KindCancelled, ErrInterrupted: job.KindInterrupted,
				fmt.Errorf("wrapped: %w", ErrCancelled): job.KindCancelled,
				errors.New("something else"):            job.KindInterrupted,
			} {
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() {
					<-asked
					cancel(cause)
				}()
				if out := c.Do(ctx, get(base+path)); out.Failure == nil || out.Failure.Kind != kind {
					t.Errorf("%s, %v: got %+v, want %s", path, cause, out.Failure, kind)
				}
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ErrCancelled)
		if out := c.Do(ctx, get(base)); out.Failure == nil || out.Failure.Kind != job.KindCancelled {
			t.Errorf("cancelled before: got %+v", out.Failure)
		}
		ctx, stop := context.WithTimeout(t.Context(), 0)
		defer stop()
		if out := c.Do(ctx, get(base)); out.Failure == nil || out.Failure.Kind != job.KindTimeout {
			t.Errorf("the caller's deadline: got %+v", out.Failure)
		}
	})
}

// An endless body is cut off without failing the attempt.
func TestEndlessBody(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		var sent int
		done := make(chan struct{})
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(done)
			for block := make([]byte, 64<<10); ; sent += len(block) {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}))
		got := answered(t, newClient(t), get(base))
		if len(got.Body) != job.MaxResponseBody || !got.Truncated {
			t.Errorf("got %d bytes, truncated %v", len(got.Body), got.Truncated)
		}
		receive(t, done)
		if sent < maxResponse || sent > 3*maxResponse {
			t.Errorf("%d bytes were sent", sent)
		}
	})
}

// framed starts a target that speaks HTTP/2, to a client that prefers it, in frames of the test's making. It
// is called once the request's header is there.
func framed(t *testing.T, answer func(c net.Conn, f *http2.Framer, stream uint32)) string {
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}, NextProtos: []string{"h2"}}
	return "https://" + listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		f.AllowIllegalWrites = true
		f.WriteSettings()
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok {
				answer(conn, f, h.StreamID)
				hold(conn)
				return
			}
		}
	})
}

func TestHTTP2Failures(t *testing.T) {
	header := func(f *http2.Framer, stream uint32) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte{0x88}, EndHeaders: true}) // :status 200
	}
	for _, test := range []struct {
		name   string
		answer func(net.Conn, *http2.Framer, uint32)
		kind   job.Kind
	}{
		{"stream reset", func(_ net.Conn, f *http2.Framer, s uint32) { f.WriteRSTStream(s, http2.ErrCodeInternal) }, job.KindClosed},
		{"reset in the body", func(_ net.Conn, f *http2.Framer, s uint32) {
			header(f, s)
			f.WriteData(s, false, []byte("half"))
			f.WriteRSTStream(s, http2.ErrCodeCancel)
		}, job.KindClosed},
		{"GOAWAY", func(c net.Conn, f *http2.Framer, s uint32) {
			f.WriteGoAway(s, http2.ErrCodeEnhanceYourCalm, []byte("no"))
			c.Close()
		}, job.KindClosed},
		{"closed", func(c net.Conn, _ *http2.Framer, _ uint32) { c.Close() }, job.KindClosed},
		{"closed in the body", func(c net.Conn, f *http2.Framer, s uint32) { header(f, s); c.Close() }, job.KindClosed},
		{"unknown stream", func(_ net.Conn, f *http2.Framer, s uint32) { f.WriteData(s+100, false, []byte("x")) }, job.KindProtocol},
		{"no status", func(_ net.Conn, f *http2.Framer, s uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: []byte{0x82}, EndHeaders: true}) // :method GET
		}, job.KindProtocol},
		{"bad compression", func(_ net.Conn, f *http2.Framer, s uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: bytes.Repeat([]byte{0xff}, 20), EndHeaders: true})
		}, job.KindProtocol},
		{"huge header", func(_ net.Conn, f *http2.Framer, s uint32) {
			f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: []byte{0x88}})
			for range 40 {
				f.WriteContinuation(s, false, hugeField())
			}
			f.WriteContinuation(s, true, hugeField())
		}, job.KindProtocol},
		{"not frames", func(c net.Conn, _ *http2.Framer, _ uint32) { io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
			job.KindProtocol},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := fails(t, newClientOf(t, true), get(framed(t, test.answer)), test.kind)
			if strings.Contains(f.Message, "http2") {
				t.Errorf("got message %q", f.Message)
			}
		})
	}
}

// hugeField is a literal field of 10 KiB in HPACK: "x: yyy...".
func hugeField() []byte {
	const size = 10 << 10
	block := []byte{0x00, 1, 'x', 127, (size-127)&127 | 128, (size - 127) >> 7}
	return append(block, strings.Repeat("y", size)...)
}

func TestDo_InvalidURL(t *testing.T) {
	for _, url := range []string{"", "/path", "ftp://127.0.0.1/?token=secret", "https://", "https://h:x/?token=secret", "https://\x00/"} {
		if f := fails(t, newClient(t), get(url), job.KindConnect); strings.Contains(f.Message, "secret") {
			t.Errorf("%q: got message %q", url, f.Message)
		}
	}
}

// A dial that outlives its own deadline on the way to one of several addresses
// is no timeout of the attempt.
func TestDo_TimeoutOfOneAddressIsNotAnAttemptTimeout(t *testing.T) {
	u, _ := parseURL("https://example.com")
	a := &attempt{req: &Request{Timeout: patience}, deadline: time.Now().Add(patience), url: u}
	err := &dialError{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}
	if f := a.failure(t.Context(), err); f.Kind != job.KindConnect {
		t.Errorf("got %+v", f)
	}
	a.deadline = time.Now()
	if f := a.failure(t.Context(), err); f.Kind != job.KindTimeout {
		t.Errorf("past the deadline: got %+v", f)
	}
	if f := a.failure(t.Context(), &dialError{&net.DNSError{IsTimeout: true}}); f.Kind != job.KindTimeout {
		t.Errorf("names, past the deadline: got %+v", f)
	}
}

// A handshake that takes longer than any may is told from one that fails.
func TestFailure_AHandshakeThatTakesTooLong(t *testing.T) {
	a := &attempt{url: &url.URL{Scheme: "https", Host: "example.com"}}
	want := "the TLS handshake with example.com was not complete within " + span(dialLimit)
	if got := a.explainTLS(&handshakeError{context.DeadlineExceeded}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := a.explainTLS(&handshakeError{errors.New("any")}); !strings.HasSuffix(got, "example.com failed") {
		t.Errorf("got %q", got)
	}
}

package edge

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
)

// pipes is a listener that hands out the ends of pipes.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// far is the end of a pipe whose other end has an address.
type far struct {
	net.Conn
	addr netip.AddrPort
}

func (f far) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(f.addr) }

// hall is a Server in a bubble of fake time, with clients at the ends of pipes.
type hall struct {
	*testing.T
	*Server
	listener pipes
}

// public is the address of clients unless they have another.
const public = "192.0.2.1"

func newHall(t *testing.T, most int, handler http.HandlerFunc) *hall {
	t.Helper()
	return newHallWith(t, ServerConfig{Handler: handler, MaxConnections: most, Policy: &Policy{Proxies: network.Loopback}})
}

func newHallWith(t *testing.T, config ServerConfig) *hall {
	t.Helper()
	config.Log = slog.New(slog.DiscardHandler)
	config.Refuse = func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), map[fault.Code]int{
			fault.Misdirected: 421, fault.Unreadable: 400, fault.TooMany: 429, fault.Unavailable: 503, fault.HeaderTooLarge: 431,
			fault.Unexpected: 417, fault.NotImplemented: 501, fault.VersionNotSupported: 505,
		}[fault.CodeOf(err)])
	}
	h := &hall{T: t, Server: NewServer(config), listener: make(pipes)}
	served := make(chan error, 1)
	go func() { served <- h.Serve(h.listener) }()
	t.Cleanup(func() {
		_ = h.Server.Close()
		<-served
		time.Sleep(time.Second) // the server lets clients read why they are refused
		if f := h.Figures(); f.Received != 0 || f.Unread != 0 || f.Connections != 0 {
			t.Errorf("left are %+v", f)
		}
	})
	return h
}

// client is one connection to a hall.
type client struct {
	net.Conn
	*testing.T
	reader *bufio.Reader
	sent   chan struct{} // closed when slowly has ended
}

func (h *hall) dial(from string) *client {
	h.Helper()
	near, theirs := net.Pipe()
	h.listener <- far{theirs, netip.AddrPortFrom(netip.MustParseAddr(from), 1234)}
	return &client{near, h.T, bufio.NewReader(near), make(chan struct{})}
}

// send writes without waiting until all of it was read.
func (c *client) send(text string) { go func() { _, _ = io.WriteString(c, text) }() }

// readSome reads what a server writes at once of a large response.
func (c *client) readSome() {
	if _, err := io.ReadFull(c, make([]byte, 4<<10)); err != nil {
		c.Error(err)
	}
}

// answer reads a response and returns its status; 0 when the connection was closed.
func (c *client) answer() int {
	c.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			c.Errorf("reading a response: %v", err)
		}
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// wantClosed fails the test unless the connection is closed after a time, without
// more of a response than that a line was not finished.
func (c *client) wantClosed(after time.Duration) {
	c.Helper()
	start := time.Now()
	if rest, err := io.ReadAll(c.reader); len(rest) > 0 && !bytes.HasPrefix(rest, []byte("HTTP/1.1 400 ")) || err != nil {
		c.Errorf("the connection is not closed: %q, %v", rest, err)
	}
	if took := time.Since(start); took != after {
		c.Errorf("it was closed after %s, want %s", took, after)
	}
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// post is the beginning of a call that declares a length.
func post(length int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", length)
}

func nothing(http.ResponseWriter, *http.Request) {}

// swallow reads the body and responds with what came of it.
func swallow(w http.ResponseWriter, r *http.Request) {
	_, err := io.Copy(io.Discard, r.Body)
	w.WriteHeader(statusOf(err))
}

func statusOf(err error) int {
	if err == nil {
		return 200
	}
	return map[fault.Code]int{fault.TooSlow: 408, fault.TooMany: 429, fault.Internal: 400}[fault.CodeOf(err)]
}

// holding is a handler that reads bodies and holds them until it is let go.
func holding() (handler http.HandlerFunc, letGo func()) {
	done := make(chan struct{})
	return func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			<-done
		}
		w.WriteHeader(statusOf(err))
	}, func() { close(done) }
}

func mib(n int) string { return strings.Repeat("x", n<<20) }

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// slowly writes a text in equal pieces, one each second.
func (c *client) slowly(text string, pieces int) {
	defer close(c.sent)
	size := len(text) / pieces
	for text := []byte(text); len(text) > 0; {
		n := min(size, len(text))
		if _, err := io.Copy(c, bytes.NewReader(text[:n])); err != nil {
			return
		}
		text = text[n:]
		time.Sleep(time.Second)
	}
}

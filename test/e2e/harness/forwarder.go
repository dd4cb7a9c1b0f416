package harness

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Forwarder is an address that leads to a service, which may change: a service has
// another port after a restart.
type Forwarder struct {
	URL string

	mu sync.Mutex
	to string
}

// Forward returns an address that leads to a service's URL until the test ends.
func Forward(t testing.TB, to string) *Forwarder {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &Forwarder{URL: "http://" + l.Addr().String()}
	f.To(to)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	return f
}

// To makes new connections lead to another URL.
func (f *Forwarder) To(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to = strings.TrimPrefix(url, "http://")
}

func (f *Forwarder) serve(conn net.Conn) {
	defer conn.Close()
	f.mu.Lock()
	to := f.to
	f.mu.Unlock()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, conn)
		_ = server.Close()
	}()
	_, _ = io.Copy(conn, server)
}

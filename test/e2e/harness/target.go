package harness

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Target is a TLS server that jobs, callbacks and webhooks are sent to. It
// listens on 127.0.0.1 and, where the machine has it, on ::1 at the same port.
type Target struct {
	// URL is the target's origin, https://127.0.0.1:PORT.
	URL string
	// Port is the port it listens on.
	Port string

	server *http.Server
	conns  connections

	mu     sync.Mutex
	routes map[string]*Route
	next   int
}

var sharedTarget struct {
	sync.Once
	target *Target
	err    error
}

// SharedTarget returns the target that all tests of the process use; each takes
// routes of its own.
func SharedTarget(t testing.TB) *Target {
	t.Helper()
	sharedTarget.Do(func() { sharedTarget.target, sharedTarget.err = newTarget(false) })
	if sharedTarget.err != nil {
		t.Fatal(sharedTarget.err)
	}
	return sharedTarget.target
}

// NewTarget starts a target of the test's own, which it may close.
func NewTarget(t testing.TB) *Target {
	t.Helper()
	return owned(t, false)
}

// NewHTTP1Target starts a target of the test's own that speaks HTTP/1.1 only.
func NewHTTP1Target(t testing.TB) *Target {
	t.Helper()
	return owned(t, true)
}

func owned(t testing.TB, http1 bool) *Target {
	t.Helper()
	target, err := newTarget(http1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Close)
	return target
}

func newTarget(http1 bool) (*Target, error) {
	ca, err := authority()
	if err != nil {
		return nil, err
	}
	v4, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(v4.Addr().String())
	if err != nil {
		return nil, err
	}
	target := &Target{URL: "https://127.0.0.1:" + port, Port: port, routes: map[string]*Route{}}
	target.server = &http.Server{
		Handler:   target,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{ca.leaf}, MinVersion: tls.VersionTLS12},
		Protocols: offered(http1),
		ErrorLog:  log.New(io.Discard, "", 0), // handshakes broken off are part of some tests
	}
	target.conns.watch(target.server)
	go target.serve(v4)
	if v6, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		go target.serve(v6)
	}
	return target, nil
}

// offered returns the protocols a target speaks; nil stands for all.
func offered(http1 bool) *http.Protocols {
	if !http1 {
		return nil
	}
	offered := &http.Protocols{}
	offered.SetHTTP1(true)
	return offered
}

func (tg *Target) serve(l net.Listener) {
	if err := tg.server.ServeTLS(l, "", ""); err != nil && !errors.Is(err, http.ErrServerClosed) {
		panic(fmt.Sprintf("the target stopped serving: %v", err))
	}
}

// Close stops the target at once; connections to it are refused from then on.
func (tg *Target) Close() { _ = tg.server.Close() }

// Route returns a path of the target that no other test uses, with everything
// below it. It responds with 200 and an empty body until told otherwise.
func (tg *Target) Route(t testing.TB) *Route {
	t.Helper()
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.next++
	path := fmt.Sprintf("/r%d", tg.next)
	r := &Route{Path: path, URL: tg.URL + path, changed: make(chan struct{})}
	tg.routes[path] = r
	t.Cleanup(r.releaseAll)
	return r
}

// ServeHTTP records the request and responds as its route says.
func (tg *Target) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := time.Now()
	first, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	tg.mu.Lock()
	route := tg.routes["/"+first]
	tg.mu.Unlock()
	if route == nil {
		http.NotFound(w, req)
		return
	}
	body, err := io.ReadAll(req.Body)
	hit := &Hit{
		Method: req.Method, Path: req.URL.EscapedPath(), RawQuery: req.URL.RawQuery, Host: req.Host,
		Header: req.Header.Clone(), Body: body, At: at, BodyErr: err, conn: connectionOf(req),
	}
	answer := route.begin(hit)
	defer func() {
		cause := recover() // http.ErrAbortHandler, from dropping the connection
		route.end(hit, cause != nil || req.Context().Err() != nil)
		if cause != nil {
			panic(cause)
		}
	}()
	answer.ServeHTTP(w, req)
}

// Query returns the query of a hit, parsed.
func (h Hit) Query() url.Values {
	values, _ := url.ParseQuery(h.RawQuery) // malformed pairs are left out, as servers do
	return values
}

// BareTarget starts a TLS server for measurements, which records nothing, and
// gives its URL.
func BareTarget(t testing.TB, handler http.Handler) string {
	t.Helper()
	ca, err := authority()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{ca.leaf}}
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

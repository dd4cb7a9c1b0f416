package deploy

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/ports"
)

// before runs each kind of proxy before nodes.
func before(t *testing.T, test func(t *testing.T, start func(p *proxy, nodes ...string) *proxy)) {
	t.Parallel()
	for name, run := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func(p *proxy, nodes ...string) *proxy {
				if p == nil {
					p = newProxy(t)
				}
				run(t, p, nodes)
				return p
			})
		})
	}
}

// node is a node that only tells what reaches it. Its address has no scheme.
func node(t *testing.T, handler http.HandlerFunc) string {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestProxy_ForwardsTheClientsAddressAndHost(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		seen := make(chan *http.Request, 1)
		p := start(nil, node(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/seen" {
				seen <- r
			}
		}))
		request, err := http.NewRequest(http.MethodGet, p.url("/seen"), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Forwarded-Host", "evil.example")
		request.Header.Set("X-Forwarded-Proto", "http")
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		r := <-seen
		if want := "localhost:" + p.port; r.Host != want {
			t.Errorf("Host is %q, want %q", r.Host, want)
		}
		if got := r.Header.Get("X-Forwarded-Proto"); got != "https" {
			t.Errorf("X-Forwarded-Proto is %q", got)
		}
		if got := r.Header.Get("X-Forwarded-For"); got != "127.0.0.1" {
			t.Errorf("X-Forwarded-For is %q", got)
		}
		if got := r.Header.Get("X-Forwarded-Host"); got != "" && got != "localhost:"+p.port {
			t.Errorf("X-Forwarded-Host is what the client sent: %q", got)
		}
	})
}

func TestProxy_PassesWebSocketsOn(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		p := start(nil, node(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "websocket" || !strings.EqualFold(r.Header.Get("Connection"), "upgrade") {
				return
			}
			conn, both, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
			line, _ := both.ReadString('\n')
			_, _ = io.WriteString(conn, "heard "+line)
		}))
		request, err := http.NewRequest(http.MethodGet, p.url("/api/anything"), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Connection", "Upgrade")
		request.Header.Set("Upgrade", "websocket")
		response, err := p.client.Transport.RoundTrip(request) // a client with a timeout hides the stream
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		stream, ok := response.Body.(io.ReadWriter)
		if response.StatusCode != http.StatusSwitchingProtocols || !ok {
			t.Fatalf("status %d", response.StatusCode)
		}
		if _, err := io.WriteString(stream, "hello\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stream).ReadString('\n'); line != "heard hello\n" {
			t.Errorf("the other side said %q, %v", line, err)
		}
	})
}

func TestProxy_LeavesOutANodeThatIsNotReady(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		var served atomic.Int64
		unready := node(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		ready := node(t, func(http.ResponseWriter, *http.Request) { served.Add(1) })
		gone := ports.Free(t)
		p := start(nil, unready, ready, gone)
		get := func() int {
			response, err := p.client.Get(p.url("/api/ping"))
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			return response.StatusCode
		}
		// Caddy asks /readyz for the first time when it starts; nginx learns by a call.
		harness.Eventually(t, 30*time.Second, "the first call to be served", func() bool { return get() == http.StatusOK })
		for range 30 {
			if status := get(); status != http.StatusOK {
				t.Fatalf("a call got status %d although a node was ready", status)
			}
		}
		if served.Load() < 30 {
			t.Errorf("the ready node served %d calls", served.Load())
		}
	})
}

func TestProxy_ServesTheService(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		p := newProxy(t)
		s := harness.Start(t, harness.Flag("public-url", p.url("")))
		start(p, strings.TrimPrefix(s.URL(), "http://"))
		for path, want := range map[string]int{
			"/metrics": 404, "/readyz": 404, "/healthz": 404, "/api/ping": 200, "/api/jobs": 401, "/openapi.json": 200, "/sign-in": 200,
		} {
			response, err := p.client.Get(p.url(path))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s: status %d, want %d", path, response.StatusCode, want)
			}
			if path == "/api/ping" && response.Header.Get("Strict-Transport-Security") != "" {
				t.Error("the service asks for https at localhost")
			}
		}
		large := strings.NewReader(strings.Repeat(" ", 1<<20+1000))
		request, err := http.NewRequest(http.MethodPost, p.url("/api/jobs"), large)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+harness.PublicKey)
		request.Header.Set("Content-Type", "application/json")
		response, err := p.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusRequestEntityTooLarge ||
			got != "application/problem+json" {
			t.Errorf("a body that is a little too large gets %d of type %q, want the service's own problem", response.StatusCode, got)
		}
	})
}

func TestProxy_PassesEventsOnAsTheyCome(t *testing.T) {
	before(t, func(t *testing.T, start func(*proxy, ...string) *proxy) {
		received := make(chan struct{})
		p := start(nil, node(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/events" {
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: 1\n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-received: // only then comes the end
			case <-r.Context().Done():
			}
			_, _ = io.WriteString(w, "data: 2\n\n")
		}))
		response, err := p.client.Get(p.url("/api/events"))
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() && lines.Text() != "data: 1" {
		}
		if lines.Text() != "data: 1" {
			t.Fatalf("no event came: %v", lines.Err())
		}
		close(received)
		for lines.Scan() && lines.Text() != "data: 2" {
		}
		if lines.Text() != "data: 2" {
			t.Errorf("the second event did not come: %v", lines.Err())
		}
	})
}

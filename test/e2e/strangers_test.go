package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// stranger is a bare connection to a service.
type stranger struct {
	net.Conn
	t      *testing.T
	reader *bufio.Reader
}

func connect(t *testing.T, s *harness.Service) *stranger {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &stranger{c, t, bufio.NewReader(c)}
}

func connectMany(t *testing.T, s *harness.Service, n int) []*stranger {
	t.Helper()
	all := make([]*stranger, n)
	for i := range all {
		all[i] = connect(t, s)
	}
	return all
}

// send writes what the service may refuse to read.
func (c *stranger) send(text string) { _, _ = io.WriteString(c, text) }

// answer reads a response; nil when the connection is closed without one.
func (c *stranger) answer() *http.Response {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.t.Error("there is no answer, and the connection is not closed")
		}
		return nil
	}
	body, _ := io.ReadAll(response.Body)
	response.Body = io.NopCloser(strings.NewReader(string(body)))
	return response
}

// status is that of the answer; 0 for none.
func (c *stranger) status() int {
	if response := c.answer(); response != nil {
		return response.StatusCode
	}
	return 0
}

func text(response *http.Response) string {
	if response == nil {
		return ""
	}
	body, _ := io.ReadAll(response.Body)
	return string(body)
}

func broadcastOf(length int) string {
	return fmt.Sprintf("POST /api/broadcast HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n", length)
}

func TestAHeaderThatNeverEndsIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := connect(t, harness.Shared(t))
	c.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	start := time.Now()
	if status := c.status(); status != 0 && status != 400 {
		t.Errorf("it is answered with %d", status)
	}
	if took := time.Since(start); took < 9*time.Second || took > 20*time.Second {
		t.Errorf("it was closed after %s", took)
	}
}

func TestABodyThatDoesNotArriveIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	c := connect(t, harness.Shared(t))
	c.send(broadcastOf(100) + `{"content": "`)
	start := time.Now()
	response := c.answer()
	if response == nil || response.StatusCode != 408 || !strings.Contains(text(response), "the body arrived too slowly") {
		t.Fatalf("it is answered with %v", response)
	}
	if took := time.Since(start); took < 9*time.Second || took > 20*time.Second {
		t.Errorf("it was answered after %s", took)
	}
	if status := c.status(); status != 0 {
		t.Errorf("the connection is used again: %d", status)
	}
}

func TestAHeaderOfVeryManyLinesIsRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, harness.Shared(t))
	c.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("A:\r\n", 1200))
	if status := c.status(); status != 431 {
		t.Errorf("it is answered with %d", status)
	}
}

func TestDeclaredLengthsCostNoMemory(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	before := metric(t, s.Client(t, ""), "process_resident_memory_bytes")
	for _, c := range connectMany(t, s, 800) {
		c.send(broadcastOf(1<<20) + "{")
	}
	ann := s.Account(t)
	create(ann.Client, waiting)
	after := metric(t, s.Client(t, ""), "process_resident_memory_bytes")
	t.Logf("memory grew from %.0f to %.0f MiB", before/(1<<20), after/(1<<20))
	if grown := after - before; grown > 150<<20 {
		t.Errorf("memory has grown by %.0f MiB", grown/(1<<20))
	}
}

func TestAFloodOfConnectionsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"silent": "", "header": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", "body": broadcastOf(1<<20) + "{", "idle": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t, harness.Flag("max-connections", "64")) // 48 of this machine
			ann := s.Account(t)
			for _, c := range connectMany(t, s, 300) {
				c.send(begin)
			}
			for range 20 {
				create(ann.Client, waiting)
			}
			if open := metric(t, s.Client(t, ""), "punctual_connections"); open > 48 {
				t.Errorf("%.0f connections are open", open)
			}
			if n := metric(t, s.Client(t, ""), `punctual_connections_refused_total{reason="idle"}`); n < 200 {
				t.Errorf("%.0f connections made room", n)
			}
		})
	}
}

func TestLargeBodiesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := s.Account(t)
	// All but the last byte arrives: 32 MiB for this machine, less what is free.
	for _, c := range connectMany(t, s, 33) {
		c.send(broadcastOf(1<<20) + `{"content":"` + strings.Repeat("x", 1<<20-13))
	}
	harness.Eventually(t, soon, "the bodies to arrive", func() bool {
		return metric(t, s.Client(t, ""), `punctual_bytes_in_flight{direction="received"}`) > 31<<20
	})
	large := `{"content":"` + strings.Repeat("x", 1<<20-14) + `"}`
	refused := s.Client(t, "").Post("/api/broadcast", large).WantProblem(429)
	if refused.Header.Get("Retry-After") != "1" || !strings.Contains(string(refused.Body), "your network is sending too much at once") {
		t.Errorf("it is refused by %s", refused)
	}
	create(ann.Client, waiting)
	s.Client(t, "").Post("/api/broadcast", `{"content":"hello"}`).Want(200)
}

func TestAClientThatDoesNotReadItsAnswerIsLetGo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := s.Account(t)
	for range 30 {
		create(ann.Client, `{"url":"https://example.com/hook","method":"post","scheduled_at":"`+far+`","body":"`+strings.Repeat("x", 1<<20-200)+`"}`)
	}
	c := connect(t, s)
	if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	before := metric(t, s.Client(t, ""), "punctual_connections")
	c.send("GET /api/jobs?limit=100 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + ann.Key + "\r\n\r\n")
	harness.Eventually(t, soon, "the response to be unread", func() bool {
		return metric(t, s.Client(t, ""), `punctual_bytes_in_flight{direction="sent"}`) > 0
	})
	harness.Eventually(t, 2*soon, "the client to be let go", func() bool {
		return metric(t, s.Client(t, ""), `punctual_bytes_in_flight{direction="sent"}`) == 0 && metric(t, s.Client(t, ""), "punctual_connections") < before
	})
}

func TestOtherHostsThanThePublicURLAreRefused(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("public-url", "https://punctual.example.com"))
	ask := func(path, host string, headers ...string) *http.Response {
		t.Helper()
		c := connect(t, s)
		c.send("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n")
		response := c.answer()
		if response == nil {
			t.Fatalf("%s at %s is not answered", path, host)
		}
		return response
	}
	for _, path := range []string{"/", "/sign-up", "/api/ping", "/api/jobs", "/nowhere"} {
		response := ask(path, "evil.example")
		if response.StatusCode != 421 || response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(text(response), "this service is at https://punctual.example.com; use that address") {
			t.Errorf("%s is answered with %d", path, response.StatusCode)
		}
	}
	if response := ask("/api/ping", "punctual.example.com"); response.StatusCode != 200 || response.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
		t.Errorf("the public host is answered with %d and %q", response.StatusCode, response.Header)
	}
	if response := ask("/api/ping", "punctual.example.com", "X-Forwarded-Proto: http\r\n"); response.Header.Get("Strict-Transport-Security") != "" {
		t.Errorf("over http there is %q", response.Header)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if response := ask(path, "10.0.0.7:8080"); response.StatusCode != 200 {
			t.Errorf("%s is answered with %d", path, response.StatusCode)
		}
	}
	s.Client(t, "").Get("/api/ping").Want(200) // by the machine's own address
}

// signUp signs a person up, by the form of the dashboard, from where a proxy says.
func signUp(t *testing.T, s *harness.Service, email, code, from string) (status int, cookies []*http.Cookie) {
	t.Helper()
	form := url.Values{"email": {email}, "password": {"correct horse battery"}, "setup": {code}}
	request, err := http.NewRequest(http.MethodPost, s.URL()+"/sign-up", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Forwarded-For", from)
	request.Header.Set("X-Forwarded-Proto", "https")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Cookies()
}

func TestTheFirstPersonNeedsTheSetupCode(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	code := s.SetupCode(t)
	if !strings.Contains(s.Stderr(), `"setup_code":"`+code+`"`) {
		t.Error("the code is not in the log")
	}
	// Wrong ones are counted by the network that the proxy names.
	for range 10 {
		if status, _ := signUp(t, s, "eve@example.com", "0000-0000-0000-0000", "192.0.2.1"); status != 422 {
			t.Fatalf("a wrong code is answered with %d", status)
		}
	}
	if status, _ := signUp(t, s, "eve@example.com", code, "192.0.2.1"); status != 429 {
		t.Errorf("the eleventh is answered with %d", status)
	}
	status, cookies := signUp(t, s, "ann@example.com", code, "192.0.2.2")
	if status != 303 || len(cookies) == 0 || !cookies[0].Secure || !strings.HasPrefix(cookies[0].Name, "__Host-") {
		t.Errorf("the first person: %d, %v", status, cookies)
	}
	// The code is of no use any more, and a restart makes no other.
	if status, _ := signUp(t, s, "eve@example.com", code, "192.0.2.3"); status != 403 {
		t.Errorf("a second person is answered with %d", status)
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	written := s.Stdout()
	s.Restart(t)
	harness.Eventually(t, soon, "the service to be ready", func() bool { return s.Client(t, "").Get("/readyz").Status == 200 })
	if again := strings.TrimPrefix(s.Stdout(), written); strings.Contains(again, "setup code") {
		t.Errorf("it wrote %q", again)
	}
}

func TestAStrangersWordAboutAddressesDoesNotCount(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("trusted-proxies", "192.0.2.0/24"))
	code := s.SetupCode(t)
	for i := range 10 {
		if status, cookies := signUp(t, s, "eve@example.com", "x", fmt.Sprintf("198.51.100.%d", i)); status != 422 || len(cookies) > 0 {
			t.Fatalf("a wrong code is answered with %d", status)
		}
	}
	if status, _ := signUp(t, s, "eve@example.com", code, "198.51.100.99"); status != 429 {
		t.Errorf("the eleventh is answered with %d", status)
	}
}

var metricsAddress = regexp.MustCompile(`"metrics_address":"([^"]+)"`)

func TestMetricsAreServedElsewhere(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("metrics-listen", "127.0.0.1:0"), harness.Flag("public-url", "https://punctual.example.com"))
	var found []string
	harness.Eventually(t, soon, "the address", func() bool {
		found = metricsAddress.FindStringSubmatch(s.Stderr())
		return found != nil
	})
	elsewhere := "http://" + found[1]
	status := func(address string) int {
		t.Helper()
		response, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for path, want := range map[string][2]int{
		"/metrics": {404, 200}, "/healthz": {200, 200}, "/readyz": {200, 200}, "/api/ping": {200, 404}, "/api/jobs": {401, 404}, "/": {200, 404}, "/docs": {200, 404},
	} {
		if here, there := status(s.URL()+path), status(elsewhere+path); here != want[0] || there != want[1] {
			t.Errorf("%s: %d on the public address and %d on the other one, want %v", path, here, there, want)
		}
	}
	if code := s.Stop(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

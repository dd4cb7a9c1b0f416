package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
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

// send writes data that the service may refuse to read.
func (c *stranger) send(text string) { _, _ = io.WriteString(c, text) }

// answer reads a response; nil if the connection is closed without one.
func (c *stranger) answer() *http.Response {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(pace.Guard(30 * time.Second)))
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

// status is the status of the response; 0 if there is none.
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

func TestLimitConnection_HeaderThatNeverEndsTimesOut(t *testing.T) {
	t.Parallel()
	shared := harness.Shared(t)
	start := time.Now()
	c := connect(t, shared)
	c.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
	if status := c.status(); status != 0 && status != 400 {
		t.Errorf("it is answered with %d", status)
	}
	if took := time.Since(start); took < 9*time.Second || took > harness.Allowed(20*time.Second, start) {
		t.Errorf("it was closed after %s", took)
	}
}

func TestLimitConnection_BodyThatDoesNotArriveTimesOut(t *testing.T) {
	t.Parallel()
	shared := harness.Shared(t)
	start := time.Now()
	c := connect(t, shared)
	c.send(broadcastOf(100) + `{"content": "`)
	response := c.answer()
	if response == nil || response.StatusCode != 408 || !strings.Contains(text(response), "the body arrived too slowly") {
		t.Fatalf("it is answered with %v", response)
	}
	if took := time.Since(start); took < 9*time.Second || took > harness.Allowed(20*time.Second, start) {
		t.Errorf("it was answered after %s", took)
	}
	if status := c.status(); status != 0 {
		t.Errorf("the connection is used again: %d", status)
	}
}

func TestLimitConnection_HeaderOfVeryManyLinesIsRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, harness.Shared(t))
	c.send("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + strings.Repeat("A:\r\n", 1200))
	if status := c.status(); status != 431 {
		t.Errorf("it is answered with %d", status)
	}
}

func TestLimitConnection_DeclaredLengthsCostNoMemory(t *testing.T) {
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

// TestLimitConnection_UnreadRecordsOfDuplicatesAreBounded repeats the create of a job of
// a megabyte, in small calls from clients that don't read the responses.
func TestLimitConnection_UnreadRecordsOfDuplicatesAreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := s.Account(t)
	create(ann.Client, `{"url":"https://example.com/","method":"post","idempotency_key":"k","scheduled_at":"`+far+`","body":"`+
		strings.Repeat("x", 1<<20-300)+`"}`)
	before := metric(t, s.Client(t, ""), "process_resident_memory_bytes")
	const body = `{"url":"https://example.com/","idempotency_key":"k"}`
	call := fmt.Sprintf("POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", ann.Key,
		len(body), body)
	const clients = 500
	for _, c := range connectMany(t, s, clients) {
		if err := c.Conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		c.send(strings.Repeat(call, 6)) // more than the kernel keeps
	}
	peak, held := 0.0, 0.0
	harness.Eventually(t, 3*soon, "the calls to be answered or cut off", func() bool {
		peak = max(peak, metric(t, s.Client(t, ""), "process_resident_memory_bytes"))
		held = max(held, metric(t, s.Client(t, ""), "punctual_answer_bytes"))
		answered := 0.0
		for _, status := range []string{"200", "429", "503"} {
			answered += metric(t, s.Client(t, ""), `punctual_http_requests_total{route="/api/jobs",status="`+status+`"}`)
		}
		return answered > clients
	})
	t.Logf("memory grew from %.0f to %.0f MiB, %.0f were held for answers", before/(1<<20), peak/(1<<20), held/(1<<20))
	if held > 33<<20 || peak-before > 300<<20 {
		t.Errorf("memory has grown by %.0f MiB, %.0f were held for answers", (peak-before)/(1<<20), held/(1<<20))
	}
}

func TestLimitConnection_FloodKeepsNoOtherClientOut(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"silent": "", "header": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n", "body": broadcastOf(1<<20) + "{",
		"idle": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
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

func TestLimitConnection_LargeBodiesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := s.Account(t)
	large := `{"content":"` + strings.Repeat("x", 1<<20-14) + `"}`
	var refused *harness.Answer
	for try := 0; try < 3 && (refused == nil || refused.Status == 200); try++ { // bodies that began long ago time out on a busy machine
		// All but the last byte arrives: 32 MiB for this machine, less what is free.
		for _, c := range connectMany(t, s, 33) {
			c.send(broadcastOf(1<<20) + `{"content":"` + strings.Repeat("x", 1<<20-13))
		}
		harness.Eventually(t, soon, "the bodies to arrive", func() bool {
			return metric(t, s.Client(t, ""), `punctual_bytes_in_flight{direction="received"}`) > 31<<20
		})
		refused = s.Client(t, "").Post("/api/broadcast", large)
	}
	refused.WantProblem(429)
	if refused.Header.Get("Retry-After") != "1" || !strings.Contains(string(refused.Body), "your network is sending too much at once") {
		t.Errorf("it is refused by %s", refused)
	}
	create(ann.Client, waiting)
	s.Client(t, "").Post("/api/broadcast", `{"content":"hello"}`).Want(200)
}

func TestLimitConnection_ClientThatDoesNotReadItsResponseIsClosed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ann := s.Account(t)
	for range 30 {
		create(ann.Client, `{"url":"https://example.com/hook","method":"post","scheduled_at":"`+far+`","body":"`+
			strings.Repeat("x", 1<<20-200)+`"}`)
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
		return metric(t, s.Client(t, ""), `punctual_bytes_in_flight{direction="sent"}`) == 0 &&
			metric(t, s.Client(t, ""), "punctual_connections") < before
	})
}

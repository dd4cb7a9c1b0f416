package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
	"github.com/punctual-dev/punctual/test/pace"
)

// TestAPIGarbled_HTTPIsRefusedAndTheServiceContinues sends what no HTTP client
// sends. The response is partly up to the HTTP library; it must be a refusal or
// a closed connection, and the service must continue.
func TestAPIGarbled_HTTPIsRefusedAndTheServiceContinues(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	const auth = "Host: x\r\nAuthorization: Bearer " + harness.PublicKey + "\r\n"
	tests := []struct{ name, text string }{
		{"noise", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"},
		{"no version", "GET /api/jobs\r\n\r\n"},
		{"another version", "GET /api/jobs HTTP/9.9\r\n" + auth + "\r\n"},
		{"no host", "GET /api/jobs HTTP/1.1\r\n\r\n"},
		{"two lengths", "POST /api/jobs HTTP/1.1\r\n" + auth + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"},
		{"a negative length", "POST /api/jobs HTTP/1.1\r\n" + auth + "Content-Length: -1\r\n\r\n{}"},
		{"length and chunks", "POST /api/jobs HTTP/1.1\r\n" + auth + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"},
		{"a malformed chunk", "POST /api/jobs HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n"},
		{"an unknown coding", "POST /api/jobs HTTP/1.1\r\n" + auth + "Transfer-Encoding: zip\r\n\r\n{}"},
		{"a null in a header", "GET /api/jobs HTTP/1.1\r\n" + auth + "X: a\x00b\r\n\r\n"},
		{"a folded header", "GET /api/jobs HTTP/1.1\r\nX: a\r\n\x01 b\r\n\r\n"},
		{"a bad escape", "GET /api/jobs/%zz HTTP/1.1\r\n" + auth + "\r\n"},
		{"headers without end", "GET /api/jobs HTTP/1.1\r\n" + auth + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1500) +
			"\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, err := exchange(s, test.text)
			if err == nil && (status < 400 || status > 499) && status != http.StatusNotImplemented &&
				status != http.StatusHTTPVersionNotSupported {
				t.Errorf("answered %d", status)
			}
			s.Client(t, "").Get("/healthz").Want(200)
		})
	}
}

func TestAPIGarbled_TruncatedBodyStoresNothing(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	a := s.Account(t)
	head := "POST /api/jobs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + a.Key + "\r\nContent-Type: application/json\r\n"
	for _, rest := range []string{"Content-Length: 5000\r\n\r\n" + waiting, "Transfer-Encoding: chunked\r\n\r\n10\r\n" + waiting[:16]} {
		if status, err := exchange(s, head+rest); err == nil && status < 400 {
			t.Errorf("answered %d", status)
		}
	}
	wantSame(t, "the list", a.Get("/api/jobs").Want(200).Data(), `[]`)
}

// exchange sends a text, closes its side of the connection, and returns the
// status of the response.
func exchange(s *harness.Service, text string) (int, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(pace.Guard(soon))); err != nil {
		return 0, err
	}
	// The service may answer and close before it has read all.
	_, _ = io.WriteString(conn, text)
	_ = conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return resp.StatusCode, nil
}

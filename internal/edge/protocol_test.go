package edge

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/punctual-dev/punctual/internal/fault"
)

// What net/http answers itself is answered in the service's way, also on a connection
// that a handler has answered on; what a handler answers stays as it is.
func TestProtocolErrorsAreAnsweredByRefuse(t *testing.T) {
	for sent, want := range map[string]struct {
		status int
		text   string
	}{
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n":                                         {400, "percent-encode the address"},
		"GET / HTTP/1.1\r\n\r\n":                                                       {400, "missing required Host header"},
		"GET / HTTP/1.1\r\nHost: a\r\nB\x00: c\r\n\r\n":                                {400, "can't be read"},
		"nothing at all\r\n\r\n":                                                       {400, "can't be read"},
		"GET /" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n":         {431, "64 KiB"},
		"GET / HTTP/1.1\r\nHost: a\r\nB: " + strings.Repeat("c", 80<<10) + "\r\n\r\n":  {431, "64 KiB"},
		"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("B: c\r\n", 1200) + "\r\n":    {431, "1000 headers"},
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n":                {501, "chunked"},
		"GET / HTTP/3.7\r\nHost: a\r\n\r\n":                                            {505, "HTTP/1.1"},
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: a miracle\r\nContent-Length: 0\r\n\r\n": {417, "100-continue"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHall(t, 100, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "HTTP/1.1 400 Bad Request", 400) })
			for _, used := range []bool{false, true} {
				c := h.dial(public)
				if used {
					c.send(get)
					if text, status := c.read(); status != 400 || text != "HTTP/1.1 400 Bad Request\n" {
						t.Errorf("a handler's response has become %d: %s", status, text)
					}
				}
				c.send(sent)
				if text, status := c.read(); status != want.status || !strings.Contains(text, want.text) {
					t.Errorf("%.60q: %d %q, want %d with %q", sent, status, text, want.status, want.text)
				}
				_ = c.Close()
			}
		})
	}
}

// read reads a response whole.
func (c *client) read() (text string, status int) {
	c.Helper()
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		c.Errorf("reading a response: %v", err)
		return "", 0
	}
	body, _ := io.ReadAll(response.Body)
	return string(body), response.StatusCode
}

func TestMisread_LeavesOtherResponsesAlone(t *testing.T) {
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "data: HTTP/1.1 400",
		"HTTP/1.1 ", "HTTP/1.1 abc d"} {
		if err := misread([]byte(text)); err != nil {
			t.Errorf("%q is taken for %v", text, err)
		}
	}
	if code := fault.CodeOf(misread([]byte("HTTP/1.1 499 New\r\n\r\n"))); code != fault.Unreadable {
		t.Errorf("an unknown status has the code %d", code)
	}
}

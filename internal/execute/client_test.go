package execute

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// seen is a request as a target saw it.
type seen struct {
	*http.Request
	body string
}

// recorder is a target that hands on what it sees and answers 200.
func recorder() (http.Handler, chan seen) {
	c := make(chan seen, 16)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c <- seen{r, string(body)}
	}), c
}

func TestDo(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := recorder()
		base := serve(h)
		answered(t, newClient(t), Request{
			Method: "PATCH", URL: base + "/a?b=c#fragment",
			Header:  []Field{{"x-one", "1"}, {"X-Many", "a"}, {"x-other", "2"}, {"X-Many", "b"}},
			Own:     []Field{{"Content-Type", "application/json"}, {"X-Punctual-Attempt", "1"}},
			Body:    []byte(`{"a":1}`),
			Timeout: patience,
		})
		got := receive(t, requests)
		if got.Method != "PATCH" || got.RequestURI != "/a?b=c" || got.body != `{"a":1}` || got.ContentLength != 7 {
			t.Errorf("got %s %s %q (%d bytes)", got.Method, got.RequestURI, got.body, got.ContentLength)
		}
		want := http.Header{
			"X-One": {"1"}, "X-Many": {"a", "b"}, "X-Other": {"2"}, "X-Punctual-Attempt": {"1"},
			"Content-Type": {"application/json"}, "Content-Length": {"7"}, "User-Agent": {"punctual/1.2.3"},
		}
		if !reflect.DeepEqual(got.Header, want) {
			t.Errorf("got header %v, want %v", got.Header, want)
		}
	})
}

func TestDo_JobsFieldsOverrideOwn(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := recorder()
		r := get(serve(h))
		r.Header = []Field{
			{"user-agent", "mine"}, {"x-PUNCTUAL-attempt", "seven"}, {"accept-encoding", "br"},
			{"user-agent", "too"}, {"x-punctual-hops", "0"}, {"Webhook-ID", "forged"}, {"WEBHOOK-signature", "forged"},
			{"webhook-timestamp", "0"},
			{"host", "elsewhere.example"}, {"content-length", "100"}, {"Transfer-Encoding", "chunked"}, {"connection", "close"},
			{"Expect", "100-continue"}, {"x-punctual-complete", "https://forged.example/"},
		}
		r.Own = []Field{{"X-Punctual-Attempt", "1"}, {"X-Punctual-Job-Id", "5"}}
		r.MessageID, r.Signing.Secrets, r.Hops = "msg", []Secret{[]byte("key")}, 2
		answered(t, newClient(t), r)
		got := receive(t, requests)
		for name, want := range map[string]string{
			"User-Agent": "mine too punctual/1.2.3", "X-Punctual-Attempt": "1", "X-Punctual-Job-Id": "5",
			"Accept-Encoding": "br", "Webhook-Id": "msg", "X-Punctual-Hops": "2",
		} {
			if values := got.Header[name]; len(values) != 1 || values[0] != want {
				t.Errorf("%s is %q, want %q", name, values, want)
			}
		}
		if n := len(got.Header["Webhook-Signature"]); n != 1 || strings.Contains(got.Header.Get("Webhook-Signature"), "forged") {
			t.Errorf("got %d signatures: %q", n, got.Header["Webhook-Signature"])
		}
		if got.Host == "elsewhere.example" || got.ContentLength != 0 || got.TransferEncoding != nil ||
			got.Header["X-Idempotency-Key"] != nil ||
			got.Header["Expect"] != nil || got.Header["X-Punctual-Complete"] != nil {
			t.Errorf("got host %s, length %d, encoding %v, header %v", got.Host, got.ContentLength, got.TransferEncoding, got.Header)
		}
	})
}

func TestDo_PlainAsksForTheWholeResponse(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		h, requests := recorder()
		r := get(serve(h))
		r.Plain = true
		r.Header = []Field{{"accept-encoding", "gzip"}, {"Accept-Encoding", "br"}, {"Range", "bytes=0-3"}, {"if-range", `"a"`},
			{"A-IM", "gzip"}, {"Accept", "text/plain"}}
		answered(t, newClient(t), r)
		got := receive(t, requests).Header
		if coding := got["Accept-Encoding"]; len(coding) != 1 || coding[0] != "identity" || got["Range"] != nil || got["If-Range"] != nil ||
			got["A-Im"] != nil || got.Get("Accept") != "text/plain" {
			t.Errorf("sent %v", got)
		}
	})
}

// wire returns a request in the bytes of HTTP/1.1.
func wire(t *testing.T, r Request) string {
	t.Helper()
	texts := make(chan string, 1)
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}}
	addr := listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		var text bytes.Buffer
		req, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &text)))
		if err == nil {
			io.Copy(io.Discard, req.Body)
		}
		texts <- text.String()
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
	})
	r.URL = "https://" + addr + r.URL
	answered(t, newClient(t), r)
	return receive(t, texts)
}

func TestBytesOnTheWire(t *testing.T) {
	r := get(`/a%2fb//c d/é"<>?q=$job.id&b[c]=%2f&d=100%&e={"x":'y'}&f= ü#gone`)
	r.Header = []Field{{"sOAPaction", "x"}, {"x-a", "1"}, {"X-A", "2"}}
	text := wire(t, r)
	const line = `GET /a%2fb//c%20d/%C3%A9%22%3C%3E?q=$job.id&b[c]=%2f&d=100%&e=%7B%22x%22:'y'%7D&f=%20%C3%BC HTTP/1.1` + "\r\n"
	if !strings.HasPrefix(text, line) {
		t.Errorf("got %q, want %q", text, line)
	}
	for _, field := range []string{"sOAPaction: x", "x-a: 1", "X-A: 2"} {
		if !strings.Contains(text, "\r\n"+field+"\r\n") {
			t.Errorf("%q is missing in %q", field, text)
		}
	}
}

func TestNoBody(t *testing.T) {
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		for _, body := range [][]byte{nil, {}} {
			r := get("/")
			r.Method, r.Body = method, body
			text := strings.ToLower(wire(t, r))
			if strings.Contains(text, "content-type") || strings.Contains(text, "transfer-encoding") ||
				strings.Contains(text, "accept-encoding") {
				t.Errorf("%s: got %q", method, text)
			}
			if posts := method[0] == 'P'; posts != strings.Contains(text, "content-length: 0\r\n") {
				t.Errorf("%s: got %q", method, text)
			}
		}
	}
}

func TestDo_Response(t *testing.T) {
	const kept = job.MaxResponseBody
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var status, size int
			fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &size)
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("X-Kept", "yes")
			if r.URL.RawQuery == "flush" {
				http.NewResponseController(w).Flush()
			}
			w.WriteHeader(status)
			w.Write(bytes.Repeat([]byte("x"), size))
		}))
		c := newClient(t)
		for _, test := range []struct {
			path      string
			status    int
			size      int
			truncated bool
		}{
			{"/200/0", 200, 0, false}, {"/204/0", 204, 0, false}, {"/304/0", 304, 0, false},
			{"/200/10", 200, 10, false}, {"/418/700", 418, 700, false}, {"/500/100000", 500, 100000, false},
			{fmt.Sprintf("/200/%d", kept-1), 200, kept - 1, false}, {fmt.Sprintf("/200/%d", kept), 200, kept, false},
			{fmt.Sprintf("/200/%d", kept+1), 200, kept, true}, {"/200/3000000", 200, kept, true},
			{"/200/8192", 200, 8192, false}, {"/200/10?flush", 200, 10, false}, {"/200/513?flush", 200, 513, false},
		} {
			got := answered(t, c, get(base+test.path))
			if got.Status != test.status || len(got.Body) != test.size || got.Truncated != test.truncated {
				t.Errorf("%s: got %d with %d bytes, truncated %v", test.path, got.Status, len(got.Body), got.Truncated)
			}
			if strings.Trim(string(got.Body), "x") != "" || test.status != 200 && got.Header.Get("X-Kept") != "yes" {
				t.Errorf("%s: got another body or header: %v", test.path, got.Header)
			}
		}
	})
}

// A connection is reused even after a response that is longer than what is
// kept, and after redirects.
func TestDo_KeepsConnections(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		var mu sync.Mutex
		conns := map[string]bool{}
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			conns[r.RemoteAddr] = true
			mu.Unlock()
			if r.URL.Path == "/from" {
				w.Header().Set("Location", "/to")
				w.WriteHeader(http.StatusFound)
			}
			w.Write(make([]byte, 2000))
			if r.URL.Path == "/large" {
				w.Write(make([]byte, 4*job.MaxResponseBody))
			}
		}))
		c := newClient(t)
		for _, path := range []string{"/", "/large", "/from", "/", "/from"} {
			answered(t, c, get(base+path))
		}
		mu.Lock()
		defer mu.Unlock()
		if len(conns) != 1 {
			t.Errorf("%d connections were made", len(conns))
		}
	})
}

func TestDo_IgnoresProxyFromEnvironment(t *testing.T) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	h, _ := recorder()
	answered(t, newClient(t), get(serve(t, true, h)))
}

func TestDuration(t *testing.T) {
	const pause = 30 * time.Millisecond
	base := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).Flush()
		<-time.After(pause)
	}))
	start := time.Now()
	out := newClient(t).Do(context.Background(), get(base))
	if took := time.Since(start); out.Duration < pause || out.Duration > took {
		t.Errorf("the duration is %v, the call took %v", out.Duration, took)
	}
}

package hostile

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// gullible is a target whose faults let one request on a connection touch the next. At
// /ignore it takes no notice of Content-Length, so that a body is the start of the next
// request. After a request to /late it sends one response too many, as soon as another
// request has come.
type gullible struct {
	mu    sync.Mutex
	heads []string
}

func serveGullible(t *testing.T, secure bool) (g *gullible, url string) {
	t.Helper()
	g = &gullible{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	url = "http://" + listener.Addr().String()
	if secure {
		url = "https://" + listener.Addr().String()
		config := harness.TLSConfig(t)
		config.NextProtos = []string{"http/1.1"}
		listener = tls.NewListener(listener, config)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.speak(conn)
		}
	}()
	return g, url
}

// speak answers the requests on a connection, and keeps the head of each.
func (g *gullible) speak(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in, late := bufio.NewReader(conn), false
	for {
		head, err := readHead(in)
		if err != nil {
			return
		}
		g.mu.Lock()
		g.heads = append(g.heads, head)
		g.mu.Unlock()
		if late {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n\"forged\"")
		}
		line, _, _ := strings.Cut(head, "\r\n")
		if !strings.Contains(line, " /ignore") {
			if match := lengthField.FindStringSubmatch(head); match != nil {
				n, _ := strconv.Atoi(match[1])
				if _, err := io.CopyN(io.Discard, in, int64(n)); err != nil {
					return
				}
			}
		}
		body := `"genuine"`
		if strings.Contains(line, " /token") {
			body = `{"access_token":"the-token-of-the-victim","expires_in":3600}`
		}
		_, err = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if err != nil {
			return
		}
		late = strings.Contains(line, " /late")
	}
}

var lengthField = regexp.MustCompile(`\r\nContent-Length: (\d+)\r\n`)

func readHead(in *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String(), nil
		}
	}
}

// received returns and forgets the heads of the requests that the target saw.
func (g *gullible) received() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	heads := g.heads
	g.heads = nil
	return heads
}

// captures are the bodies of an attacker: starts of requests, to be completed by the
// next request on the connection, in a field or as a body; and the one response too many.
var captures = map[string]string{
	"field":    "GET /captured HTTP/1.1\r\nX-Captured: ",
	"body":     "POST /captured HTTP/1.1\r\nContent-Length: 700\r\n\r\n",
	"response": "",
}

// wantHeads returns what the victim sends, byte for byte, but for what differs from one
// job to another.
func wantHeads(host, job string) *regexp.Regexp {
	const (
		agent   = `User-Agent: punctual/\S+\r\n`
		coding  = `(?i:Accept-Encoding: identity\r\n)?`
		service = `X-Punctual-Attempt: 1\r\nX-Punctual-Hops: 1\r\nX-Punctual-Job-Id: \d+\r\nX-Punctual-Scheduled-At: \S+\r\n`
		signed  = `webhook-id: job_\S+\r\nwebhook-signature: v1,[^\r]+\r\nwebhook-timestamp: \d+\r\n`
		victims = `x-victim: (Bearer the-token-of-the-victim|the-secret-of-the-victim)\r\n`
	)
	host = ` HTTP/1\.1\r\nHost: ` + regexp.QuoteMeta(host) + `\r\n`
	token := `POST /token` + host + agent + `Content-Length: 29\r\nAccept: application/json\r\n` + coding +
		`Authorization: Basic \S+\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n`
	return regexp.MustCompile(`^(` + token + `|GET ` + job + host + agent + coding + service + coding + signed + victims + `\r\n)$`)
}

// TestCapture_NoRequestTouchesAnothers has a stranger prepare the connections to a target
// that many use. What the victim sends afterwards, be it a
// job with a secret or the fetch of a token, arrives as it was sent, and gets its own
// response.
func TestCapture_NoRequestTouchesAnothers(t *testing.T) {
	t.Parallel()
	for _, prefer := range []string{"false", "true"} {
		for _, secure := range []bool{true, false} {
			t.Run(fmt.Sprintf("prefer-http2=%s,tls=%t", prefer, secure), func(t *testing.T) {
				t.Parallel()
				service := harness.Start(t, harness.SecretsKey(t), harness.Flag("prefer-http2", prefer),
					harness.Flag("allow-http-targets", "true"))
				victim, stranger := service.Account(t), service.Public(t)
				for name, prefix := range captures {
					for _, token := range []bool{false, true} {
						if secure || !token {
							t.Run(fmt.Sprintf("%s,token=%t", name, token), func(t *testing.T) {
								capture(t, stranger, victim.Client, secure, token, prefix)
							})
						}
					}
				}
			})
		}
	}
}

// capture has a stranger send a job, and then the victim, whose request uses a secret
// over TLS: a token if so.
func capture(t *testing.T, stranger, victim *harness.Client, secure, token bool, prefix string) {
	target, url := serveGullible(t, secure)
	path, header := "/ignore", "the-secret-of-the-victim"
	if prefix == "" {
		path = "/late"
	}
	switch name := "s" + strconv.FormatInt(time.Now().UnixNano(), 36); {
	case token:
		header = "Bearer {{secret." + name + "}}"
		victim.Do("PUT", "/api/secrets/"+name, `{"hosts":["127.0.0.1"],"oauth2":{"token_url":"`+url+
			`/token","client_id":"c","client_secret":"the-secret-of-the-client"}}`).Want(201)
	case secure:
		header = "{{secret." + name + "}}"
		victim.Do("PUT", "/api/secrets/"+name, `{"value":"the-secret-of-the-victim","hosts":["127.0.0.1"]}`).Want(201)
	}
	run(t, stranger, fmt.Sprintf(`{"method":"post","retries":0,"metadata":false,"headers":{"content-type":"text/plain"},"url":"%s%s","body":%q}`, url, path, prefix))
	target.received()
	if body := run(t, victim, fmt.Sprintf(`{"retries":0,"timeout":60,"url":"%s/victim","headers":{"x-victim":"%s"}}`, url,
		header)); body != `"genuine"` {
		t.Errorf("the victim got the response %q", body)
	}
	heads := target.received()
	for _, head := range heads {
		if !wantHeads(url[strings.LastIndexByte(url, '/')+1:], "/victim").MatchString(head) {
			t.Errorf("the target received\n%s", head)
		}
	}
	if len(heads) == 0 {
		t.Error("the target received nothing")
	}
}

// run creates a job, waits until it is final and returns the response of its log.
func run(t *testing.T, c *harness.Client, body string) (response string) {
	t.Helper()
	number := c.Post("/api/jobs", body).Want(201).Data().Get("job_id").Int()
	harness.Eventually(t, 20*time.Second, "the end of the job", func() bool {
		switch c.Get(fmt.Sprintf("/api/jobs/%d", number)).Want(200).Data().Get("job.state").Str() {
		case "completed", "discarded":
			return true
		}
		return false
	})
	for _, log := range c.Get(fmt.Sprintf("/api/logs?limit=100&job_id=%d", number)).Want(200).Data().Items() {
		if event := log.Get("event").Str(); event == "worker.http.response" {
			return log.Get("payload.body").Raw()
		}
	}
	return ""
}

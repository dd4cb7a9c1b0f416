package e2e

import (
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// wantFailure fails the test unless a single attempt on an address fails with
// this kind, and returns its log.
func wantFailure(t *testing.T, c *harness.Client, address, kind string) harness.JSON {
	t.Helper()
	job, payload := finished(t, c, `{"retries":0,"timeout":300,"url":"`+address+`"}`, "discarded")
	wantEvents(t, logsOf(c, job), "http.request", "http.error")
	wantSame(t, "kind", payload.Get("kind"), quote(kind))
	wantKeys(t, "the log of a failure", payload, "kind", "message", "duration_ms", "attempt", "retry_at")
	wantSame(t, "attempt", payload.Get("attempt"), "1")
	wantSame(t, "retry_at of the last attempt", payload.Get("retry_at"), "null")
	if message := payload.Get("message").Str(); len(strings.Fields(message)) < 3 {
		t.Errorf("a message nobody can act on: %q", message)
	}
	return payload
}

func TestFailure_LogNamesItsKind(t *testing.T) {
	t.Parallel()
	a := account(t)
	http1 := harness.NewHTTP1Target(t)
	tests := []struct {
		name, kind string
		address    func(t *testing.T) string
	}{
		{"a name that does not exist", "dns", func(*testing.T) string { return "https://nobody.invalid/" }},
		{"nobody listening", "connect", func(*testing.T) string { return "https://127.0.0.1:1/" }},
		{"a certificate nobody trusts", "tls", func(t *testing.T) string {
			server := httptest.NewTLSServer(nil)
			t.Cleanup(server.Close)
			return server.URL
		}},
		{"no TLS at all", "tls", func(t *testing.T) string {
			server := httptest.NewServer(nil)
			t.Cleanup(server.Close)
			return strings.Replace(server.URL, "http:", "https:", 1)
		}},
		{"a connection dropped over HTTP/2", "closed", func(t *testing.T) string {
			return harness.SharedTarget(t).Route(t).Respond(harness.Drop()).URL
		}},
		{"a connection dropped over HTTP/1.1", "closed", func(t *testing.T) string {
			return http1.Route(t).Respond(harness.Drop()).URL
		}},
		{"an answer that ends halfway", "closed", func(t *testing.T) string {
			return http1.Route(t).Respond(harness.Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")).URL
		}},
		{"an answer that is not HTTP", "protocol", func(t *testing.T) string {
			return http1.Route(t).Respond(harness.Raw("220 mail.example.com ESMTP\r\n")).URL
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantFailure(t, a.For(t), test.address(t), test.kind)
		})
	}
}

// privateName returns a host name that resolves to a private address of this
// machine, and skips the test if there is none.
func privateName(t *testing.T) string {
	t.Helper()
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	addresses, err := net.LookupIP(name)
	if err != nil || len(addresses) == 0 {
		t.Skipf("the machine's name %q leads nowhere: %v", name, err)
	}
	for _, ip := range addresses {
		if !ip.IsPrivate() && !ip.IsLoopback() {
			t.Skipf("the machine's name %q leads to a public address", name)
		}
	}
	return name
}

func TestFailure_BlockedAddressIsNotRetried(t *testing.T) {
	t.Parallel()
	name := privateName(t)
	s := harness.Start(t, harness.NoFlag("allow-private-targets"))
	c := s.Public(t)
	job, payload := finished(t, c, `{"url":"https://`+name+`:`+harness.SharedTarget(t).Port+`/"}`, "discarded")
	wantEvents(t, logsOf(c, job), "http.request", "http.error")
	wantSame(t, "kind", payload.Get("kind"), `"blocked"`)
	wantSame(t, "retry_at", payload.Get("retry_at"), "null")
}

func TestFailure_BlockedReceiversAreNeverConnectedTo(t *testing.T) {
	t.Parallel()
	name := privateName(t)
	s := harness.Start(t, harness.NoFlag("allow-private-targets"))
	c := s.Public(t)
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connected := make(chan struct{}, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_ = conn.Close()
			connected <- struct{}{}
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	address := "https://" + name + ":" + port + "/"
	finished(t, c, `{"url":"`+address+`","callback_url":"`+address+`","webhook_url":"`+address+`"}`, "discarded")
	harness.Eventually(t, soon, "the messages to be tried", func() bool {
		return metric(t, c, `punctual_attempts_total{kind="delivery",outcome="blocked"}`) >= 5
	})
	select {
	case <-connected:
		t.Error("the service connected to a private address")
	default:
	}
}

func TestFailure_LogSaysWhenTheRetryIsDue(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, `{"url":"https://127.0.0.1:1/"}`)
	logs := awaitLogs(t, a.Client, job, 2, soon)
	wantSame(t, "attempt", logs[1].Get("payload.attempt"), "1")
	wantMatch(t, "retry_at", logs[1].Get("payload.retry_at"), microsPattern)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
}

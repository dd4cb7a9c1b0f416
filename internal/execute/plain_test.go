package execute

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// plainTarget starts a target without TLS and returns its URL.
func plainTarget(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	target := httptest.NewServer(h)
	t.Cleanup(target.Close)
	return target.URL
}

// plainClient returns a client that may call test targets, also without TLS.
func plainClient(t testing.TB) *Client {
	targets := anywhere()
	targets.AllowHTTP = true
	c := New(Config{Version: "1.2.3", Targets: targets, RootCAs: authority().pool, MaxConnsIdle: 64})
	t.Cleanup(c.Close)
	return c
}

func TestDo_HTTPIsRefusedUnlessAllowed(t *testing.T) {
	url := plainTarget(t, func(http.ResponseWriter, *http.Request) { t.Error("the target was called") })
	if f := fails(t, newClient(t), get(url), job.KindBlocked); !strings.Contains(f.Message, "https only") {
		t.Errorf("got message %q", f.Message)
	}
}

func TestDo_HTTPReusesItsConnection(t *testing.T) {
	addrs := map[string]bool{}
	url := plainTarget(t, func(w http.ResponseWriter, r *http.Request) {
		addrs[r.RemoteAddr] = true
		io.WriteString(w, "plain")
	})
	c := plainClient(t)
	c.Prewarm(Party{}, url, 4, false)
	for range 3 {
		if r := answered(t, c, get(url)); string(r.Body) != "plain" {
			t.Errorf("got body %q", r.Body)
		}
	}
	if len(addrs) != 1 || c.Connections() != 1 {
		t.Errorf("three requests used %d connections, %d are open", len(addrs), c.Connections())
	}
}

func TestDo_HTTPSNeverRedirectsToHTTP(t *testing.T) {
	plain := plainTarget(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/from" {
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		io.WriteString(w, r.URL.Path)
	})
	secure := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain, http.StatusFound)
	}))
	c := plainClient(t)
	if r := answered(t, c, get(plain+"/from")); string(r.Body) != "/to" {
		t.Errorf("a redirect from http to http led to %q", r.Body)
	}
	if f := fails(t, c, get(secure), job.KindRedirect); !strings.Contains(f.Message, "https") {
		t.Errorf("got message %q", f.Message)
	}
}

func TestTargets_DefaultPortsHaveHTTPsWhenItIsAllowed(t *testing.T) {
	for allowed, want := range map[bool]string{false: "443,1024-65535", true: "80,443,1024-65535"} {
		ports, _ := ParsePorts(DefaultPorts)
		if got := NewTargets(TargetsConfig{AllowHTTP: allowed, Ports: ports}).Ports.String(); got != want {
			t.Errorf("with AllowHTTP %v the ports are %s, want %s", allowed, got, want)
		}
	}
	ports, _ := ParsePorts("443")
	if got := NewTargets(TargetsConfig{AllowHTTP: true, Ports: ports}).Ports.String(); got != "443" {
		t.Errorf("given ports became %s", got)
	}
}

package execute

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// serveVersions starts a target that offers versions of HTTP and refuses all others,
// and counts the handshakes. net/http's server would accept HTTP/1.1 nevertheless.
func serveVersions(t *testing.T, versions ...string) (url string, handshakes chan []string) {
	handshakes = make(chan []string, 100)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Version", strconv.Itoa(r.ProtoMajor))
	}))
	srv.EnableHTTP2 = true
	cert := certificate(t, nil)
	srv.TLS = &tls.Config{
		Certificates: []tls.Certificate{cert}, NextProtos: versions,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			handshakes <- hello.SupportedProtos
			for _, version := range versions {
				for _, offered := range hello.SupportedProtos {
					if version == offered {
						return nil, nil
					}
				}
			}
			return &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"none of these"}}, nil
		},
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL, handshakes
}

func TestDo_ChoosesTheVersionOfHTTP(t *testing.T) {
	for name, c := range map[string]struct {
		prefer  bool
		offers  []string
		version string
		tries   int // handshakes
	}{
		"both":                    {false, []string{"h2", "http/1.1"}, "1", 1},
		"both, HTTP/2 preferred":  {true, []string{"h2", "http/1.1"}, "2", 1},
		"HTTP/2 only":             {false, []string{"h2"}, "2", 2},
		"HTTP/1.1, 2 preferred":   {true, []string{"http/1.1"}, "1", 1},
		"HTTP/2 only, preferred":  {true, []string{"h2"}, "2", 1},
		"HTTP/1.1 only, the same": {false, []string{"http/1.1"}, "1", 1},
	} {
		t.Run(name, func(t *testing.T) {
			url, handshakes := serveVersions(t, c.offers...)
			client := newClientOf(t, c.prefer)
			for range 3 {
				out := answered(t, client, get(url))
				if got := out.Header["Version"]; len(got) != 1 || got[0] != c.version {
					t.Errorf("the request came over HTTP/%s, want %s", got, c.version)
				}
			}
			if n := len(handshakes); n != c.tries {
				t.Errorf("%d handshakes, want %d", n, c.tries)
			}
		})
	}
}

func TestDo_RemembersWhoRefusesHTTP1(t *testing.T) {
	url, handshakes := serveVersions(t, "h2")
	client := newClientOf(t, false)
	answered(t, client, get(url))
	client.conns.closeIdle(0)
	answered(t, client, get(url))
	first := 0
	for range len(handshakes) {
		if slices.Contains(<-handshakes, "http/1.1") {
			first++
		}
	}
	if first != 1 {
		t.Errorf("HTTP/1.1 was offered %d times, want once", first)
	}
}

func TestDo_ReportsATargetWithoutHTTP(t *testing.T) {
	url, handshakes := serveVersions(t, "smtp")
	fails(t, newClientOf(t, false), get(url), "tls")
	if n := len(handshakes); n != 2 {
		t.Errorf("%d handshakes, want 2", n)
	}
}

func TestOnlyHTTP2_IsBounded(t *testing.T) {
	var o onlyHTTP2
	for i := range 3 * maxOnlyHTTP2 {
		o.add(strconv.Itoa(i))
	}
	if len(o.addrs) > maxOnlyHTTP2 {
		t.Errorf("%d addresses are remembered, want %d at most", len(o.addrs), maxOnlyHTTP2)
	}
}

// A target that spoke HTTP/2 only may stop to offer a version at all: what it then gets
// is HTTP/1.1 by this package's rules, over a connection of its pool.
func TestDo_SpeaksHTTP1ToATargetThatOffersNoVersionAnyMore(t *testing.T) {
	var requests atomic.Int32
	cfg := &tls.Config{Certificates: []tls.Certificate{certificate(t, nil)}}
	url := "https://" + listen(t, func(raw net.Conn) {
		conn := tls.Server(raw, cfg)
		if conn.Handshake() == nil {
			script(conn, conn, &atomic.Int64{}, func(r turn) bool {
				requests.Add(1)
				r.say(okay)
				return true
			})
		}
	})
	for _, prefer := range []bool{false, true} {
		c := newClientOf(t, prefer)
		c.only2.add(strings.TrimPrefix(url, "https://"))
		before := requests.Load()
		answered(t, c, get(url))
		if idle, _ := idleOf(c); idle != 1 || c.only2.has(strings.TrimPrefix(url, "https://")) {
			t.Errorf("%d connections of the pool are idle, want 1", idle)
		}
		if n := requests.Load() - before; n != 1 {
			t.Errorf("%d requests were sent", n)
		}
		c.only2.add(strings.TrimPrefix(url, "https://"))
		c.Prewarm(Party{Account: 1}, url, 1, false)
		eventually(t, func() string {
			if c.only2.has(strings.TrimPrefix(url, "https://")) {
				return "the target still counts as one that speaks HTTP/2 only"
			}
			return ""
		})
	}
}

package edge

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/punctual-dev/punctual/internal/network"
)

func requestFrom(peer string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "http://x.example/", nil)
	r.RemoteAddr = peer
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestClientAddr(t *testing.T) {
	const forwardedFor = "X-Forwarded-For"
	for name, c := range map[string]struct {
		r    *http.Request
		want string
	}{
		"directly":                   {requestFrom("192.0.2.1:5"), "192.0.2.1"},
		"a stranger's word":          {requestFrom("192.0.2.1:5", forwardedFor, "198.51.100.1"), "192.0.2.1"},
		"a private network's word":   {requestFrom("10.0.0.1:5", forwardedFor, "198.51.100.1"), "10.0.0.1"},
		"a proxy":                    {requestFrom("127.0.0.1:5", forwardedFor, "198.51.100.1"), "198.51.100.1"},
		"a proxy on IPv6":            {requestFrom("[::1]:5", forwardedFor, "2001:db8::1"), "2001:db8::1"},
		"a proxy, both written":      {requestFrom("[::ffff:127.0.0.1]:5", forwardedFor, "::ffff:198.51.100.1"), "198.51.100.1"},
		"what the client says first": {requestFrom("127.0.0.1:5", forwardedFor, "203.0.113.9, 198.51.100.1"), "198.51.100.1"},
		"in a header before": {requestFrom("127.0.0.1:5", forwardedFor, "203.0.113.9", forwardedFor, "198.51.100.1"),
			"198.51.100.1"},
		"through two proxies": {requestFrom("127.0.0.1:5", forwardedFor, "203.0.113.9, 198.51.100.1, 127.0.0.2"), "198.51.100.1"},
		"all of them proxies": {requestFrom("127.0.0.1:5", forwardedFor, "127.0.0.3, 127.0.0.2"), "127.0.0.3"},
		"nonsense":            {requestFrom("127.0.0.1:5", forwardedFor, "198.51.100.1, unknown"), "127.0.0.1"},
		"nothing":             {requestFrom("127.0.0.1:5", forwardedFor, ""), "127.0.0.1"},
		"with a port":         {requestFrom("127.0.0.1:5", forwardedFor, "198.51.100.1:1234"), "198.51.100.1"},
		"IPv6 with a port":    {requestFrom("127.0.0.1:5", forwardedFor, "[2001:db8::1]:1234"), "2001:db8::1"},
		"too many": {requestFrom("127.0.0.1:5", forwardedFor, "198.51.100.1"+strings.Repeat(", 127.0.0.1", 100)),
			"127.0.0.1"},
		"no address": {requestFrom("@"), "invalid IP"},
	} {
		if got := ClientAddr(c.r).String(); got != c.want {
			t.Errorf("%s: it comes from %s, want %s", name, got, c.want)
		}
	}
}

func FuzzClientAddr(f *testing.F) {
	f.Add("127.0.0.1:1", "198.51.100.1, 127.0.0.1")
	f.Add("192.0.2.1:1", "[::1]:80")
	f.Add("", ",,,")
	f.Fuzz(func(t *testing.T, peer, header string) {
		r := requestFrom(peer, "X-Forwarded-For", header)
		got, alone := ClientAddr(r), ClientAddr(requestFrom(peer))
		if !network.Loopback.Contains(alone) && got != alone {
			t.Errorf("%q is believed by %q: %s", header, peer, got)
		}
		if got.Is4In6() || got.Zone() != "" {
			t.Errorf("the address is written as %s", got)
		}
	})
}

func TestIsHTTPS(t *testing.T) {
	direct := requestFrom("192.0.2.1:5")
	direct.TLS = &tls.ConnectionState{}
	for name, c := range map[string]struct {
		r    *http.Request
		want bool
	}{
		"plain":              {requestFrom("127.0.0.1:5"), false},
		"TLS":                {direct, true},
		"a proxy's word":     {requestFrom("127.0.0.1:5", "X-Forwarded-Proto", "HTTPS"), true},
		"a stranger's word":  {requestFrom("192.0.2.1:5", "X-Forwarded-Proto", "https"), false},
		"the nearest counts": {requestFrom("127.0.0.1:5", "X-Forwarded-Proto", "https, http"), false},
	} {
		if got := IsHTTPS(c.r); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// seen is what a handler knows of a request that came to a hall.
type seen struct {
	addr          netip.Addr
	https         bool
	origin, host  string
	status        int
	transport     string
	reachedByName bool
}

// ask sends a request with headers to a service with a public URL.
func ask(t *testing.T, public, from, path string, headers ...string) (s seen) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		config := ServerConfig{MaxConnections: 10, Policy: &Policy{Proxies: network.List{netip.MustParsePrefix("10.0.0.0/8")}},
			Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				s = seen{addr: ClientAddr(r), https: IsHTTPS(r), origin: Origin(r), host: r.Host, reachedByName: true}
			})}
		if public != "" {
			config.Policy.PublicURL = parsed(t, public)
		}
		h := newHallWith(t, config)
		c := h.dial(from)
		text := "GET " + path + " HTTP/1.1\r\n"
		for i := 0; i+1 < len(headers); i += 2 {
			text += headers[i] + ": " + headers[i+1] + "\r\n"
		}
		c.send(text + "\r\n")
		response, err := http.ReadResponse(c.reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.status, s.transport = response.StatusCode, response.Header.Get("Strict-Transport-Security")
	})
	return s
}

func TestGuard_RefusesOtherHostsThanThePublicURL(t *testing.T) {
	const service = "https://punctual.example.com"
	for _, c := range []struct {
		public, path, host, forwarded string
		want                          int
	}{
		{"", "/", "anything.example", "", 200},
		{service, "/", "punctual.example.com", "", 200},
		{service, "/", "Punctual.Example.COM:8443", "", 200},
		{service, "/", "evil.example", "", 421},
		{service, "/api/jobs", "evil.example", "", 421},
		{service, "/", "punctual.example.com.evil.example", "", 421},
		{service, "/", "10.1.2.3:8080", "", 421},
		{service, "/", "localhost:8080", "", 200},
		{service, "/", "127.0.0.1:8080", "", 200},
		{service, "/", "[::1]:8080", "", 200},
		{service, "/", "127.0.0.1.evil.example", "", 421},
		{service, "/healthz", "10.1.2.3:8080", "", 200},
		{service, "/readyz", "10.1.2.3:8080", "", 200},
		{service, "/metrics", "10.1.2.3:8080", "", 200},
		{service, "/", "127.0.0.1:8080", "punctual.example.com", 200},
		{service, "/", "127.0.0.1:8080", "evil.example", 421},
		{service, "/", "evil.example", "punctual.example.com", 421},
	} {
		headers := []string{"Host", c.host}
		if c.forwarded != "" {
			headers = append(headers, "X-Forwarded-Host", c.forwarded)
		}
		if got := ask(t, c.public, "10.0.0.1", c.path, headers...); got.status != c.want || got.reachedByName != (c.want == 200) {
			t.Errorf("%s at %q, %q forwarded: %d, want %d", c.path, c.host, c.forwarded, got.status, c.want)
		}
	}
}

func TestServer_PassesRequestDetails(t *testing.T) {
	const service, hsts = "https://punctual.example.com", "max-age=31536000"
	for name, c := range map[string]struct {
		got, want seen
	}{
		"directly": {ask(t, "", "192.0.2.1", "/", "Host", "a.example:8080"),
			seen{origin: "http://a.example:8080", host: "a.example:8080"}},
		"a stranger's word": {ask(t, "", "192.0.2.1", "/", "Host", "a.example", "X-Forwarded-Proto", "https", "X-Forwarded-Host",
			"b.example"),
			seen{origin: "http://a.example", host: "a.example"}},
		"a proxy's word": {ask(t, "", "10.0.0.1", "/", "Host", "127.0.0.1:8080", "X-Forwarded-Proto", "https", "X-Forwarded-Host",
			"b.example", "X-Forwarded-For", "192.0.2.1"),
			seen{origin: "https://b.example", host: "b.example", https: true, transport: hsts}},
		"no host": {ask(t, "", "10.0.0.1", "/", "Host", "a.example", "X-Forwarded-Host", "b'; rm", "X-Forwarded-For", "192.0.2.1"),
			seen{origin: "http://a.example", host: "a.example"}},
		"the public URL": {ask(t, service, "192.0.2.1", "/", "Host", "punctual.example.com"),
			seen{origin: service, host: "punctual.example.com", https: true, transport: hsts}},
		"the public URL, by http": {ask(t, service, "10.0.0.1", "/", "Host", "punctual.example.com", "X-Forwarded-Proto", "http",
			"X-Forwarded-For", "192.0.2.1"),
			seen{origin: service, host: "punctual.example.com"}},
		"beside the public URL": {ask(t, service, "192.0.2.1", "/", "Host", "127.0.0.1:8080"),
			seen{origin: service, host: "127.0.0.1:8080"}},
		"this machine by https": {ask(t, "", "10.0.0.1", "/", "Host", "localhost:8443", "X-Forwarded-Proto", "https", "X-Forwarded-For",
			"192.0.2.1"),
			seen{origin: "https://localhost:8443", host: "localhost:8443", https: true}},
	} {
		c.want.addr, c.want.status, c.want.reachedByName = netip.MustParseAddr("192.0.2.1"), 200, true
		if c.got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", name, c.got, c.want)
		}
	}
}

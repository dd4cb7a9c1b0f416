package edge

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/internal/network"
)

// Policy says whose word about a request counts, and what the service's own
// address is.
type Policy struct {
	// Proxies are the peers whose X-Forwarded-For, X-Forwarded-Proto and
	// X-Forwarded-Host are believed.
	Proxies network.List
	// PublicURL is where clients reach the service: a scheme and a host. Nil when
	// nobody has said so.
	PublicURL *url.URL
}

// nearby is the policy of requests that did not come through a Server.
var nearby = &Policy{Proxies: network.Loopback}

type connKey struct{}

// connOf returns the connection that a request came over; nil when that is none
// of a Server.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

func policyOf(r *http.Request) *Policy {
	if c := connOf(r.Context()); c != nil {
		return c.gate.policy
	}
	return nearby
}

// maxHops bounds how many entries of X-Forwarded-For are looked at.
const maxHops = 32

// ClientAddr returns the address that a request comes from: the peer's or, when
// that is a trusted proxy, the nearest address in X-Forwarded-For that is not a
// trusted proxy's. What a client writes into the header itself stands before
// that and is not looked at. An IPv4 address is returned as such, without a
// zone; the result is not valid when the peer has no address.
func ClientAddr(r *http.Request) netip.Addr {
	addr := addrOf(r.RemoteAddr)
	proxies := policyOf(r).Proxies
	if !proxies.Contains(addr) {
		return addr
	}
	hops := 0
	values := r.Header["X-Forwarded-For"]
	for i := len(values) - 1; i >= 0; i-- {
		for rest := values[i]; rest != ""; hops++ {
			var entry string
			if at := strings.LastIndexByte(rest, ','); at >= 0 {
				rest, entry = rest[:at], rest[at+1:]
			} else {
				rest, entry = "", rest
			}
			next := addrOf(strings.TrimSpace(entry))
			if !next.IsValid() || hops >= maxHops {
				return addr // the last one that a trusted proxy has named
			}
			if addr = next; !proxies.Contains(addr) {
				return addr
			}
		}
	}
	return addr
}

// addrOf reads an address that may have a port.
func addrOf(text string) netip.Addr {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		withPort, _ := netip.ParseAddrPort(text) // the zero value when it is none
		addr = withPort.Addr()
	}
	return addr.Unmap().WithZone("")
}

// forwarded returns what a trusted proxy says in a header; "" when nobody
// trusted says anything. A proxy adds its own word behind that of others.
func forwarded(r *http.Request, header string) string {
	values := r.Header[header]
	if len(values) == 0 || !policyOf(r).Proxies.Contains(addrOf(r.RemoteAddr)) {
		return ""
	}
	value := values[len(values)-1]
	return strings.TrimSpace(value[strings.LastIndexByte(value, ',')+1:])
}

// IsHTTPS reports whether the client came over https, by the word of a trusted
// proxy or, when it says nothing, because the public URL begins so.
func IsHTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	if scheme := forwarded(r, "X-Forwarded-Proto"); scheme != "" {
		return strings.EqualFold(scheme, "https")
	}
	public := policyOf(r).PublicURL
	return public != nil && public.Scheme == "https" && strings.EqualFold(hostname(r.Host), public.Hostname())
}

// Origin returns the service's address as clients know it, such as
// https://punctual.example.com: the public URL, else what the request was sent to.
func Origin(r *http.Request) string {
	if public := policyOf(r).PublicURL; public != nil {
		return public.Scheme + "://" + public.Host
	}
	if IsHTTPS(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// hostname returns a Host header without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}

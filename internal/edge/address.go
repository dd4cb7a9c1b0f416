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

// Policy is which proxies are trusted, and the service's own address.
type Policy struct {
	// Proxies are the peers whose X-Forwarded-For, X-Forwarded-Proto and
	// X-Forwarded-Host are trusted.
	Proxies network.List
	// PublicURL is where clients reach the service: a scheme and a host. It is nil
	// if not configured.
	PublicURL *url.URL
}

// nearby is the policy of requests that did not come through a Server.
var nearby = &Policy{Proxies: network.Loopback}

type connKey struct{}

// connOf returns the connection of a request, or nil if it is not a Server's.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}

// policyKey is the key of the policy of a Multiplexed in the contexts of its requests.
type policyKey struct{}

func policyOf(r *http.Request) *Policy {
	if c := connOf(r.Context()); c != nil {
		return c.gate.policy
	}
	if policy, ok := r.Context().Value(policyKey{}).(*Policy); ok {
		return policy
	}
	return nearby
}

// maxHops is how many entries of X-Forwarded-For are read.
const maxHops = 32

// ClientAddr returns the client's address: the peer's or, if that is a trusted
// proxy, the nearest address in X-Forwarded-For that is not a trusted proxy's. It
// ignores what the client wrote into the header, which comes before that. It
// unmaps IPv4 addresses and removes zones. The result is invalid if the peer has
// no address.
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
				return addr // the last address that a trusted proxy named
			}
			if addr = next; !proxies.Contains(addr) {
				return addr
			}
		}
	}
	return addr
}

// addrOf parses an address with or without a port.
func addrOf(text string) netip.Addr {
	withPort, err := netip.ParseAddrPort(text)
	addr := withPort.Addr()
	if err != nil {
		addr, _ = netip.ParseAddr(text) // the zero value if invalid
	}
	return addr.Unmap().WithZone("")
}

// forwarded returns the last value of a header, which the trusted proxy added, or
// "" if the peer is not a trusted proxy or the header is missing.
func forwarded(r *http.Request, header string) string {
	values := r.Header[header]
	if len(values) == 0 || !policyOf(r).Proxies.Contains(addrOf(r.RemoteAddr)) {
		return ""
	}
	value := values[len(values)-1]
	return strings.TrimSpace(value[strings.LastIndexByte(value, ',')+1:])
}

// IsHTTPS reports whether the client used https: according to a trusted proxy or,
// without its header, to the scheme of the public URL.
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
// https://punctual.example.com: the public URL, or else the request's own host.
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

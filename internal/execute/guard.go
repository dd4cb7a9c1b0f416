package execute

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"
)

// guardian knows the special-purpose registries of IANA: for IPv4 every prefix,
// plus multicast and reserved space; for IPv6 everything outside 2000::/3
// (loopback, unique local, link-local, IPv4-mapped, -compatible and -translated
// forms) and the special prefixes within it (Teredo, 6to4, documentation). It
// permits any port.
var guardian = ssrf.New(ssrf.WithAnyPort())

// special reports whether addr is not an address of the public internet.
func special(addr netip.Addr) bool {
	return guardian.SafeAddr(addr) != nil
}

// class describes a special address, with an article.
func class(addr netip.Addr) string {
	switch {
	case addr.Is4In6():
		return "an IPv4-mapped address"
	case addr.IsLoopback():
		return "a loopback address"
	case addr.IsPrivate():
		return "a private address"
	case addr.IsLinkLocalUnicast():
		return "a link-local address"
	case addr.IsMulticast():
		return "a multicast address"
	case addr.IsUnspecified():
		return "an unspecified address"
	}
	return "a special-purpose address"
}

// bareHost returns host without brackets and port.
func bareHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isNumber reports whether the last label of a host makes the host an IPv4
// address, as the WHATWG URL Standard defines it. No top-level domain looks
// like that.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// blockedError says that a target may not be called.
type blockedError struct {
	addr netip.Addr // the refused address; zero when it is not about one
	why  string     // what addr is; without addr, a sentence
}

func (e *blockedError) Error() string {
	if e.addr.IsValid() {
		return e.addr.String() + " is " + e.why
	}
	return e.why
}

// explain returns the sentence for the job's owner. It contains the address
// only if host is that address, so as not to leak what a name resolves to
// inside the service's network.
func (e *blockedError) explain(host string) string {
	literal, err := netip.ParseAddr(host)
	if e.addr.IsValid() && (err != nil || literal.WithZone("").Unmap() != e.addr.WithZone("").Unmap()) {
		return "it leads to an address that this service does not call"
	}
	return e.Error()
}

// maxAddrs is how many addresses of a name one attempt tries: a name can
// resolve to thousands of addresses of uninvolved hosts.
const maxAddrs = 8

var errTooManyAddrs = errors.New("none of the first addresses could be connected to")

// unreachableError is the failure of a dial for which some of the host's
// addresses were allowed.
type unreachableError struct{}

func (unreachableError) Error() string { return "no address could be connected to" }

// guard checks the addresses of one dial. [net.Dialer] tries several of them,
// two at a time, and reports only the first failure; guard records the rest.
type guard struct {
	targets *Targets
	dialled atomic.Int32
	allowed atomic.Bool
	blocked atomic.Pointer[blockedError]
}

// control is a [net.Dialer.Control]: it runs after the name is resolved and
// before the connection, with the address that will be used.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	addr := ap.Addr().Unmap()
	if why := g.targets.refuses(addr); why != "" {
		blocked := &blockedError{addr, why}
		g.blocked.Store(blocked)
		return blocked
	}
	if g.dialled.Add(1) > maxAddrs {
		return errTooManyAddrs
	}
	g.allowed.Store(true)
	return nil
}

// explain returns the reason for a failed dial. It is a blockedError only if no
// address was allowed, so that one bad record among good ones does not end the
// job.
func (g *guard) explain(err error) error {
	blocked := g.blocked.Load()
	switch {
	case blocked == nil:
		return err
	case !g.allowed.Load():
		return blocked
	}
	return unreachableError{}
}

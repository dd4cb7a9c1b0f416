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

// guardian knows the special-purpose registries of IANA: for IPv4 every
// prefix, plus multicast and reserved space; for IPv6 whatever lies outside
// 2000::/3 (loopback, unique local, link-local, IPv4-mapped, -compatible and
// -translated forms) and the special prefixes within (Teredo, 6to4,
// documentation). Any port will do.
var guardian = ssrf.New(ssrf.WithAnyPort())

// special reports whether addr is not one of the public internet.
func special(addr netip.Addr) bool {
	return guardian.SafeAddr(addr) != nil
}

// class names what kind of special address addr is, article included.
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

// bareHost is host without brackets and port.
func bareHost(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isNumber reports whether the last label of a host makes the whole of it an
// IPv4 address, as the URL Standard of WHATWG has it. No top-level domain
// looks like that.
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

// explain returns the sentence for the job's owner. It contains the address only
// if host is that address: what a name resolves to inside the service's network
// must not leak.
func (e *blockedError) explain(host string) string {
	literal, err := netip.ParseAddr(host)
	if e.addr.IsValid() && (err != nil || literal.WithZone("").Unmap() != e.addr.WithZone("").Unmap()) {
		return "it leads to an address that this service does not call"
	}
	return e.Error()
}

// maxAddrs is how many addresses of a name are tried in one attempt: a name can
// resolve to thousands of addresses of uninvolved hosts.
const maxAddrs = 8

var errTooManyAddrs = errors.New("none of the first addresses could be connected to")

// unreachableError stands for the failure of a dial that was allowed to some
// of a host's addresses.
type unreachableError struct{}

func (unreachableError) Error() string { return "no address could be connected to" }

// guard judges the addresses of one dial. [net.Dialer] tries several of them,
// two at a time, and reports the first failure only; guard remembers the rest.
type guard struct {
	targets *Targets
	dialled atomic.Int32
	allowed atomic.Bool
	blocked atomic.Pointer[blockedError]
}

// control is a [net.Dialer.Control]: it runs between the resolution of the
// name and the connection, with the address that is really used.
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

// explain gives the reason for a failed dial: blocked only when no address was
// allowed, so that one bad record among good ones does not end the job.
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

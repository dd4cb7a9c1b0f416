package execute

import (
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"
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

// CheckHost reports why the host of a URL may not be called, as the end of a
// sentence ("must not be a loopback address"); "" when it may.
//
// Refused are literal addresses that are loopback, private, link-local or
// otherwise special, also in mapped and translated forms; numbers that pass
// for an address with some resolvers (127.1, 0x7f000001, 2130706433,
// 0177.0.0.1); and localhost with its subdomains. The host may be in brackets
// and may carry a port. Nothing is resolved, so a name that is let through can
// still lead to an address that is refused when it is dialled.
func CheckHost(host string) string {
	name := bareHost(host)
	if addr, err := netip.ParseAddr(name); err == nil {
		if special(addr) {
			return "must not be " + class(addr)
		}
		return ""
	}
	if ascii, err := idna.Lookup.ToASCII(name); err == nil {
		name = ascii // full-width letters and the like become what is dialled
	}
	name = strings.ToLower(strings.TrimRight(name, "."))
	switch last := name[strings.LastIndexByte(name, '.')+1:]; {
	case name == "":
		return "must have a host"
	case last == "localhost":
		return "must not name this machine"
	case isNumber(last):
		return oddAddress(name)
	}
	return ""
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

// oddAddress judges a host that is meant as an IPv4 address. Only four decimal
// numbers mean the same to everyone; other spellings are read differently from
// resolver to resolver, so they are refused whatever they might stand for.
func oddAddress(name string) string {
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return "must not spell an address in an unusual way; use four decimal numbers, as in 192.0.2.1"
	}
	if special(addr) {
		return "must not be " + class(addr)
	}
	return ""
}

// blockedError says that a connection was refused by the guard.
type blockedError struct{ addr netip.Addr }

func (e *blockedError) Error() string {
	return e.addr.String() + " is " + class(e.addr)
}

// unreachableError stands for the failure of a dial that was allowed to some
// of a host's addresses.
type unreachableError struct{}

func (unreachableError) Error() string { return "no address could be connected to" }

// guard judges the addresses of one dial. [net.Dialer] tries several of them,
// two at a time, and reports the first failure only; guard remembers the rest.
type guard struct {
	special func(netip.Addr) bool
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
	if addr := ap.Addr().Unmap(); g.special(addr) {
		blocked := &blockedError{addr}
		g.blocked.Store(blocked)
		return blocked
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

package execute

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/punctual-dev/punctual/internal/job"
)

// TargetsConfig says which targets may be called. An address in Deny is
// refused. Otherwise one in Allow is permitted. Otherwise an address is refused
// if it is not on the public internet or belongs to this machine.
type TargetsConfig struct {
	// AllowPrivate permits all addresses that are not in Deny.
	AllowPrivate bool
	Deny, Allow  []netip.Prefix
	// Ports may be called; the zero value stands for DefaultPorts. With AllowHTTP,
	// DefaultPorts include 80.
	Ports Ports
	// AllowHTTP permits URLs of http, without encryption.
	AllowHTTP bool
}

// Targets decides which targets may be called. It is safe for concurrent use.
type Targets struct {
	TargetsConfig
	own     ownAddrs
	blocked atomic.Pointer[ruleSet] // by operators, at run time
}

// NewTargets returns Targets that operators have not blocked anything on yet.
func NewTargets(config TargetsConfig) *Targets {
	if config.Ports.ranges == nil {
		config.Ports, _ = ParsePorts(DefaultPorts)
	}
	if config.AllowHTTP && config.Ports.text == DefaultPorts {
		config.Ports, _ = ParsePorts("80," + DefaultPorts)
	}
	return &Targets{TargetsConfig: config, own: ownAddrs{list: net.InterfaceAddrs}}
}

// cloudHost is the address at which a large cloud serves its machines' agents
// and configuration. According to the registries it is a public address.
var cloudHost = netip.MustParseAddr("168.63.129.16")

// refuses describes addr, with an article, if it may not be called; otherwise
// it returns "".
func (t *Targets) refuses(addr netip.Addr) string {
	plain := addr.WithZone("").Unmap()
	inner, translated := embedded(plain)
	denies := func(a netip.Addr) bool { return contains(t.Deny, a) || t.blocked.Load().hasAddr(a) }
	switch {
	case denies(plain), translated && denies(inner):
		return "an address that this service does not call"
	case contains(t.Allow, plain), t.AllowPrivate:
		return ""
	case special(addr):
		return class(addr)
	case plain == cloudHost:
		return "an address inside a cloud"
	case t.own.has(plain):
		return "an address of this service"
	}
	return ""
}

// embedded returns the IPv4 address that an IPv6 address of a transition
// mechanism leads to: NAT64, 6to4, IPv4-compatible or IPv4-translated.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return addr, false
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr), compatible.Contains(addr), translated.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return addr, false
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// CheckHost returns why the host of a URL may not be called, as the end of a
// sentence ("must not be a loopback address"), or "" if it may.
//
// It refuses hosts that operators have blocked; ports that are not permitted
// (443 if the host has none); literal addresses that the configuration denies,
// or that are loopback, private, link-local, this machine's or otherwise
// special, in mapped and translated forms, too; numbers that some resolvers
// take for an address (127.1, 0x7f000001, 2130706433, 0177.0.0.1); and
// localhost with its subdomains. The host may be in brackets and may have a
// port. CheckHost resolves nothing, so a permitted name can still lead to an
// address that is refused when it is dialled.
func (t *Targets) CheckHost(host string) string {
	bare := bareHost(host)
	if addr, err := netip.ParseAddr(bare); err == nil {
		if why := t.refuses(addr); why != "" {
			return "must not be " + why
		}
		return t.checkPort(host)
	}
	name := hostName(bare)
	switch last := name[strings.LastIndexByte(name, '.')+1:]; {
	case name == "":
		return "must have a host"
	case t.blocksHost(name):
		return "must not be a host that this service does not call"
	case name == job.ListenHost && !strings.EqualFold(bare, name):
		return "must be spelled " + job.ListenHost
	case name == job.ListenHost:
		return "" // no port is ever dialled
	case last == "localhost" && !t.permitsLoopback():
		return "must not name this machine; the operator can permit private targets with --allow-private-targets"
	case isNumber(last):
		if why := t.checkNumbers(name); why != "" {
			return why
		}
	}
	return t.checkPort(host)
}

func (t *Targets) permitsLoopback() bool {
	return t.refuses(netip.AddrFrom4([4]byte{127, 0, 0, 1})) == "" || t.refuses(netip.IPv6Loopback()) == ""
}

// checkNumbers checks a host that is meant as an IPv4 address. Resolvers agree
// only on four decimal numbers; other spellings are refused, unless every
// address may be called.
func (t *Targets) checkNumbers(name string) string {
	addr, err := netip.ParseAddr(name)
	if err != nil && !t.AllowPrivate {
		return "must not spell an address in an unusual way; use four decimal numbers, as in 192.0.2.1"
	}
	if err != nil {
		return ""
	}
	if why := t.refuses(addr); why != "" {
		return "must not be " + why
	}
	return ""
}

func (t *Targets) checkPort(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil && port != "" && !t.permitsPort(port) {
		why := "must not use port " + port + "; permitted are " + t.Ports.String()
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && t.Ports.includes(uint16(n)) {
			why += ", without those that browsers block"
		}
		return why
	} else if err != nil && !t.permitsPort("443") {
		return "must name a port; permitted are " + t.Ports.String()
	}
	return ""
}

func (t *Targets) permitsPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && t.Ports.permits(uint16(n))
}

// blocksHost reports whether operators have blocked a host name.
func (t *Targets) blocksHost(host string) bool {
	rules := t.blocked.Load()
	return rules != nil && len(rules.names) > 0 && rules.hasName(hostName(host))
}

// checkURL returns an error if a URL may not be called, whatever the addresses
// of its host are.
func (t *Targets) checkURL(u *url.URL) error {
	if u.Scheme != "https" && !t.AllowHTTP {
		return &blockedError{why: "this service calls URLs of https only"}
	}
	if job.ToListener(u) {
		return t.checkListener()
	}
	return t.checkDial(u.Hostname(), port(u))
}

// checkListener returns an error if operators have blocked listeners.
func (t *Targets) checkListener() error {
	if t.blocksHost(job.ListenHost) {
		return &blockedError{why: "this service does not permit listeners"}
	}
	return nil
}

// checkDial returns an error if a host and port may not be dialled, whatever
// the host's addresses are.
func (t *Targets) checkDial(host, port string) error {
	switch {
	case !t.permitsPort(port):
		return &blockedError{why: "port " + port + " is not one of those that this service calls"}
	case t.blocksHost(host):
		return &blockedError{why: "this service does not call that host"}
	}
	return nil
}

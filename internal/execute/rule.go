package execute

import (
	"errors"
	"net/netip"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/idna"
)

// Rule matches targets by host or by address: a host name matches itself and
// its subdomains, an address or CIDR prefix every target there.
type Rule struct {
	name   string       // in lower case, ASCII; "" for a prefix
	prefix netip.Prefix // masked
}

// MaxRule is the length limit of a rule's text in bytes: that of a host name.
const MaxRule = 253

var (
	errRule   = errors.New("must be a host name, an IP address or a CIDR prefix, as in example.com, 192.0.2.1 or 192.0.2.0/24")
	errPrefix = errors.New("must be an IP address or a CIDR prefix, as in 192.0.2.1 or 2001:db8::/32")
)

// ParseRule parses a host name, an IP address or a CIDR prefix.
func ParseRule(text string) (Rule, error) {
	text = strings.TrimSpace(text)
	if len(text) > MaxRule {
		return Rule{}, errRule
	}
	literal := text
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		literal = strings.TrimSuffix(inner, "]")
	}
	if prefix, err := ParsePrefix(literal); err == nil {
		return Rule{prefix: prefix}, nil
	}
	name := hostName(text)
	if name == "" || strings.ContainsAny(name, "/:*[]@") || strings.Contains(name, "..") || name[0] == '.' ||
		!httpguts.ValidHostHeader(name) {
		return Rule{}, errRule
	}
	if isNumber(name[strings.LastIndexByte(name, '.')+1:]) {
		return Rule{}, errRule // an address in an unusual spelling
	}
	return Rule{name: name}, nil
}

// String returns the rule in its canonical form: rules with the same text match
// the same targets.
func (r Rule) String() string {
	switch {
	case r.name != "":
		return r.name
	case r.prefix.IsSingleIP():
		return r.prefix.Addr().String()
	}
	return r.prefix.String()
}

// ParsePrefix parses an IP address or a CIDR prefix. It clears the bits after
// the prefix and converts IPv4-mapped prefixes to IPv4.
func ParsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errPrefix
	}
	if addr := prefix.Addr(); addr.Is4In6() {
		if prefix.Bits() < 96 {
			return netip.Prefix{}, errPrefix
		}
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

// hostName returns a host name in the form that rules and checks compare: as it
// is dialled, in lower case and without the final dot.
func hostName(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii // full-width letters and the like become what is dialled
	}
	return strings.ToLower(strings.TrimRight(host, "."))
}

// ruleSet indexes rules for lookups. The nil set has no prefixes.
type ruleSet struct {
	names    map[string]struct{}
	prefixes []netip.Prefix
}

func newRuleSet(rules []Rule) *ruleSet {
	s := &ruleSet{names: map[string]struct{}{}}
	for _, r := range rules {
		if r.name != "" {
			s.names[r.name] = struct{}{}
		} else {
			s.prefixes = append(s.prefixes, r.prefix)
		}
	}
	return s
}

// hasName reports whether a rule matches the host, in the form of hostName, or
// a parent domain.
func (s *ruleSet) hasName(host string) bool {
	for {
		if _, named := s.names[host]; named {
			return true
		}
		_, parent, more := strings.Cut(host, ".")
		if !more {
			return false
		}
		host = parent
	}
}

func (s *ruleSet) hasAddr(addr netip.Addr) bool {
	return s != nil && contains(s.prefixes, addr)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

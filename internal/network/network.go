package network

import (
	"fmt"
	"net/netip"
	"strings"
)

// Of returns the network by which an address is counted: the address itself for
// IPv4, its /64 for IPv6. It returns the zero Prefix for an invalid address.
func Of(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := 32
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}

// List is a set of prefixes.
type List []netip.Prefix

// Loopback contains all loopback addresses.
var Loopback = List{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// maxList bounds the length of a list, which Contains scans.
const maxList = 1000

// ParseList parses prefixes (192.0.2.0/24) and addresses, separated by commas.
// Spaces around them are ignored, and an empty text is an empty list. The error
// names the invalid part.
func ParseList(text string) (List, error) {
	var list List
	if strings.TrimSpace(text) == "" {
		return list, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		prefix, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		if list = append(list, prefix); len(list) > maxList {
			return nil, fmt.Errorf("has more than %d networks", maxList)
		}
	}
	return list, nil
}

func parse(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("must be networks like 10.0.0.0/8 or fd00::/8, separated by commas; %q is none", text)
	}
	return prefix.Masked(), nil
}

// Contains reports whether an address is in one of the list's networks. It treats
// IPv4-mapped IPv6 addresses as IPv4 addresses.
func (l List) Contains(addr netip.Addr) bool {
	addr = addr.Unmap().WithZone("")
	for _, prefix := range l {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

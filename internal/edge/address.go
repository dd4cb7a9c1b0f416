package edge

import (
	"net/http"
	"net/netip"
)

// ClientAddr returns the address that a request comes from; the zero address
// when it has none.
func ClientAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap().WithZone("")
}

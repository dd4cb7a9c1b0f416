package edge

import (
	"net/http"
	"net/netip"
)

// ClientAddr returns the network address that a request comes from; the zero Addr
// when it is not known.
func ClientAddr(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return peer.Addr().Unmap()
}

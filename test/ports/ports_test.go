package ports

import (
	"net"
	"net/netip"
	"testing"
)

func TestFree_CanBeListenedAt(t *testing.T) {
	for range 50 {
		address := Free(t)
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().IsLoopback() || at.Port() < first || at.Port() >= last {
			t.Fatalf("the address is %s (%v)", address, err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}

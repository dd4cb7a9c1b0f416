package execute

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// ownEvery is how long the list of this machine's addresses is used.
const ownEvery = 30 * time.Second

// ownAddrs holds the addresses of this machine's interfaces. Its public
// addresses are special, too, because connections to them bypass firewalls.
type ownAddrs struct {
	list func() ([]net.Addr, error)

	mu     sync.Mutex
	readAt time.Time
	addrs  map[netip.Addr]struct{}
	global bool // one of them is a public IPv6 address
}

// has reports whether addr is one of this machine's.
func (o *ownAddrs) has(addr netip.Addr) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refresh()
	_, own := o.addrs[addr]
	return own
}

// hasIPv6 reports whether this machine can send to the internet over IPv6.
func (o *ownAddrs) hasIPv6() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refresh()
	return o.global
}

// refresh reads the addresses again if they are old. If that fails, the old
// ones stay. Called with mu held.
func (o *ownAddrs) refresh() {
	if time.Since(o.readAt) < ownEvery {
		return
	}
	list, err := o.list()
	o.readAt = time.Now()
	if err != nil {
		return
	}
	o.addrs, o.global = make(map[netip.Addr]struct{}, len(list)), false
	for _, a := range list {
		ip, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		addr, _ := netip.AddrFromSlice(ip.IP)
		addr = addr.Unmap()
		o.addrs[addr] = struct{}{}
		o.global = o.global || addr.Is6() && !special(addr)
	}
}

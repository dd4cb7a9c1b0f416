package execute

import (
	"errors"
	"strings"
	"sync"
)

// http2Only is what is offered to a target that refuses HTTP/1.1.
var http2Only = []string{"h2"}

// maxOnlyHTTP2 limits how many such targets are remembered.
const maxOnlyHTTP2 = 1000

// onlyHTTP2 remembers the hosts and ports that refuse HTTP/1.1 or have chosen HTTP/2,
// which saves the first of two handshakes. It forgets all when it is full. All accounts
// share it: that bit about a target is all that it carries from one to another.
type onlyHTTP2 struct {
	mu    sync.Mutex
	addrs map[string]bool
}

func (o *onlyHTTP2) has(addr string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.addrs[addr]
}

func (o *onlyHTTP2) add(addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.addrs == nil || len(o.addrs) >= maxOnlyHTTP2 {
		o.addrs = map[string]bool{}
	}
	o.addrs[addr] = true
}

func (o *onlyHTTP2) remove(addr string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.addrs, addr)
}

// errNoVersion means that the target has not chosen HTTP/2, the only version offered.
var errNoVersion = errors.New("the target has chosen no version of HTTP")

// refusesVersion reports whether a handshake failed because the target speaks none
// of the versions of HTTP that were offered (RFC 7301, section 3.2). crypto/tls has
// no value for that alert.
func refusesVersion(err error) bool {
	var handshake *handshakeError
	return errors.As(err, &handshake) &&
		(errors.Is(err, errNoVersion) || strings.HasSuffix(handshake.Error(), "tls: no application protocol"))
}

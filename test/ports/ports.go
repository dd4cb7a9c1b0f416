package ports

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports from first to before last are below those that the system gives to outgoing
// connections and to listeners without a port (32768 and above on Linux): one of these
// could be taken before the server starts, or while it is down.
const first, last = 15_000, 32_000

// Pick returns a port of 127.0.0.1 at which nothing listens. The error is that of
// listening there, if none of many ports is free.
func Pick() (port int, err error) {
	for range 100 {
		port = first + rand.IntN(last-first)
		var l net.Listener
		if l, err = net.Listen("tcp", Address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// Address returns the address of a port: "127.0.0.1:PORT".
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Free returns an address at which nothing listens, and ends the test if there is none.
func Free(t testing.TB) string {
	t.Helper()
	port, err := Pick()
	if err != nil {
		t.Fatalf("no port is free: %v", err)
	}
	return Address(port)
}

package execute

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestLocalFaults(t *testing.T) {
	c := newClient(t)
	c.targets.own.list = func() ([]net.Addr, error) { return nil, nil }
	a := &attempt{client: c, req: &Request{}}
	a.url, _ = url.Parse("https://example.com/")
	dialled := func(to string, errno syscall.Errno) error {
		addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(to))
		return &dialError{&net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", errno)}}
	}
	for name, x := range map[string]struct {
		err  error
		want job.Kind
	}{
		"EMFILE":                 {dialled("8.8.8.8:443", syscall.EMFILE), job.KindInterrupted},
		"ENFILE":                 {dialled("8.8.8.8:443", syscall.ENFILE), job.KindInterrupted},
		"ENOMEM":                 {dialled("8.8.8.8:443", syscall.ENOMEM), job.KindInterrupted},
		"ENOBUFS":                {dialled("8.8.8.8:443", syscall.ENOBUFS), job.KindInterrupted},
		"EADDRNOTAVAIL":          {dialled("8.8.8.8:443", syscall.EADDRNOTAVAIL), job.KindInterrupted},
		"EADDRNOTAVAIL, no IPv6": {dialled("[2a00:1450:4001::8a]:443", syscall.EADDRNOTAVAIL), job.KindConnect},
		"ENETUNREACH":            {dialled("8.8.8.8:443", syscall.ENETUNREACH), job.KindConnect},
		"ECONNREFUSED":           {dialled("8.8.8.8:443", syscall.ECONNREFUSED), job.KindConnect},
		"while sending":          {&net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.ENOBUFS)}, job.KindInterrupted},
		"looking up, no descriptor": {&dialError{&net.DNSError{Err: "dial udp 192.0.2.1:53: socket: too many open files",
			Name: "example.com"}}, job.KindInterrupted},
		"looking up, no such host": {&dialError{&net.DNSError{Err: "no such host", Name: "example.com", IsNotFound: true}}, job.KindDNS},
	} {
		f := a.failure(t.Context(), x.err)
		if f.Kind != x.want || f.Local != (x.want == job.KindInterrupted) {
			t.Errorf("%s: got %+v, want %q", name, f, x.want)
		}
	}
}

// The wait grows while the fault lasts, and idle connections are closed.
func TestLocalFaults_WaitGrowsAndIdleConnectionsClose(t *testing.T) {
	base := serve(t, false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	c := newClient(t)
	answered(t, c, get(base))
	c.dialTCP = func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	}
	const other = "https://192.0.2.1"
	out := c.Do(t.Context(), get(other))
	if f := out.Failure; f == nil || f.Kind != job.KindInterrupted || f.Wait < time.Second || f.Wait > 1500*time.Millisecond {
		t.Fatalf("got %+v", out.Failure)
	}
	if want := "this service has run out of local resources (too many open files); the attempt will be retried and does not count"; out.Failure.Message != want {
		t.Errorf("got message %q, want %q", out.Failure.Message, want)
	}
	awaitNoConns(t, c)
	for range 2000 {
		out = c.Do(t.Context(), get(other))
	}
	if wait := out.Failure.Wait; wait < 30*time.Second || wait > 45*time.Second {
		t.Errorf("after 2,000 faults the wait is %v", wait)
	}
	c.dialTCP = c.dialGuarded
	answered(t, c, get(base))
	if wait := c.faults.wait(0); wait > 1500*time.Millisecond {
		t.Errorf("after a success the wait is %v", wait)
	}
}

func TestLocalFaultOfNothing(t *testing.T) {
	for _, err := range []error{nil, errors.New("too many open files in the name of a host"), &net.DNSError{Err: strings.Repeat("x", 10)}} {
		if got := localFault(err); got != 0 {
			t.Errorf("%v: got %v", err, got)
		}
	}
}

// holding returns a client with n idle connections of each account to a target, and the
// target's address.
func holding(t *testing.T, n int, accounts ...int64) (c *Client, url string, idle func(account int64) int) {
	url, _ = scripted(t, func(r turn) bool { r.say(okay); return true })
	c = newClient(t)
	for _, account := range accounts {
		c.Prewarm(Party{Account: account}, url, n, false)
	}
	idle = func(account int64) int {
		c.conns.mu.Lock()
		defer c.conns.mu.Unlock()
		if h := c.conns.holders[account]; h != nil {
			return h.idle.Len()
		}
		return 0
	}
	for _, account := range accounts {
		eventually(t, func() string {
			if got := idle(account); got != n {
				return "not all connections are open"
			}
			return ""
		})
	}
	return c, url, idle
}

// A local fault closes what its own account keeps, and little of others.
func TestLocalFaults_CloseIdleConnectionsOfTheirAccountFirst(t *testing.T) {
	const n = 40
	full := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("socket", syscall.EMFILE)}
	c, _, idle := holding(t, n, 1, 2)
	for range n / reliefEach {
		c.relieve(1, full)
	}
	if idle(1) != 0 || idle(2) != n {
		t.Errorf("%d and %d connections are left, want none and %d", idle(1), idle(2), n)
	}
	c.relieve(3, full)
	if idle(2) != n-1 {
		t.Errorf("%d are left of the account with the most, want %d", idle(2), n-1)
	}
	c.conns.relief = relief{from: present()}
	for range 10 * n {
		c.relieve(3, full) // takes less than a second
	}
	if idle(2) < n-1-reliefOthers {
		t.Errorf("%d are left of another account's", idle(2))
	}
}

// No port to one address is no reason to close connections to others.
func TestLocalFaults_WithoutPortsCloseConnectionsToTheSameAddress(t *testing.T) {
	c, url, idle := holding(t, 4, 1, 2)
	here := strings.TrimPrefix(url, "https://")
	lacking := func(at string) error {
		addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(at))
		return &dialError{&net.OpError{Op: "dial", Net: "tcp", Addr: addr, Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}}
	}
	for _, account := range []int64{1, 3} {
		c.relieve(account, lacking("192.0.2.1:443"))
	}
	if idle(1) != 4 || idle(2) != 4 {
		t.Errorf("%d and %d connections are left, want all", idle(1), idle(2))
	}
	c.relieve(1, lacking(here))
	if idle(1) != 4-reliefEach || idle(2) != 4 {
		t.Errorf("%d and %d connections are left, want %d and 4", idle(1), idle(2), 4-reliefEach)
	}
	c.relieve(3, lacking(here))
	if idle(1) != 4-reliefEach || idle(2) != 3 {
		t.Errorf("%d and %d connections are left, want %d and 3", idle(1), idle(2), 4-reliefEach)
	}
}

// How long an account waits depends on its own faults.
func TestLocalFaults_OfOneAccountMakeNoOtherWaitLonger(t *testing.T) {
	c := newClient(t)
	for range 1000 {
		c.relieve(1, syscall.EMFILE)
	}
	if wait := c.relieve(2, syscall.EMFILE); wait > 1500*time.Millisecond {
		t.Errorf("another account waits for %v", wait)
	}
	c.faults.over(2)
	if wait := c.relieve(1, syscall.EMFILE); wait < maxFaultWait {
		t.Errorf("the account itself waits for %v after another's success", wait)
	}
	for account := range int64(3 * maxFaulty) {
		c.faults.count(account)
	}
	if n := len(c.faults.inRow); n > maxFaulty {
		t.Errorf("%d accounts are counted", n)
	}
}

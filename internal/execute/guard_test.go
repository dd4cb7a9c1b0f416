package execute

import (
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// refusedHosts may not be called, whatever the resolver makes of them.
var refusedHosts = []string{
	"127.0.0.1", "127.1.2.3", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
	"100.64.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"::", "::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "100::1",
	"::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1",
	"64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "2001:0:7f00:1::", "3fff::1", "5f00::1",
	"localhost", "LocalHost", "localhost.", "LOCALHOST..", "a.localhost", "a.b.LOCALHOST.",
	"127.1", "127.0.1", "0x7f000001", "0X7F.0.0.1", "0x7f.1", "2130706433", "017700000001", "0177.0.0.1", "0177.1", "127.0.0.01",
	"127.0.0.1.", "0127.0.0.1", "0", "1.2.3.4.5", "256.256.256.256", "4294967297", "10.0.0.0x1", "0x", "1.",
	"[::1]", "[::1]:8443", "127.0.0.1:8443", "localhost:8443", "[fe80::1%25eth0]",
	"１２７.0.0.1", "127。0。0。1", "ⓛocalhost", "①②⑦.⓪.⓪.①",
	"", ".",
}

var allowedHosts = []string{
	"example.com", "example.com.", "EXAMPLE.com:8443", "8.8.8.8", "8.8.8.8:53", "1.1.1.1", "172.32.0.1", "172.15.0.1", "100.63.0.1",
	"2606:4700::1111", "[2a00:1450:4001::8a]", "[2a00:1450:4001::8a]:443",
	"localhost.example.com", "notlocalhost", "my_host.example.com", "127.0.0.1.nip.io", "0x7f.example", "1e100.net", "bücher.example",
	"deadbeef", "a1",
}

func TestCheckHost(t *testing.T) {
	targets := NewTargets(TargetsConfig{Ports: ports(t, "1-65535,53")})
	for _, host := range refusedHosts {
		if targets.CheckHost(host) == "" {
			t.Errorf("%q may be called", host)
		}
	}
	for _, host := range allowedHosts {
		if why := targets.CheckHost(host); why != "" {
			t.Errorf("%q may not be called: it %s", host, why)
		}
	}
}

func FuzzCheckHost(f *testing.F) {
	for _, host := range append(refusedHosts, allowedHosts...) {
		f.Add(host)
	}
	targets := NewTargets(TargetsConfig{})
	f.Fuzz(func(t *testing.T, host string) {
		why := targets.CheckHost(host)
		addr, err := netip.ParseAddr(host)
		if err == nil && why == "" && (special(addr) || special(addr.Unmap())) {
			t.Errorf("%q may be called", host)
		}
		if err == nil && why != "" && !special(addr) {
			t.Errorf("%q may not be called: it %s", host, why)
		}
	})
}

func prefixes(t testing.TB, texts ...string) []netip.Prefix {
	t.Helper()
	var all []netip.Prefix
	for _, text := range texts {
		p, err := ParsePrefix(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, p)
	}
	return all
}

func ports(t testing.TB, text string) Ports {
	t.Helper()
	p, err := ParsePorts(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return p
}

// trap listens on a loopback address and fails the test if anyone connects.
func trap(t *testing.T, network, addr string) (port string) {
	ln, err := net.Listen(network, addr)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		ln.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Millisecond))
		if c, err := ln.Accept(); err == nil {
			c.Close()
			t.Errorf("%s was connected to", addr)
		}
		ln.Close()
	})
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port
}

func TestGuard_DoesNotDialSpecialAddresses(t *testing.T) {
	c := New(Config{RootCAs: authority().pool})
	defer c.Close()
	port4 := trap(t, "tcp4", "127.0.0.1:0")
	for _, host := range []string{
		"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]",
		"169.254.169.254", "10.0.0.1", "[2002:7f00:1::]", "[fe80::1%25lo]",
	} {
		fails(t, c, get("https://"+host+":"+port4), job.KindBlocked)
	}
	for host, want := range map[string]string{
		"127.0.0.1":          "127.0.0.1 is a loopback address",
		"[::ffff:127.0.0.1]": "127.0.0.1 is a loopback address",
		// What a name leads to inside is not told.
		"localhost": "it leads to an address that this service does not call",
	} {
		f := fails(t, c, get("https://"+host+":"+port4), job.KindBlocked)
		if want = host + ":" + port4 + " may not be called: " + want; f.Message != want {
			t.Errorf("got message %q, want %q", f.Message, want)
		}
	}
	// What these mean, if anything, is up to the system's resolver.
	for _, host := range []string{"127.1", "0x7f000001", "2130706433", "0177.0.0.1", "017700000001", "127.0.0.1.", "１２７.0.0.1",
		"a.localhost", "LOCALHOST."} {
		r := get("https://" + host + ":" + port4)
		r.Timeout = time.Second
		out := c.Do(t.Context(), r)
		if f := out.Failure; f == nil || f.Kind != job.KindBlocked && f.Kind != job.KindDNS && f.Kind != job.KindTimeout {
			t.Errorf("%s: got %+v", host, out)
		}
	}
	t.Run("IPv6", func(t *testing.T) {
		port6 := trap(t, "tcp6", "[::1]:0")
		for _, host := range []string{"[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "localhost"} {
			fails(t, c, get("https://"+host+":"+port6), job.KindBlocked)
		}
	})
}

// Each hop of a redirect is checked when it is dialled.
func TestGuard_ChecksRedirects(t *testing.T) {
	h, _ := redirecting()
	base := serve(t, true, h)
	c := newClient(t)
	c.targets = NewTargets(TargetsConfig{Allow: prefixes(t, "127.0.0.1")})
	port := trap(t, "tcp4", "127.0.0.2:0")
	fails(t, c, get(base+"/307?https://127.0.0.2:"+port+"/"), job.KindBlocked)
	fails(t, c, get(base+"/302?https://[::ffff:127.0.0.2]:"+port+"/"), job.KindBlocked)
	answered(t, c, get(base+"/302?/300"))
}

// Of a name with several addresses, those that may be called are; the kind is
// blocked only when there are none.
func TestGuard_SeveralAddresses(t *testing.T) {
	other := &net.OpError{Op: "dial", Err: http.ErrHandlerTimeout}
	for _, test := range []struct {
		addrs  []string
		err    error
		want   error
		reason string
	}{
		{[]string{"127.0.0.1:443", "[::1]:443"}, &blockedError{}, &blockedError{netip.IPv6Loopback(), "a loopback address"}, "all blocked"},
		{[]string{"127.0.0.1:443", "8.8.8.8:443"}, &blockedError{}, unreachableError{}, "one blocked"},
		{[]string{"8.8.8.8:443"}, other, other, "none blocked"},
		{nil, other, other, "none dialled"},
	} {
		g := guard{targets: NewTargets(TargetsConfig{})}
		for _, addr := range test.addrs {
			g.control("tcp", addr, nil)
		}
		if got := g.explain(test.err); got.Error() != test.want.Error() {
			t.Errorf("%s: got %v, want %v", test.reason, got, test.want)
		}
	}
	g := guard{targets: NewTargets(TargetsConfig{})}
	if g.control("tcp", "not an address", nil) == nil {
		t.Error("an address that can't be read was let through")
	}
}

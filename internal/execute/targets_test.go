package execute

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

func rules(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var all []Rule
	for _, text := range texts {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, r)
	}
	return all
}

// wantHosts wants some hosts refused and others not.
func wantHosts(t *testing.T, targets *Targets, refused, permitted []string) {
	t.Helper()
	for _, host := range refused {
		if targets.CheckHost(host) == "" {
			t.Errorf("%q may be called", host)
		}
	}
	for _, host := range permitted {
		if why := targets.CheckHost(host); why != "" {
			t.Errorf("%q may not be called: it %s", host, why)
		}
	}
}

func TestTargets_DenyOverridesAllowAndAllowTheDefaults(t *testing.T) {
	deny, allow := prefixes(t, "8.8.8.0/24", "10.1.0.0/16", "2606:4700::/32"), prefixes(t, "10.0.0.0/8", "8.8.8.8", "::1", "168.63.129.16")
	t.Run("lists", func(t *testing.T) {
		wantHosts(t, NewTargets(TargetsConfig{Deny: deny, Allow: allow}),
			[]string{
				"8.8.8.8", "8.8.8.1", "10.1.2.3", "192.168.1.1", "127.0.0.1", "[2606:4700::1]", "[::ffff:10.1.2.3]",
				"[64:ff9b::8.8.8.8]", "[2002:808:808::1]", "127.1", "0x0a.0.0.1",
			},
			[]string{"10.0.0.1", "10.2.3.4:8443", "[::1]", "[::ffff:10.0.0.1]", "8.8.4.4", "localhost", "168.63.129.16", "example.com"})
	})
	t.Run("with private addresses", func(t *testing.T) {
		wantHosts(t, NewTargets(TargetsConfig{AllowPrivate: true, Deny: deny, Allow: allow}),
			[]string{"8.8.8.8", "10.1.2.3", "[::ffff:8.8.8.8]", "[64:ff9b::808:808]", "[2002:808:808::1]", "[::8.8.8.8]",
				"[::ffff:0:8.8.8.8]"},
			[]string{"10.0.0.1", "192.168.1.1", "127.0.0.1", "localhost", "127.1", "[fe80::1%25eth0]", "169.254.169.254", "168.63.129.16"})
	})
	t.Run("none", func(t *testing.T) {
		wantHosts(t, NewTargets(TargetsConfig{}), []string{"168.63.129.16", "10.0.0.1", "[::ffff:8.8.8.8]", "localhost"},
			[]string{"8.8.8.8"})
	})
	t.Run("a zone hides nothing", func(t *testing.T) {
		targets := NewTargets(TargetsConfig{AllowPrivate: true, Deny: prefixes(t, "fe80::/10")})
		wantHosts(t, targets, []string{"[fe80::1%25eth0]", "fe80::1%eth0"}, nil)
	})
}

func TestPorts(t *testing.T) {
	wantHosts(t, NewTargets(TargetsConfig{}),
		[]string{
			"example.com:80", "example.com:22", "example.com:1", "example.com:442", "8.8.8.8:1023", "example.com:99999",
			// Browsers block these.
			"example.com:1719", "example.com:2049", "example.com:6000", "example.com:6667", "example.com:10080",
			"[2a00:1450:4001::8a]:6566",
		},
		[]string{"example.com", "example.com:443", "example.com:1024", "8.8.8.8:8443", "example.com:65535", "example.com:0443"})
	wantHosts(t, NewTargets(TargetsConfig{Ports: ports(t, "25, 80,6660-6670,6667-6667")}),
		[]string{"example.com", "example.com:443", "example.com:6666", "example.com:8080"},
		[]string{"example.com:25", "example.com:80", "example.com:6660", "example.com:6667"})
	if why := NewTargets(TargetsConfig{}).CheckHost("example.com:25"); why != "must not use port 25; permitted are 443,1024-65535" {
		t.Errorf("the reason is %q", why)
	}
	if why := NewTargets(TargetsConfig{}).CheckHost(
		"example.com:6667"); why != "must not use port 6667; permitted are 443,1024-65535, without those that browsers block" {
		t.Errorf("the reason is %q", why)
	}
	for _, text := range []string{"", "0", "65536", "443,", "a", "-", "1-", "-1", "9-8", "1-70000", "443;80", "+443", "1-2-3"} {
		if _, err := ParsePorts(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestRules(t *testing.T) {
	for text, want := range map[string]string{
		"Example.COM.": "example.com", " a.b.example ": "a.b.example", "bücher.example": "xn--bcher-kva.example",
		"my_host.example": "my_host.example",
		"192.0.2.1":       "192.0.2.1", "192.0.2.77/24": "192.0.2.0/24", "192.0.2.1/32": "192.0.2.1", "[2001:DB8::1]": "2001:db8::1",
		"2001:db8::1/32":   "2001:db8::/32",
		"::ffff:192.0.2.1": "192.0.2.1", "::ffff:192.0.2.0/120": "192.0.2.0/24", "0.0.0.0/0": "0.0.0.0/0", "com": "com",
		"１92.0.2.1.example": "192.0.2.1.example",
	} {
		rule, err := ParseRule(text)
		if err != nil || rule.String() != want {
			t.Errorf("%q: got %q, %v, want %q", text, rule, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "..", "a..b", ".example.com", "*.example.com", "https://example.com", "example.com/", "example.com:443", "a b",
		"user@example.com",
		"192.0.2.0/33", "192.0.2", "0x7f.1", "127.1", "1.2.3.4.5", "fe80::1%eth0", "::ffff:0.0.0.0/95", "[::1", "a\x00b",
		strings.Repeat("a", 254),
	} {
		if rule, err := ParseRule(text); err == nil {
			t.Errorf("%q was read as %q", text, rule)
		}
	}
}

func FuzzParseRule(f *testing.F) {
	for _, text := range append([]string{"example.com", "192.0.2.0/24", "*.a", "Ａ.example"}, append(refusedHosts, allowedHosts...)...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text)
		if err != nil {
			return
		}
		again, err := ParseRule(rule.String())
		if err != nil || again.String() != rule.String() {
			t.Errorf("%q was read as %q, that as %q, %v", text, rule, again, err)
		}
		targets := NewTargets(TargetsConfig{AllowPrivate: true})
		targets.blocked.Store(newRuleSet([]Rule{rule}))
		host := rule.name
		if host == "" {
			host = rule.prefix.Addr().String()
		}
		if targets.CheckHost(host) == "" {
			t.Errorf("%q, read as %q, does not block %q", text, rule, host)
		}
	})
}

func TestBlockedTargets(t *testing.T) {
	targets := NewTargets(TargetsConfig{Allow: prefixes(t, "192.0.2.0/24")})
	targets.blocked.Store(newRuleSet(rules(t, "Evil.example", "192.0.2.7", "9.9.9.0/24", "xn--bcher-kva.example")))
	wantHosts(t, targets,
		[]string{
			"evil.example", "EVIL.example.", "a.b.evil.example:8443", "ｅvil.example", "192.0.2.7", "9.9.9.9", "[::ffff:192.0.2.7]",
			"bücher.example",
			"a.BÜCHER.example",
		},
		[]string{"notevil.example", "evil.example.com", "example", "192.0.2.8", "9.9.8.9"})
	targets.blocked.Store(newRuleSet(nil))
	wantHosts(t, targets, nil, []string{"evil.example", "192.0.2.7", "9.9.9.9"})
}

// A block also ends what goes on over connections that are kept.
func TestBlock_ClosesConnections(t *testing.T) {
	eachProtocol(t, func(t *testing.T, serve func(http.Handler) string) {
		waiting := make(chan struct{}, 1)
		base := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				waiting <- struct{}{}
				<-r.Context().Done()
			}
		}))
		for _, rule := range []string{"127.0.0.1", "localhost"} {
			c := newClient(t)
			base := base
			if rule == "localhost" {
				base = strings.Replace(base, "127.0.0.1", rule, 1)
			}
			answered(t, c, get(base))
			out := make(chan job.Outcome, 1)
			go func() { out <- c.Do(t.Context(), get(base+"/wait")) }()
			<-waiting
			c.Block(rules(t, "other.example", rule))
			if o := receive(t, out); o.Failure == nil || o.Failure.Kind != job.KindClosed && o.Failure.Kind != job.KindBlocked {
				t.Errorf("%s: the attempt under way came to %+v", rule, o)
			}
			awaitNoConns(t, c)
			fails(t, c, get(base), job.KindBlocked)
			c.Block(nil)
			answered(t, c, get(base))
		}
	})
}

// A connection that is kept is no way around a block of its host.
func TestBlock_AppliesToKeptConnections(t *testing.T) {
	base := serve(t, true, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	c := newClient(t)
	answered(t, c, get(base))
	c.targets.blocked.Store(newRuleSet(rules(t, "127.0.0.0/8"))) // as if it had been made just now
	c.targets.blocked.Store(newRuleSet([]Rule{{name: "127.0.0.1"}}))
	fails(t, c, get(base), job.KindBlocked)
}

// Public addresses of this machine are no targets, also once they have changed.
func TestOwnAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := []net.Addr{&net.IPNet{IP: net.ParseIP("198.51.101.7"), Mask: net.CIDRMask(24, 32)}, &net.UnixAddr{}}
		fail := error(nil)
		targets := NewTargets(TargetsConfig{})
		targets.own.list = func() ([]net.Addr, error) { return list, fail }
		wantHosts(t, targets, []string{"198.51.101.7"}, []string{"198.51.101.8", "[2a00:1450:4001::8a]"})
		if targets.own.hasIPv6() {
			t.Error("there is said to be IPv6")
		}
		list = []net.Addr{&net.IPNet{IP: net.ParseIP("2a00:1450:4001::8a"), Mask: net.CIDRMask(64, 128)}}
		time.Sleep(ownEvery)
		wantHosts(t, targets, []string{"[2a00:1450:4001::8a]"}, []string{"198.51.101.7"})
		if !targets.own.hasIPv6() {
			t.Error("there is said to be no IPv6")
		}
		fail = net.ErrClosed
		time.Sleep(ownEvery)
		wantHosts(t, targets, []string{"[2a00:1450:4001::8a]"}, []string{"198.51.101.7"})
		allowed := NewTargets(TargetsConfig{Allow: prefixes(t, "2a00:1450:4001::8a")})
		allowed.own.list = targets.own.list
		wantHosts(t, allowed, nil, []string{"[2a00:1450:4001::8a]"})
	})
}

// A name with many addresses is no way to have as many connections made.
func TestDial_TriesFewAddressesOfAName(t *testing.T) {
	g := guard{targets: NewTargets(TargetsConfig{})}
	for i := range 100 {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{8, 8, 8, byte(i)}), 443)
		if err := g.control("tcp", addr.String(), nil); (err != nil) != (i >= 8) {
			t.Errorf("address %d: %v", i, err)
		}
	}
}

// The error of a dial does not tell what a name resolves to inside.
func TestDial_ErrorsDoNotLeakInternalAddresses(t *testing.T) {
	c := New(Config{Targets: NewTargets(TargetsConfig{Allow: prefixes(t, "127.0.0.1", "::1")})})
	defer c.Close()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	f := fails(t, c, get("https://localhost:"+port), job.KindConnect)
	if want := "the connection to localhost:" + port + " was refused"; f.Message != want {
		t.Errorf("got message %q, want %q", f.Message, want)
	}
}

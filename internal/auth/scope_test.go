package auth

import (
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

func TestEachScopeIncludesTheFormer(t *testing.T) {
	t.Parallel()
	for has, permitted := range map[identity.Scope]string{
		identity.ScopeRead: "read", identity.ScopeJobs: "read jobs", identity.ScopeAdmin: "read jobs admin", "": "", "other": "",
	} {
		for _, needed := range Scopes {
			c := Caller{Scope: has}
			err := c.Permit(needed)
			if want := strings.Contains(permitted, string(needed)); (err == nil) != want {
				t.Errorf("scope %q for %q: %v", has, needed, err)
			}
			if err != nil && (fault.CodeOf(err) != fault.Forbidden || !strings.Contains(err.Error(), "the scope "+string(needed))) {
				t.Errorf("scope %q for %q: %v", has, needed, err)
			}
		}
	}
}

func TestKeySpec_Check(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	many := make([]string, 21)
	for i := range many {
		many[i] = fmt.Sprintf("192.0.2.%d", i)
	}
	for _, c := range []struct {
		spec KeySpec
		want string // the pointers, or the networks
	}{
		{KeySpec{}, "[]"},
		{KeySpec{Name: "a\nb", Scope: "write", ExpiresAt: now, CIDRs: []string{"x", "192.0.2.1", "192.0.2.0/33"}},
			"#/name #/scope #/expires_at #/cidrs/0 #/cidrs/2"},
		{KeySpec{ExpiresAt: now.Add(101 * 366 * 24 * time.Hour)}, "#/expires_at"},
		{KeySpec{CIDRs: many}, "#/cidrs"},
		{KeySpec{CIDRs: []string{"192.0.2.77/24", "192.0.2.0/24", "::ffff:198.51.100.1", "2001:DB8::1/32", "0.0.0.0/0"}},
			"[192.0.2.0/24 198.51.100.1/32 2001:db8::/32 0.0.0.0/0]"},
		{KeySpec{CIDRs: []string{"::ffff:192.0.2.0/120", "fe80::1%eth0", "", "192.0.2.1 ", "01.2.3.4"}},
			"#/cidrs/0 #/cidrs/1 #/cidrs/2 #/cidrs/3 #/cidrs/4"},
	} {
		problems := c.spec.check(now)
		got := fmt.Sprint(c.spec.CIDRs)
		if len(problems) > 0 {
			var pointers []string
			for _, p := range problems {
				pointers = append(pointers, p.Pointer)
			}
			got = strings.Join(pointers, " ")
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestKeysEndByThemselvesAndAreBoundToNetworks(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, _ := w.citizen("ann@example.com")
	check, err := New(t.Context(), Config{Store: w.s, Now: w.s.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := check.AddKey(t.Context(), a.Account.Owner, KeySpec{
		Scope: identity.ScopeJobs, ExpiresAt: w.now.Add(time.Hour), CIDRs: []string{"192.0.2.0/24", "2001:db8::/32"},
	}, audit.Actor{})
	w.wantCode("adding a key", err, 0)
	use := func(what, address string, want fault.Code) {
		t.Helper()
		from, _ := netip.ParseAddr(address)
		c, err := check.Authenticate(t.Context(), "Bearer "+key, from)
		w.wantCode(what, err, want)
		if err == nil && (c.Scope != identity.ScopeJobs || c.Prefix != key[:9]) {
			t.Errorf("the caller is %+v", c)
		}
	}
	use("first from elsewhere", "198.51.100.1", fault.Forbidden)
	if check.Knows("Bearer " + key) {
		t.Error("a key that was refused counts as no guess")
	}
	use("from its network", "192.0.2.200", 0)
	use("mapped", "::ffff:192.0.2.200", 0)
	use("from its other network", "2001:db8::1%eth0", 0)
	use("from elsewhere", "198.51.100.1", fault.Forbidden)
	use("from nowhere", "", fault.Forbidden)
	w.pass(time.Hour - time.Millisecond)
	use("just before its end", "192.0.2.200", 0)
	w.pass(time.Millisecond) // while the look-up is remembered
	if !check.Knows("Bearer " + key) {
		t.Error("a key that works counts as a guess")
	}
	use("at its end", "192.0.2.200", fault.Unauthorized)
	if check.Knows("Bearer " + key) {
		t.Error("an expired key counts as no guess")
	}
}

func TestExpiredKeysMakeRoom(t *testing.T) {
	w := newTown(t, SignupFirst)
	a, _, _ := w.citizen("ann@example.com")
	check, err := New(t.Context(), Config{Store: w.s, Now: w.s.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, _, err := check.AddKey(t.Context(), a.Account.Owner, KeySpec{ExpiresAt: w.clock().Add(time.Hour)}, audit.Actor{})
		return err
	}
	for range MaxKeys {
		w.wantCode("a key", add(), 0)
	}
	w.wantCode("one too many", add(), fault.Invalid)
	w.pass(time.Hour)
	w.wantCode("after the others have expired", add(), 0)
}

func FuzzParseNetwork(f *testing.F) {
	for _, seed := range []string{"192.0.2.0/24", "2001:db8::/32", "::ffff:192.0.2.1", "fe80::1%eth0", "0.0.0.0/0", "/", "1/1", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		network, err := parseNetwork(text)
		if err != nil {
			return
		}
		again, err := parseNetwork(network.String())
		if err != nil || again != network || len(network.String()) > 43 || strings.Contains(network.String(), ",") {
			t.Errorf("%q is %s and then %s, %v", text, network, again, err)
		}
	})
}

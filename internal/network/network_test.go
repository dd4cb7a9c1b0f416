package network

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestOf_GroupsTheAddressesOfAClient(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7":                    "192.0.2.7/32",
		"::ffff:192.0.2.7":             "192.0.2.7/32",
		"2001:db8:1:2:3:4:5:6":         "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff:ffff:0:1":   "2001:db8:1:2::/64",
		"fe80::1%eth0":                 "fe80::/64",
		"::1":                          "::/64",
		"2001:db8:1:3:0:0:0:1":         "2001:db8:1:3::/64",
		"255.255.255.255":              "255.255.255.255/32",
		"::ffff:255.255.255.255%zone0": "255.255.255.255/32",
	} {
		if got := Of(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s is counted by %s, want %s", address, got, want)
		}
	}
	if got := Of(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("no address is counted by %s", got)
	}
}

func TestParseList(t *testing.T) {
	for text, want := range map[string]List{
		"":                         nil,
		"  ":                       nil,
		"10.0.0.0/8":               {netip.MustParsePrefix("10.0.0.0/8")},
		" 10.1.2.3/8 , fd00::/8":   {netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		"192.0.2.7,::1":            {netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("::1/128")},
		"::ffff:192.0.2.7,0.0.0.0": {netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("0.0.0.0/32")},
	} {
		if got, err := ParseList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is read as %v, %v; want %v", text, got, err, want)
		}
	}
	many := strings.Repeat("10.0.0.0/8,", 1000) + "10.0.0.0/8"
	for _, text := range []string{",", "10.0.0.0/8,", "10.0.0.0/33", "example.com", "10.0.0.0-10.0.0.9", "fe80::1%eth0",
		"::ffff:10.0.0.0/104", "10.0.0.0/ 8", many} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%.40q is read as %d networks", text, len(got))
		}
	}
}

func TestContains(t *testing.T) {
	list, err := ParseList("10.0.0.0/8, 2001:db8::/32")
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"10.255.0.1": true, "::ffff:10.0.0.1": true, "11.0.0.1": false, "2001:db8:ffff::1": true, "2001:db9::1": false,
		"2001:db8::1%eth0": true,
	} {
		if got := list.Contains(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is contained: %t", address, got)
		}
	}
	if list.Contains(netip.Addr{}) || List(nil).Contains(netip.MustParseAddr("10.0.0.1")) {
		t.Error("what is nowhere is contained")
	}
	for _, address := range []string{"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"} {
		if !Loopback.Contains(netip.MustParseAddr(address)) {
			t.Errorf("%s is not loopback", address)
		}
	}
}

func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"", "10.0.0.0/8", "::1,192.0.2.1", "fe80::%a/64", ",", "0/0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseList(text)
		if err != nil {
			return
		}
		for _, prefix := range list {
			if !prefix.IsValid() || prefix != prefix.Masked() || !list.Contains(prefix.Addr()) {
				t.Errorf("%q gives the prefix %s", text, prefix)
			}
		}
	})
}

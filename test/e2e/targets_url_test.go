package e2e

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// urlMembers are the fields that have an address.
var urlMembers = []string{"url", "callback_url", "webhook_url"}

// jobCalling returns a waiting job with one of its three addresses set.
func jobCalling(member, address string) string {
	if member == "url" {
		return `{"scheduled_at":"` + far + `","url":` + quote(address) + `}`
	}
	return with(waiting, `"`+member+`":`+quote(address))
}

func TestTargetURL_IsAbsoluteHTTPSWithAHostAndNoUserInfo(t *testing.T) {
	t.Parallel()
	a := account(t)
	long := "https://example.com/" + strings.Repeat("x", 8192-len("https://example.com/"))
	for _, member := range urlMembers {
		t.Run(member, func(t *testing.T) {
			c := a.For(t)
			for _, bad := range []string{
				"", " ", "example.com", "/hook", "//example.com/hook", "http://example.com", "ftp://example.com",
				"https://", "https:///hook", "https:example.com", "https://:443/", "https://user@example.com/",
				"https://user:secret@example.com/", "https://example.com:99999/", "https://example.com:port/",
				"https://exa mple.com/", "https://example.com/%zz", "https://[::1/", " https://example.com",
				"javascript:alert(1)", "https://example.com/\x00", "https://example.com/\n", long + "x",
			} {
				c.Post("/api/jobs", jobCalling(member, bad)).WantPointers("#/" + member)
			}
			for _, good := range []string{
				"https://example.com", "HTTPS://EXAMPLE.COM/", "https://example.com:8443/a/b?c=d&e=%20",
				"https://bücher.example/", "https://example.com/ünïcode?q=ü", "https://93.184.216.34/", long,
			} {
				record := create(c, jobCalling(member, good))
				wantSame(t, "args."+member, record.Get("args."+member), quote(good))
			}
		})
	}
}

// special are addresses that only an operator may permit as targets.
var special = []string{
	"localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.9.10", "10.0.0.1", "172.16.0.1", "192.168.1.1",
	"169.254.169.254", "0.0.0.0", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
	"[::1]", "[::]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[2001:db8::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]",
}

func TestTargetURL_SpecialAddressesAreRefusedOnCreate(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("allow-private-targets"))
	c := s.Public(t)
	for _, host := range special {
		for _, member := range urlMembers {
			c.Post("/api/jobs", jobCalling(member, "https://"+host+":8443/hook")).WantPointers("#/" + member)
		}
	}
	create(c, waiting) // public addresses are
}

// TestTargetURL_OddSpellingsOfAnAddressAreNeverConnectedTo uses spellings that
// some libraries read as 127.0.0.1; each may be refused on create or on
// connecting.
func TestTargetURL_OddSpellingsOfAnAddressAreNeverConnectedTo(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.NoFlag("allow-private-targets"))
	c := s.Public(t)
	target := harness.NewTarget(t)
	route := target.Route(t)
	var accepted []harness.JSON
	for _, host := range []string{"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "①②⑦.0.0.1"} {
		answer := c.Post("/api/jobs", `{"retries":0,"url":"https://`+host+":"+target.Port+route.Path+`"}`)
		if answer.Status != 201 {
			answer.WantPointers("#/url")
			continue
		}
		accepted = append(accepted, answer.Data())
	}
	for _, job := range accepted {
		awaitState(t, c, job, "discarded")
	}
	if hits := route.Hits(); len(hits) > 0 {
		t.Errorf("the service connected to its own machine: %+v", hits)
	}
}

func TestTargetURL_PrivateOnesArePermittedByTheSwitch(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	address := strings.Replace(target.URL, "127.0.0.1", "localhost", 1)
	create(a.Client, `{"url":"`+address+`"}`)
	target.Await(t, 1, soon)
}

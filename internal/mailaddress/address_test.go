package mailaddress_test

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/mailaddress"
)

func TestParse(t *testing.T) {
	long := strings.Repeat("a", 64)
	for text, want := range map[string]string{
		" Ann@Example.COM \n":             "ann@example.com",
		"ann+tag.x!#$%&'*/=?^_`{|}~-@a.b": "ann+tag.x!#$%&'*/=?^_`{|}~-@a.b",
		"ann@localhost":                   "ann@localhost",
		"ａｎｎ@example.com":                 "ann@example.com", // full width
		"Jürgen@exämple.com":              "jürgen@xn--exmple-cua.com",
		"ju\u0308rgen@EXÄMPLE.com":        "jürgen@xn--exmple-cua.com",
		"ann@xn--exmple-cua.com":          "ann@xn--exmple-cua.com",
		"ann@example。com":                 "ann@example.com", // an ideographic full stop
		"山田たろう@example.jp":                "山田たろう@example.jp",
		"анна@example.com":                "анна@example.com",
		long + "@example.com":             long + "@example.com",

		"": "", "@": "", "ann": "", "public": "", "@example.com": "", "ann@": "", "ann@.": "", "ann@a..b": "", "a@b@example.com": "",
		"ann\u200b@example.com": "", "ann@exam\u2060ple.com": "ann@example.com", "\u202eann@example.com": "", "ann\u200d@example.com": "",
		"an\u00adn@example.com": "",
		"аnn@example.com":       "", // begins with a Cyrillic letter
		"annο@example.com":      "", // ends with a Greek one
		"ann ann@example.com":   "", "Ann <ann@example.com>": "", "ann@example.com, bob@example.com": "", `"ann"@example.com`: "",
		"ann(x)@example.com": "",
		"ann@[127.0.0.1]":    "", "ann@exa mple.com": "", "ann@-example.com": "", "ann@example.com\r\nBcc: x@example.com": "",
		"ann@ex_ample.com":          "",
		"a" + long + "@example.com": "", "ann@" + strings.Repeat("a.", 130) + "com": "", "ann@" + strings.Repeat("a", 64) + ".com": "",
		strings.Repeat("\u00e9", 1<<20) + "@example.com": "", "a\xff@example.com": "",
	} {
		got, ok := mailaddress.Parse(text)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%.80q is read as %v, %v; want %q", text, got, ok, want)
		}
	}
}

func TestMailbox_IsThatOfAllSpellings(t *testing.T) {
	for text, want := range map[string]string{
		"ann@example.com": "ann@example.com", "Ann+1+2@example.com": "ann@example.com", "a.nn@example.com": "a.nn@example.com",
		"a.n.n+x@GoogleMail.com": "ann@gmail.com", "+ann@example.com": "+ann@example.com",
	} {
		a, ok := mailaddress.Parse(text)
		if got := a.Mailbox(); !ok || got != want {
			t.Errorf("the mailbox of %s is %q, want %q", text, got, want)
		}
	}
}

func TestIsPublic(t *testing.T) {
	for text, want := range map[string]bool{"ann@example.com": true, "ann@localhost": false, "ann@127.0.0.1": false, "ann@com": false} {
		if a, ok := mailaddress.Parse(text); !ok || a.IsPublic() != want {
			t.Errorf("%s: %v, want %v", text, a.IsPublic(), want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"Ann@Example.COM", "jürgen@exämple.com", "a\u200bb@example.com", "a@b@c", "ａ@example。com"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := mailaddress.Parse(text)
		if !ok {
			return
		}
		if again, ok := mailaddress.Parse(a.String()); !ok || again != a {
			t.Errorf("%q is read as %v, and that as %v, %v", text, a, again, ok)
		}
		if strings.ContainsAny(a.String(), "\r\n\x00 \u200b\u202e") || len(a.String()) > mailaddress.MaxLength {
			t.Errorf("%q is read as %q", text, a)
		}
	})
}

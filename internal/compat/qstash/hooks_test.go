package qstash

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestIsPlainHost(t *testing.T) {
	for _, host := range []string{"example.com", "example.com.", "EXAMPLE.com:8443", "127.0.0.1:80", "[::1]:8080", "localhost",
		"a_b.example", "xn--bcher-kva.example"} {
		if !isPlainHost(host) {
			t.Errorf("%q is refused", host)
		}
	}
	for _, host := range []string{
		"", "a b", "a%zz", "user@example.com", "example.com/x", "example.com?", "example.com#", "[::1", "::1", "[fe80::1%25eth0]",
		"1.2.3.999", "1.2.3", "a.0x1",
		"a..b", "example.com:99999", "example.com:x", "xn--a-.example", "größe.example", "a\\b", "a^b",
		strings.Repeat("a", 64) + ".example",
	} {
		if isPlainHost(host) {
			t.Errorf("%q is accepted", host)
		}
	}
}

func FuzzHookHeader(f *testing.F) {
	f.Add("X-A", "plain", "q=1&b=ü\x00")
	f.Add("Cookie", "\xf0\x9f\x98\x80", "\xff")
	f.Fuzz(func(t *testing.T, name, value, query string) {
		header, err := hookHeader(http.Header{name: {value, value}})
		if err != nil {
			return
		}
		for _, values := range header {
			for _, v := range values {
				if !utf8.ValidString(v) || utf8.RuneCountInString(v) != len(value) ||
					strings.ContainsFunc(v, func(r rune) bool { return r > 0xff }) {
					t.Errorf("%q became %q", value, v)
				}
			}
		}
		if escaped := asciiQuery(query); strings.ContainsFunc(escaped, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q became %q", query, escaped)
		}
	})
}

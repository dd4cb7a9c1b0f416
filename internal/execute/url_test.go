package execute

import (
	"strings"
	"testing"
)

func TestSendable(t *testing.T) {
	for in, want := range map[string]string{
		"https://h":                     "https://h",
		"https://h/a b":                 "https://h/a%20b",
		"https://h/%zz%":                "https://h/%25zz%25",
		"https://h/?%zz%":               "https://h/?%zz%",
		"https://h?a b":                 "https://h?a%20b",
		"https://h/?u=https://x y/%":    "https://h/?u=https://x%20y/%",
		"https://h/#x y":                "https://h/",
		"https://h x/":                  "https://h x/", // not an URL, and not made one
		"HTTPS://h/\r\nX: y":            "HTTPS://h/%0D%0AX:%20y",
		"/cb?u=https://a b":             "/cb?u=https://a%20b",
		"//h x/y z":                     "//h x/y%20z",
		"a b":                           "a%20b",
		"?x y":                          "?x%20y",
		"":                              "",
		"https://h/é?é":                 "https://h/%C3%A9?%C3%A9",
		"https://h/\xff":                "https://h/%FF",
		"https://h/a=$job.id&b[c]=%2f'": "https://h/a=$job.id&b[c]=%2f'",
	} {
		if got := sendable(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// The target must see the path and query as they are after sendable: net/url
// keeps them only if it agrees that they are legal.
func TestURLIsNotEncodedAgain(t *testing.T) {
	for b := range 256 {
		for _, rest := range []string{"/x" + string([]byte{byte(b)}) + "y%2f%2F", "/?x" + string([]byte{byte(b)}) + "y%2f%2F"} {
			u, err := parseURL("https://h" + rest)
			if err != nil {
				t.Errorf("byte %#x: %v", b, err)
				continue
			}
			want := strings.TrimPrefix(sendable("https://h"+rest), "https://h")
			if got := u.RequestURI(); got != want {
				t.Errorf("byte %#x: got %q, want %q", b, got, want)
			}
		}
	}
}

func FuzzSendable(f *testing.F) {
	for _, s := range []string{"/a b?c d", "/%zz", "//x/%2", "/?a=$job.id&b[c]=%2f", "/é\x00\n\"", "?#", "/a?b?c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		const base = "https://example.com"
		in := base + "/" + rest
		out := sendable(in)
		if again := sendable(out); again != out {
			t.Errorf("%q becomes %q and then %q", in, out, again)
		}
		for _, c := range []byte(out) {
			if c <= ' ' || c >= 0x7f || c == '"' || c == '#' {
				t.Errorf("%q still has the byte %#x: %q", in, c, out)
			}
		}
		if cut, _, _ := strings.Cut(in, "#"); unescaped(cut) != unescaped(out) {
			t.Errorf("%q means something else as %q", in, out)
		}
		u, err := parseURL(in)
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		if got := base + u.RequestURI(); got != out {
			t.Errorf("%q goes out as %q, not %q", in, got, out)
		}
	})
}

// unescaped undoes every escape in s, leaving stray percent signs.
func unescaped(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && beginsEscape(s[i:]) {
			out.WriteByte(nibble(s[i+1])<<4 | nibble(s[i+2]))
			i += 2
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func nibble(c byte) byte {
	return byte(strings.IndexByte(hexDigits, strings.ToUpper(string(c))[0]))
}

func TestHostPort(t *testing.T) {
	for rawURL, want := range map[string]string{
		"https://example.com/x":      "example.com:443",
		"http://example.com":         "example.com:80",
		"https://example.com:8443":   "example.com:8443",
		"https://[2001:db8::1]:8443": "[2001:db8::1]:8443",
		"https://bücher.example":     "xn--bcher-kva.example:443",
	} {
		u, err := parseURL(rawURL)
		if err != nil {
			t.Fatal(err)
		}
		if got := hostPort(u); got != want {
			t.Errorf("%s: got %s, want %s", rawURL, got, want)
		}
	}
}

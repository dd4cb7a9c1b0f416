package execute

import (
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
)

// legal marks the bytes that a path or query may contain: the pchar, "/" and
// "?" of RFC 3986, the percent sign, and square brackets, which RFC 3986 does
// not allow but every browser and server does.
var legal = func() (set [256]bool) {
	const marks = "-._~!$&'()*+,;=:@/?%[]"
	for b := range set {
		c := byte(b)
		set[b] = '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte(marks, c) >= 0
	}
	return set
}()

const hexDigits = "0123456789ABCDEF"

// sendable returns rawURL, absolute or a reference, as it can be sent: without
// a fragment, and with the illegal bytes of its path and query percent-encoded.
// Everything else stays unchanged, including percent signs that begin no
// escape, except in a path: there they become %25, because net/url rejects
// them.
func sendable(rawURL string) string {
	rawURL, _, _ = strings.Cut(rawURL, "#")
	start := pathStart(rawURL)
	inPath := true
	var out []byte // nil until something changes
	copied := 0
	for i := start; i < len(rawURL); i++ {
		c := rawURL[i]
		switch {
		case c == '?':
			inPath = false
			continue
		case c == '%' && inPath && !beginsEscape(rawURL[i:]):
		case legal[c]:
			continue
		}
		out = append(out, rawURL[copied:i]...)
		out = append(out, '%', hexDigits[c>>4], hexDigits[c&15])
		copied = i + 1
	}
	if out == nil {
		return rawURL
	}
	return string(append(out, rawURL[copied:]...))
}

// pathStart returns where the scheme and authority of rawURL end.
func pathStart(rawURL string) int {
	start := 0
	if i := strings.Index(rawURL, "//"); i == 0 || i > 0 && rawURL[i-1] == ':' && isScheme(rawURL[:i-1]) {
		start = i + 2
		if end := strings.IndexAny(rawURL[start:], "/?"); end >= 0 {
			return start + end
		}
		return len(rawURL)
	}
	return start
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

func beginsEscape(s string) bool {
	return len(s) >= 3 && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

var errNotURL = errors.New("not an absolute URL of http or https")

// parseURL parses an absolute URL of http or https. It does not wrap errors of net/url,
// which contain the URL and any secrets in its query.
func parseURL(rawURL string) (*url.URL, error) {
	u, err := url.Parse(sendable(rawURL))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errNotURL
	}
	u.Host = strings.TrimSuffix(u.Host, ":")
	u.User = nil
	return u, nil
}

// sameOrigin compares scheme, host and port according to RFC 6454.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// hostPort returns what to dial for a URL.
func hostPort(u *url.URL) string {
	return net.JoinHostPort(job.ASCIIHost(u.Hostname()), port(u))
}

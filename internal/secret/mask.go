package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// minMasked is the least length of a value that is masked: shorter ones occur
	// by chance.
	minMasked = 8
	// minCut is the least length of the beginning of a value that is masked at the
	// end of a body that was cut.
	minCut = 4
	masked = "***"
)

// mask replaces values in what a target sent.
type mask struct {
	exact [][]byte // the values as bodies and header values may spell them, longest first
	lower []string // the same in lower case, for texts that don't keep the case
}

// newMask returns a mask for values; nil if none is long enough.
func newMask(values []string) *mask {
	seen := map[string]bool{}
	m := &mask{}
	for _, value := range values {
		if len(value) < minMasked {
			continue
		}
		for _, spelling := range spellings(value) {
			if !seen[spelling] {
				seen[spelling] = true
				m.exact = append(m.exact, []byte(spelling))
				m.lower = append(m.lower, strings.ToLower(spelling))
			}
		}
	}
	if len(m.exact) == 0 {
		return nil
	}
	slices.SortFunc(m.exact, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	slices.SortFunc(m.lower, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return m
}

// Ways in which common libraries write text into JSON, URLs and HTML.
var (
	quoting = strings.NewReplacer(`"`, `\"`, `\`, `\\`)
	signing = strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`) // Go
	// System.Text.Json of .NET.
	signingAll = strings.NewReplacer(`"`, `\u0022`, `\`, `\\`, "&", `\u0026`, "'", `\u0027`, "+", `\u002B`, "<", `\u003C`, ">", `\u003E`,
		"`", `\u0060`)
	// encodeURIComponent of JavaScript, from the escapes of package url.
	component = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")
	entities  = []*strings.Replacer{
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"),   // Go
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"), // Python
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;"), // PHP
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"),  // JavaScript, .NET
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;"),                               // texts between tags
	}
)

// spellings returns a value as it may stand in a body: as it is, in JSON, in
// URLs and forms, in HTML, and in base64.
func spellings(value string) []string {
	quoted := quoting.Replace(value)
	signs := signing.Replace(quoted)
	all := []string{
		value, quoted, signs, strings.ReplaceAll(quoted, "/", `\/`), strings.ReplaceAll(signs, "/", `\/`), signingAll.Replace(value),
		base64.RawStdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
	}
	for _, escaped := range []string{url.QueryEscape(value), url.PathEscape(value), component.Replace(url.QueryEscape(value))} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	for _, e := range entities {
		all = append(all, e.Replace(value))
	}
	return all
}

// lowerEscapes returns percent-encoded text with its escapes in lower case.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// outcome masks the values in an outcome.
func (m *mask) outcome(o job.Outcome) job.Outcome {
	if m == nil {
		return o
	}
	if r := o.Response; r != nil {
		o.Response = &job.Response{
			Status: r.Status, Header: m.header(r.Header), Body: m.body(r.Body, r.Truncated), Truncated: r.Truncated, Withheld: r.Withheld,
		}
	}
	if f := o.Failure; f != nil {
		shown := *f
		shown.Message = m.text(f.Message)
		o.Failure = &shown
	}
	return o
}

// withoutCoded returns an outcome without the body of a response in a content coding or
// a charset in which values can't be found.
func withoutCoded(o job.Outcome) job.Outcome {
	if o.Response != nil && isCoded(o.Response.Header) {
		o.Response = &job.Response{Status: o.Response.Status, Header: o.Response.Header, Withheld: true}
	}
	return o
}

// isCoded reports whether a response has a content coding, or a charset in which ASCII is
// not spelled as ASCII. Many frameworks use the one that a request's Accept names.
func isCoded(h http.Header) bool {
	for name, values := range h {
		switch strings.ToLower(name) {
		case "content-encoding":
			for coding := range strings.SplitSeq(strings.Join(values, ","), ",") {
				if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
					return true
				}
			}
		case "content-type":
			if slices.ContainsFunc(values, hasOtherCharset) {
				return true
			}
		}
	}
	return false
}

// keepsASCII matches the charsets in use on the web that contain ASCII.
var keepsASCII = regexp.MustCompile(`^(utf-?8|(us-)?ascii|iso-?8859-?\d+|windows-\d+|cp125\d|latin\d|koi8-[ru]|gb(k|2312|18030)|big5|euc-?(jp|kr|cn)|shift[-_]jis)$`)

// hasOtherCharset reports whether a Content-Type names a charset that may not contain
// ASCII.
func hasOtherCharset(contentType string) bool {
	for part := range strings.SplitSeq(strings.ToLower(contentType), ";") {
		name, charset, _ := strings.Cut(part, "=")
		if strings.TrimSpace(name) == "charset" && !keepsASCII.MatchString(strings.Trim(charset, " \t\"'")) {
			return true
		}
	}
	return false
}

// mayHold reports whether an outcome may repeat one of values: something in it is as
// long as the shortest one. Most responses are shorter than a token.
func mayHold(o *job.Outcome, values []string) bool {
	least := math.MaxInt
	for _, value := range values {
		if len(value) >= minMasked {
			least = min(least, len(value))
		}
	}
	if o.Failure != nil && len(o.Failure.Message) >= least {
		return true
	}
	r := o.Response
	if r == nil {
		return false
	}
	if r.Truncated || len(r.Body) >= least {
		return true
	}
	for name, values := range r.Header {
		if len(name) >= least || slices.ContainsFunc(values, func(v string) bool { return len(v) >= least }) {
			return true
		}
	}
	return false
}

// body masks values in a body, and at the end of one that was cut the beginning
// of a value.
func (m *mask) body(body []byte, cut bool) []byte {
	if cut {
		body = m.tail(body)
	}
	for _, value := range m.exact {
		if bytes.Contains(body, value) {
			body = bytes.ReplaceAll(body, value, []byte(masked))
		}
	}
	return body
}

func (m *mask) tail(body []byte) []byte {
	longest := 0
	for _, value := range m.exact {
		for n := min(len(value)-1, len(body)); n >= minCut && n > longest; n-- {
			if bytes.HasSuffix(body, value[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return body
	}
	return append(body[:len(body)-longest:len(body)-longest], masked...)
}

func (m *mask) header(h http.Header) http.Header {
	shown := make(http.Header, len(h))
	for name, values := range h {
		name = m.text(name)
		for _, value := range values {
			shown[name] = append(shown[name], string(m.body([]byte(value), false)))
		}
	}
	return shown
}

// text masks values in a text that may not keep their case, as names of header
// fields and hosts don't.
func (m *mask) text(text string) string {
	lower := lowerASCII(text)
	for _, value := range m.lower {
		if !strings.Contains(lower, value) {
			continue
		}
		var shown strings.Builder
		for {
			// Values are ASCII, so a match has the same length in text.
			i := strings.Index(lower, value)
			if i < 0 {
				break
			}
			shown.WriteString(text[:i])
			shown.WriteString(masked)
			text, lower = text[i+len(value):], lower[i+len(value):]
		}
		shown.WriteString(text)
		text = shown.String()
		lower = lowerASCII(text)
	}
	return text
}

// lowerASCII returns text with the letters of ASCII in lower case.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

package harness

import (
	"bytes"
	"net/http"
	"regexp"
	"testing"

	"github.com/punctual-dev/punctual/api/apitest"
)

// conforms says how an answer differs from what the OpenAPI document describes.
func conforms(t testing.TB, method, path string, header http.Header, body []byte, a *Answer) error {
	if hasHugeExponent(body) || hasHugeExponent(a.Body) {
		return nil
	}
	return apitest.New(t).Check(method, path, header, body, a.Status, a.Header, a.Body)
}

// hugeExponent matches the beginning of an exponent like that of 1e-999999999:
// JSON, but more than the library behind apitest can take.
var hugeExponent = regexp.MustCompile(`^[+-]?\d{5}`)

// hasHugeExponent looks for such numbers. Texts may be large, so the expression
// is tried only on what follows an e.
func hasHugeExponent(text []byte) bool {
	for _, e := range []string{"e", "E"} {
		for after := range bytes.SplitSeq(text, []byte(e)) {
			if hugeExponent.Match(after[:min(len(after), 6)]) {
				return true
			}
		}
	}
	return false
}

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/api/apitest"
	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// request is one request to send.
type request struct {
	operation string // for messages
	method    string
	path      string
	body      any // []byte or nil
	options   []harness.RequestOption
}

// breaker builds requests from documented operations and breaks them.
type breaker struct {
	operations []apitest.Operation
	known      []string // names of members the examples use
	origin     *regexp.Regexp
	target     string
}

// newBreaker prepares operations. One with many examples comes up more often, as
// there is more to break. Origins in examples are replaced, so that nothing is
// sent out of this machine.
func newBreaker(operations []apitest.Operation, target string) *breaker {
	b := &breaker{target: target, origin: regexp.MustCompile(`https://[a-zA-Z0-9.:-]+`),
		known: []string{"url", "method", "schedule_in", "scheduled_at", "repeat_every", "cron", "timezone", "idempotency_key"}}
	for _, op := range operations {
		times := 1
		switch {
		case len(op.Requests) > 0:
			times = 4 * len(op.Requests)
		case strings.HasPrefix(op.Path, "/api/"):
			times = 4
		}
		for range times {
			b.operations = append(b.operations, op)
		}
	}
	return b
}

// request makes one broken request.
func (b *breaker) request(r *rand.Rand) request {
	op := b.operations[r.IntN(len(b.operations))]
	q := request{operation: op.Method + " " + op.Path, method: op.Method, path: b.path(r, op)}
	mediaType := "application/json"
	if len(op.Requests) > 0 {
		var body []byte
		body, mediaType = b.body(r, op.Requests[r.IntN(len(op.Requests))])
		q.body = body
	} else if r.IntN(10) == 0 {
		q.body = []byte(oddValue(r).literal)
	}
	q.options = append(q.options, harness.ContentType(mediaType))
	if r.IntN(12) == 0 {
		q.options = append(q.options, harness.ContentType(oddMediaType(r)))
	}
	if r.IntN(15) == 0 {
		q.method = choose(r, "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get", "BREW", "GET", "POST", "HEAD")
		q.operation = q.method + " " + op.Path
	}
	for range r.IntN(3) {
		if r.IntN(4) == 0 {
			q.options = append(q.options, oddHeader(r))
		}
	}
	return q
}

// path fills in a template and adds a query.
func (b *breaker) path(r *rand.Rand, op apitest.Operation) string {
	path := parameterPattern.ReplaceAllStringFunc(op.Path, func(string) string { return oddID(r) })
	if r.IntN(60) == 0 {
		path += choose(r, "/", "/x", "//", "%20", ".json", ";a=b")
	}
	var pairs []string
	for _, p := range op.Parameters {
		if p.In == "query" && r.IntN(3) == 0 {
			pairs = append(pairs, choose(r, p.Name, p.Name, p.Name, p.Name+"[]", p.Name+"[0]", p.Name+"[x][y]")+"="+oddQuery(r, p))
		}
	}
	if r.IntN(10) == 0 {
		pairs = append(pairs, choose(r, "=", "&&", "%zz", ";", "a;b=c", "unknown=1", "%00=%ff", "[]=1", "limit", "?limit=1"))
	}
	if len(pairs) == 0 {
		return path
	}
	return path + "?" + strings.Join(pairs, "&")
}

var parameterPattern = regexp.MustCompile(`\{[^}]+\}`)

func oddID(r *rand.Rand) string {
	return choose(r, "1", "2", "17", "0", "-1", noUUID, noInt, "x", "%00", "%ff", "1%2F2", "%E2%80%8B", "null", "99999999999999999999",
		"1e3", strings.Repeat("a", 4000), strings.ToUpper(noUUID), noUUID[1:], "%7B%7D", "'%20OR%201=1--", "1.0", "*")
}

// oddQuery returns a value for a query parameter, escaped now and then.
func oddQuery(r *rand.Rand, p apitest.Parameter) string {
	if len(p.Examples) > 0 && r.IntN(3) == 0 {
		example := string(p.Examples[r.IntN(len(p.Examples))])
		return url.QueryEscape(strings.Trim(example, `"`))
	}
	value := choose(r, "", "0", "1", "-1", "100", "101", "1.5", "1e2", "99999999999999999999", "x", "asc", "id,asc", "id,desc", "state",
		"job_id",
		`["id","asc"]`, `["id"`, "scheduled", "completed", "nonsense", "null", noUUID, "\x00", "\xff", "a,b,c", " ", "+1", "٣",
		strings.Repeat("9", 500), "{}", "inserted_at,desc")
	if r.IntN(5) == 0 && utf8.ValidString(value) && !strings.ContainsAny(value, "\x00 ") {
		return value
	}
	return url.QueryEscape(value)
}

func oddMediaType(r *rand.Rand) string {
	return choose(r, "text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", "application/json;",
		"application/json; charset=utf-16", ";;;", "/", "application/*", "application/json, text/plain", "application/merge-patch+json",
		"é", strings.Repeat("a", 3000), "APPLICATION/JSON ; q=1", "application/x-www-form-urlencoded;charset=koi8-r")
}

func oddHeader(r *rand.Rand) harness.RequestOption {
	switch r.IntN(8) {
	case 0:
		return harness.Header("Authorization", choose(r, "", "Bearer", "Token x", "Basic e30=", "Bearer \xff", "bearer  x",
			strings.Repeat("k", 9000)))
	case 1:
		return harness.Header("Authorization")
	case 2:
		return harness.Header("Idempotency-Key", choose(r, "", `"`, `""`, `"a`, "a\xff", `"a\"b"`, "é", strings.Repeat("k", 300), "k",
			"a, b", "\t"))
	case 3:
		return harness.Header("Idempotency-Key", "one", "two")
	case 4:
		return harness.Header("Accept", choose(r, "text/html", "application/xml;q=1", ";;", "*/*;q=nan", ""))
	case 5:
		return harness.Header("Content-Encoding", choose(r, "gzip", "identity", "br", "x"))
	case 6:
		return harness.Header(choose(r, "X-HTTP-Method-Override", "X-Forwarded-For", "Range", "If-None-Match", "Origin", "Cookie",
			"Forwarded",
			"If-Modified-Since", "Accept-Encoding", "X-Request-Id", "Referer"),
			choose(r, "DELETE", "*", "bytes=0-", "\xff", "a=b; c", "::1", "127.0.0.1"))
	}
	return func(req *http.Request) {
		req.Host = choose(r, "example.com", "[::1]:99999", "localhost:0", "EXAMPLE.com.")
	}
}

// body takes an example and breaks it: as a value, or as bytes.
func (b *breaker) body(r *rand.Rand, example apitest.Request) (body []byte, mediaType string) {
	body = b.origin.ReplaceAll(example.Body, []byte(b.target))
	if strings.Contains(example.ContentType, "json") {
		value := parse(harness.JSON(body))
		for range r.IntN(4) {
			value.mutate(r, b.known)
		}
		body = []byte(value.String())
		if r.IntN(5) > 0 {
			return body, example.ContentType
		}
	}
	return breakBytes(r, bytes.Clone(body)), example.ContentType
}

// breakBytes damages a text without regard to what it means.
func breakBytes(r *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return []byte(choose(r, "\x00", "{", "\"", "[]"))
	}
	at := r.IntN(len(text))
	switch r.IntN(8) {
	case 0:
		return text[:at]
	case 1:
		return text[at:]
	case 2:
		text[at] = byte(r.IntN(256))
		return text
	case 3:
		return append(text, choose(r, "}", " {}", "\x00", "\xff", "//", "&", ",")...)
	case 4:
		return append(text[:at:at], append([]byte(choose(r, "\xff", "\xed\xa0\x80", "\\", "\"", "%", "&=", "[", "]")), text[at:]...)...)
	case 5:
		return append([]byte(choose(r, "\ufeff", " ", "[", "&", "=")), text...)
	case 6:
		return append(text, text...)
	}
	noise := make([]byte, r.IntN(200))
	for i := range noise {
		noise[i] = byte(r.IntN(256))
	}
	return fmt.Append(nil, string(noise))
}

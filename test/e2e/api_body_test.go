package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// reading are the calls that read a body.
var reading = []string{"/api/jobs", "/api/broadcast", "/api/echo"}

func TestAPIBody_UnreadableJSONIs400(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ name, body string }{
		{"empty", ``},
		{"white space", " \n"},
		{"cut off", `{"url":"https://example.com"`},
		{"a trailing comma", `{"url":"https://example.com",}`},
		{"trailing data", waiting + ` {}`},
		{"a trailing bracket", waiting + `}`},
		{"duplicate keys", `{"url":"https://example.com","url":"https://example.com"}`},
		{"duplicate keys spelled differently", `{"url":"https://example.com","\u0075rl":"https://example.com"}`},
		{"duplicate keys deep inside", with(waiting, `"body":{"a":[{"b":1,"b":2}]}`)},
		{"invalid UTF-8", with(waiting, `"body":"`+"\xff"+`"`)},
		{"invalid UTF-8 in a key", with(waiting, `"body":{"`+"\xc3"+`":1}`)},
		{"an overlong form", with(waiting, `"body":"`+"\xc0\xaf"+`"`)},
		{"a surrogate in UTF-8", with(waiting, `"body":"`+"\xed\xa0\x80"+`"`)},
		{"a lone high surrogate", with(waiting, `"body":"\ud83d"`)},
		{"a lone low surrogate", with(waiting, `"body":"\ude00"`)},
		{"surrogates in the wrong order", with(waiting, `"body":"\ude00\ud83d"`)},
		{"a byte order mark", "\ufeff" + waiting},
		{"a comment", waiting + `// x`},
		{"single quotes", `{'url':'https://example.com'}`},
		{"a bare word", `nothing`},
		{"NaN", with(waiting, `"body":NaN`)},
		{"a leading zero", with(waiting, `"body":01`)},
		{"a leading plus", with(waiting, `"body":+1`)},
		{"a bare fraction", with(waiting, `"body":.5`)},
		{"a control character in a string", with(waiting, "\"body\":\"a\nb\"")},
		{"an unknown escape", with(waiting, `"body":"\x41"`)},
		{"another encoding", "\xff\xfe{\x00}\x00"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, path := range reading {
				a.For(t).Post(path, test.body).WantProblem(400)
			}
		})
	}
	if list := a.Get("/api/jobs").Want(200).Data().Items(); len(list) != 0 {
		t.Errorf("an unreadable job was stored: %s", list)
	}
}

func TestAPIBody_AcceptsJSONMediaTypes(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, mediaType := range []string{"", "application/json", "application/json; charset=utf-8", "APPLICATION/JSON",
		"application/vnd.api+json", "application/ld+json;profile=x"} {
		a.Post("/api/jobs", waiting, harness.ContentType(mediaType)).Want(201)
		a.Post("/api/broadcast", `{}`, harness.ContentType(mediaType)).Want(200)
		a.Post("/api/echo", `{}`, harness.ContentType(mediaType)).Want(200)
	}
}

func TestAPIBody_OtherMediaTypesAre415(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, mediaType := range []string{"text/plain", "application/xml", "text/json", "application/jsonx", "multipart/form-data; boundary=x",
		"application/octet-stream", "*/*", "json", "application/"} {
		for _, path := range reading {
			a.Post(path, waiting, harness.ContentType(mediaType)).WantProblem(415)
		}
	}
	wantSame(t, "the list", a.Get("/api/jobs").Want(200).Data(), `[]`)
}

// padded returns a job whose JSON text is exactly n bytes long.
func padded(n int) string {
	frame := with(waiting, `"body":""`)
	return with(waiting, `"body":"`+strings.Repeat("x", n-len(frame))+`"`)
}

func TestAPIBody_Over1MiBIs413(t *testing.T) {
	t.Parallel()
	a := account(t)
	const limit = 1 << 20
	a.Post("/api/jobs", padded(limit)).Want(201)
	for _, path := range reading {
		a.Post(path, padded(limit+1)).WantProblem(413)
		a.Post(path, padded(2*limit)).WantProblem(413)
		a.Post(path, padded(2*limit), chunked).WantProblem(413)
	}
	a.Post("/api/jobs", []byte("url=https://example.com&body="+strings.Repeat("x", limit)),
		harness.ContentType("application/x-www-form-urlencoded")).WantProblem(413)
	a.Post("/api/echo", padded(limit), chunked).Want(200)
}

// chunked hides the body's length from the server.
func chunked(req *http.Request) {
	req.Body = io.NopCloser(req.Body)
	req.ContentLength = -1
}

func TestAPIBody_IsIgnoredWithItsMediaTypeWhereNoneIsTaken(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, with(waiting, `"repeat_every":60`))
	schedule := "/api/schedules/" + job.Get("schedule_id").Str()
	bodies := []struct {
		body      any
		mediaType string
	}{
		{nil, "application/json"}, {"", "application/json"}, {"{", "application/json"}, {"\xff", "text/plain"},
		{`{"a":1,"a":2}`, "application/xml"}, {"x", ""}, {`{}`, "application/json"}, {"x", ";;;"},
	}
	for _, b := range bodies {
		for _, path := range []string{schedule + "/disable", schedule + "/enable", jobPath(job) + "/cancel"} {
			a.Post(path, b.body, harness.ContentType(b.mediaType)).Want(200)
		}
		a.Do("GET", schedule, b.body, harness.ContentType(b.mediaType)).Want(200)
	}
	a.Do("DELETE", schedule, "{", harness.ContentType("text/plain")).Want(204)
}

func TestAPIBody_IsEmptyIn204OfDelete(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, with(waiting, `"repeat_every":60`))
	answer := a.Do("DELETE", "/api/schedules/"+job.Get("schedule_id").Str(), nil).Want(204)
	if len(answer.Body) > 0 {
		t.Errorf("a body with 204: %s", answer)
	}
}

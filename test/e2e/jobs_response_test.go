package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// answered returns the response's log of a job whose target responds with a
// body.
func answered(t *testing.T, c *harness.Client, mediaType, body string) harness.JSON {
	t.Helper()
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(200, mediaType, body))
	_, payload := finished(t, c, `{"url":"`+target.URL+`"}`, "completed")
	return payload
}

func TestResponse_BodyIsKeptAsJSONElseStringElseBase64(t *testing.T) {
	t.Parallel()
	a := account(t)
	const binary = "\xff\xfe\x00binary"
	tests := []struct{ name, mediaType, body, want string }{
		{"an object", "application/json", `{"b":1.10,"a":12345678901234567890}`, `{"b":1.10,"a":12345678901234567890}`},
		{"an array", "application/json; charset=utf-8", ` [1, null] `, `[1,null]`},
		{"a number", "application/json", `1e2`, `1e2`},
		{"null", "application/json", `null`, `null`},
		{"another JSON type", "application/problem+json", `{"a":1}`, `{"a":1}`},
		{"what says it is JSON and is not", "application/json", `{"a":`, `"{\"a\":"`},
		{"two values", "application/json", `{} {}`, `"{} {}"`},
		{"JSON under another type", "text/plain", `{"a":1}`, `"{\"a\":1}"`},
		{"text", "text/html", "<p>ü</p>\x00", `"<p>ü</p>\u0000"`},
		{"nothing", "", ``, `""`},
		{"nothing that says it is JSON", "application/json", ``, `""`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			payload := answered(t, a.For(t), test.mediaType, test.body)
			wantSame(t, "body", payload.Get("body"), test.want)
			if payload.Member("encoding").Exists() {
				t.Errorf("an encoding was named: %s", payload.Raw())
			}
		})
	}
	for _, mediaType := range []string{"application/octet-stream", "text/plain", "application/json"} {
		payload := answered(t, a.Client, mediaType, binary)
		wantSame(t, "body", payload.Get("body"), quote(base64.StdEncoding.EncodeToString([]byte(binary))))
		wantSame(t, "encoding", payload.Get("encoding"), `"base64"`)
	}
}

func TestResponse_BodyIsTruncatedAt256KiBAndMarked(t *testing.T) {
	t.Parallel()
	a := account(t)
	const most = 256 << 10
	for _, size := range []int{most - 1, most, most + 1, 3 * most} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			payload := answered(t, a.For(t), "text/plain", strings.Repeat("a", size))
			if got := len(payload.Get("body").Str()); got != min(size, most) {
				t.Errorf("kept %d bytes of %d", got, size)
			}
			wantSame(t, "truncated", payload.Get("truncated"), fmt.Sprint(size > most))
		})
	}
}

func TestResponse_TruncatedBodyKeepsItsForm(t *testing.T) {
	t.Parallel()
	a := account(t)
	const most = 256 << 10
	text := answered(t, a.Client, "text/plain", "a"+strings.Repeat("ü", most))
	if got := len(text.Get("body").Str()); got != most-1 || text.Member("encoding").Exists() {
		t.Errorf("text cut within a code point: kept %d bytes, encoding %s", got, text.Get("encoding").Raw())
	}
	list := answered(t, a.Client, "application/json", "["+strings.Repeat("1,", most)+"1]")
	if got := list.Get("body").Str(); len(got) != most || !strings.HasPrefix(got, "[1,1") {
		t.Errorf("JSON that was cut is not kept as a string of %d bytes but %.20s (%d)", most, got, len(got))
	}
	binary := answered(t, a.Client, "image/png", strings.Repeat("\xff", most+1))
	kept, err := base64.StdEncoding.DecodeString(binary.Get("body").Str())
	if err != nil || len(kept) != most {
		t.Errorf("kept %d bytes as base64: %v", len(kept), err)
	}
	wantSame(t, "truncated", binary.Get("truncated"), "true")
}

func TestResponse_HeadersAreLogged(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	target.Respond(harness.Reply(200, "text/plain", "", "X-One", "1", "X-Two", "a", "X-Two", "b"))
	_, payload := finished(t, a.Client, `{"url":"`+target.URL+`"}`, "completed")
	headers := strings.ToLower(payload.Get("headers").Raw())
	for _, want := range []string{`"x-one":"1"`, `"content-type":"text/plain"`, `"x-two":"a, b"`} {
		if !strings.Contains(headers, want) {
			t.Errorf("the headers lack %s: %s", want, headers)
		}
	}
}

func TestResponse_NestedTooDeepIsKeptAsText(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, hits := sequel(t, a.Client, `"body":{}`, nest(128), nest(129), `{"$set":{"a":`+nest(127)+`}}`)
	wantSame(t, "$previous of the second run", hits[1].JSON().Member("$previous"), nest(128))
	wantSame(t, "$previous of the third run", hits[2].JSON().Member("$previous"), `{}`)
	wantSame(t, "$state of the fourth run", hits[3].JSON().Member("$state"), `{}`)
	deep := harness.JSON(`{"job_id":` + hits[1].Header.Get("X-Punctual-Job-Id") + `}`)
	wantSame(t, "the log's body", awaitLogs(t, a.Client, deep, 2, soon)[1].Get("payload.body"), `"`+nest(129)+`"`)
}

func TestResponse_ControlCharactersAreKeptAsBase64(t *testing.T) {
	t.Parallel()
	a := account(t)
	body := strings.Repeat("\x01", 256<<10)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(200, "text/plain", body))
	_, callback := called(t, a.Client, target.URL, "", "completed")
	response := callback.JSON().Get("response")
	wantKeys(t, "response", response, "status", "headers", "body", "encoding", "duration_ms", "truncated")
	wantSame(t, "encoding", response.Get("encoding"), `"base64"`)
	if got, err := base64.StdEncoding.DecodeString(response.Get("body").Str()); err != nil || string(got) != body {
		t.Errorf("%d bytes were kept, %v", len(got), err)
	}
}

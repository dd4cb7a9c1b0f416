package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestArgs_AreWhatTheClientSentVerbatim(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ name, sent, want string }{
		{"method and headers are filled in last",
			`{"url":"https://example.com","scheduled_at":"` + far + `"}`,
			`{"url":"https://example.com","scheduled_at":"` + far + `","method":"get","headers":{}}`},
		{"what was sent keeps its place",
			`{"headers":{"b":"1","A":"2"},"scheduled_at":"` + far + `","url":"https://example.com"}`,
			`{"headers":{"b":"1","A":"2"},"scheduled_at":"` + far + `","url":"https://example.com","method":"get"}`},
		{"method is stored in lower case",
			`{"method":"PoSt","url":"https://example.com","scheduled_at":"` + far + `"}`,
			`{"method":"post","url":"https://example.com","scheduled_at":"` + far + `","headers":{}}`},
		{"null means absent",
			`{"url":"https://example.com","body":null,"query":null,"headers":null,"method":null,"schedule_in":null,
			  "scheduled_at":"` + far + `","repeat_every":null,"cron":null,"callback_url":null,"webhook_url":null,
			  "idempotency_key":null,"name":null,"description":null,"retries":null,"timeout":null,"timezone":null,"metadata":null}`,
			`{"url":"https://example.com","scheduled_at":"` + far + `","method":"get","headers":{}}`},
		{"every option of the request stays under its key",
			`{"metadata":false,"timeout":1,"retries":20,"webhook_url":"https://example.com/w","callback_url":"https://example.com/c",
			  "timezone":"UTC","cron":"0 0 1 1 *","scheduled_at":"` + far + `","query":"a=1","body":"text","url":"https://example.com",
			  "name":"n","description":"d","idempotency_key":"i"}`,
			`{"metadata":false,"timeout":1,"retries":20,"webhook_url":"https://example.com/w","callback_url":"https://example.com/c",
			  "timezone":"UTC","cron":"0 0 1 1 *","scheduled_at":"` + far + `","query":"a=1","body":"text","url":"https://example.com",
			  "method":"get","headers":{}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := create(a.For(t), test.sent)
			wantSame(t, "args", record.Get("args"), test.want)
			wantSame(t, "args read again", a.For(t).Get(jobPath(record)).Data().Get("args"), test.want)
		})
	}
}

// passages are JSON values that programs tend to alter when they copy them.
var passages = map[string]string{
	"a big integer":              `12345678901234567890`,
	"a trailing zero":            `1.10`,
	"an exponent":                `1E+5`,
	"a number no double holds":   `1e400`,
	"a long fraction":            `0.1000000000000000055511151231257827`,
	"negative zero":              `-0`,
	"key order":                  `{"z":1,"a":2,"m":{"b":1,"a":2}}`,
	"the null character":         `"a\u0000b"`,
	"control characters":         `"\u0001\u001f\b\f\n\r\t\""`,
	"a character outside planes": `"\ud83d\ude00 😀"`,
	"line separators":            `"\u2028\u2029"`,
	"markup":                     `"<script>&amp;</script>"`,
	"composed and decomposed":    `"é é"`,
	"an empty key":               `{"":{"":[]}}`,
	"keys that differ by case":   `{"A":1,"a":2}`,
	"a key like a prototype's":   `{"__proto__":{"x":1},"constructor":null}`,
	"empty containers":           `[[],{},"",null,false]`,
	"nulls inside":               `{"a":null,"b":[null]}`,
	"deep nesting":               strings.Repeat("[", 100) + strings.Repeat("]", 100),
	"a dollar sign":              `"$$state.sent"`,
}

func TestArgs_JSONPassesThroughUnchanged(t *testing.T) {
	t.Parallel()
	a := account(t)
	for name, passage := range passages {
		t.Run(name, func(t *testing.T) {
			target := harness.SharedTarget(t).Route(t)
			c := a.For(t)
			record := create(c, `{"metadata":false,"method":"post","url":"`+target.URL+`","body":{"v":`+passage+`}}`)
			wantSame(t, "args.body.v", record.Get("args.body.v"), passage)
			wantSame(t, "args.body.v read again", c.Get(jobPath(record)).Data().Get("args.body.v"), passage)
			hit := target.Await(t, 1, soon)[0]
			if passage == `"$$state.sent"` {
				passage = `"$state.sent"` // what the escape is for
			}
			wantSame(t, "what was sent", hit.JSON().Get("v"), passage)
			if got := hit.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("sent as %q", got)
			}
		})
	}
}

func TestArgs_FormsAreReadWithBracketNotation(t *testing.T) {
	t.Parallel()
	a := account(t)
	// A literal form, not url.Values: the order of fields is part of the matter.
	tests := []struct{ name, form, want string }{
		{"objects and arrays",
			`url=https://example.com&body[content]=hi&schedule_in[]=30&schedule_in[]=days`,
			`{"url":"https://example.com","body":{"content":"hi"},"schedule_in":[30,"days"],"method":"get","headers":{}}`},
		{"escaped brackets",
			`url=https%3A%2F%2Fexample.com%2F%3Fa%3D1&body%5Bcontent%5D=a+b%26c&scheduled_at=` + far,
			`{"url":"https://example.com/?a=1","body":{"content":"a b&c"},"scheduled_at":"` + far + `","method":"get","headers":{}}`},
		{"digits are numbers for timing, retries and timeout",
			`url=https://example.com&schedule_in=864000&repeat_every=60&retries=2&timeout=5`,
			`{"url":"https://example.com","schedule_in":864000,"repeat_every":60,"retries":2,"timeout":5,"method":"get","headers":{}}`},
		{"digits are a number for scheduled_at",
			`url=https://example.com&scheduled_at=1935983289`,
			`{"url":"https://example.com","scheduled_at":1935983289,"method":"get","headers":{}}`},
		{"true and false are booleans for metadata",
			`url=https://example.com&scheduled_at=` + far + `&metadata=false`,
			`{"url":"https://example.com","scheduled_at":"` + far + `","metadata":false,"method":"get","headers":{}}`},
		{"elsewhere digits and booleans are strings",
			`url=https://example.com&scheduled_at=` + far + `&body[n]=1&body[t]=true&headers[x-n]=1&query[a]=1`,
			`{"url":"https://example.com","scheduled_at":"` + far +
				`","body":{"n":"1","t":"true"},"headers":{"x-n":"1"},"query":{"a":"1"},"method":"get"}`},
		{"nested objects and arrays",
			`method=POST&url=https://example.com&scheduled_at=` + far + `&body[a][b]=1&body[a][c]=2&body[l][]=x&body[l][]=y`,
			`{"method":"post","url":"https://example.com","scheduled_at":"` + far +
				`","body":{"a":{"b":"1","c":"2"},"l":["x","y"]},"headers":{}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := a.For(t)
			for _, mediaType := range []string{"application/x-www-form-urlencoded",
				"application/x-www-form-urlencoded; charset=UTF-8"} {
				answer := c.Post("/api/jobs", test.form, harness.ContentType(mediaType)).Want(201)
				wantSame(t, "args", answer.Data().Get("args"), test.want)
			}
		})
	}
}

func TestArgs_FormsCarryKeysNamesAndRefusals(t *testing.T) {
	t.Parallel()
	a := account(t)
	record := a.Post("/api/jobs", url.Values{
		"url": {"https://example.com"}, "scheduled_at": {far}, "idempotency_key": {"007"}, "name": {"12"}, "description": {"true"},
	}).Want(201).Data()
	for member, want := range map[string]string{"idempotency_key": `"007"`, "name": `"12"`, "description": `"true"`} {
		wantSame(t, member, record.Get(member), want)
	}
	a.Post("/api/jobs", url.Values{"schedule_at": {far}}).WantPointers("#/url", "#/schedule_at")
	a.Post("/api/jobs", url.Values{
		"url": {"http://example.com"}, "schedule_in[]": {"1", "fortnight"}, "retries": {"many"}, "headers[host]": {"x"},
	}).WantPointers("#/url", "#/schedule_in/1", "#/retries", "#/headers/host")
}

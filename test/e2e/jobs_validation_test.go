package e2e

import (
	"strconv"
	"strings"
	"testing"
)

// TestValidation_ListsEveryProblem sends bodies with several faults each.
func TestValidation_ListsEveryProblem(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct {
		name, body string
		pointers   []string
	}{
		{"nothing at all", `{}`, []string{"#/url"}},
		{"one fault of every kind", `{"method":"fly","headers":{"host":"x","bad name":"y","ok":"z"},
			"schedule_in":[1,"fortnight"],"retries":99,"nonsense":1}`,
			[]string{"#/url", "#/method", "#/headers/host", "#/headers/bad%20name", "#/schedule_in/1", "#/retries", "#/nonsense"}},
		{"every field of a wrong type", `{"url":1,"method":2,"query":3,"headers":[],"schedule_in":"x","repeat_every":{},
			"callback_url":false,"webhook_url":[],"idempotency_key":1,"name":{},"description":[],
			"retries":"3","timeout":"3","metadata":"no"}`,
			[]string{"#/url", "#/method", "#/query", "#/headers", "#/schedule_in", "#/repeat_every", "#/callback_url",
				"#/webhook_url", "#/idempotency_key", "#/name", "#/description", "#/retries", "#/timeout", "#/metadata"}},
		{"three addresses", `{"url":"http://example.com","callback_url":"ftp://example.com","webhook_url":"x"}`,
			[]string{"#/url", "#/callback_url", "#/webhook_url"}},
		{"two due times", with(waiting, `"schedule_in":1`), []string{"#/schedule_in", "#/scheduled_at"}},
		{"two frequencies", with(waiting, `"cron":"@daily","repeat_every":60`), []string{"#/cron", "#/repeat_every"}},
		{"both ends of a pair", with(waiting, `"repeat_every":[-1,"moons"]`), []string{"#/repeat_every/0", "#/repeat_every/1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a.For(t).Post("/api/jobs", test.body).WantPointers(test.pointers...)
		})
	}
	if list := a.Get("/api/jobs").Want(200).Data().Items(); len(list) != 0 {
		t.Errorf("a refused job was stored: %s", list)
	}
}

// TestValidation_PointsAtTheInvalidField adds one faulty field at a time to a
// valid job.
func TestValidation_PointsAtTheInvalidField(t *testing.T) {
	t.Parallel()
	a := account(t)
	tests := []struct{ field, pointer string }{
		// methods and names
		{`"method":"fly"`, "#/method"},
		{`"method":"head"`, "#/method"},
		{`"method":""`, "#/method"},
		{`"name":"` + strings.Repeat("é", 256) + `"`, "#/name"},
		{`"name":"a\u0000"`, "#/name"},
		{`"description":"` + strings.Repeat("x", 2001) + `"`, "#/description"},
		{`"description":"\u0000"`, "#/description"},
		{`"idempotency_key":""`, "#/idempotency_key"},
		{`"idempotency_key":"` + strings.Repeat("k", 256) + `"`, "#/idempotency_key"},
		{`"idempotency_key":"a\u0000"`, "#/idempotency_key"},
		{`"idempotency_key":7`, "#/idempotency_key"},
		// counts
		{`"retries":-1`, "#/retries"},
		{`"retries":21`, "#/retries"},
		{`"retries":1.5`, "#/retries"},
		{`"retries":1e99`, "#/retries"},
		{`"timeout":0`, "#/timeout"},
		{`"timeout":-5`, "#/timeout"},
		{`"timeout":901`, "#/timeout"},
		{`"timeout":[1,"second"]`, "#/timeout"},
		{`"metadata":1`, "#/metadata"},
		{`"metadata":"false"`, "#/metadata"},
		// headers
		{`"headers":"x: y"`, "#/headers"},
		{`"headers":{"Host":"x"}`, "#/headers/Host"},
		{`"headers":{"content-length":"1"}`, "#/headers/content-length"},
		{`"headers":{"Transfer-Encoding":"chunked"}`, "#/headers/Transfer-Encoding"},
		{`"headers":{"connection":"close"}`, "#/headers/connection"},
		{`"headers":{"upgrade":"h2c"}`, "#/headers/upgrade"},
		{`"headers":{"te":"trailers"}`, "#/headers/te"},
		{`"headers":{"trailer":"x"}`, "#/headers/trailer"},
		{`"headers":{"keep-alive":"1"}`, "#/headers/keep-alive"},
		{`"headers":{"Proxy-Authorization":"x"}`, "#/headers/Proxy-Authorization"},
		{`"headers":{"proxy-anything":"x"}`, "#/headers/proxy-anything"},
		{`"headers":{"":"x"}`, "#/headers/"},
		{`"headers":{"a b":"x"}`, "#/headers/a%20b"},
		{`"headers":{"a/b":"x"}`, "#/headers/a~1b"},
		{`"headers":{"é":"x"}`, "#/headers/%C3%A9"},
		{`"headers":{"a:":"x"}`, "#/headers/a:"},
		{`"headers":{"x":"a\nb"}`, "#/headers/x"},
		{`"headers":{"x":"a\r\nset-cookie: b"}`, "#/headers/x"},
		{`"headers":{"x":"\u0000"}`, "#/headers/x"},
		{`"headers":{"x":{}}`, "#/headers/x"},
		{`"headers":{"x":null}`, "#/headers/x"},
		{`"headers":{"x":["a",["b"]]}`, "#/headers/x/1"},
		{`"headers":{"x":["a","b\n",{}]}`, "#/headers/x/1 #/headers/x/2"},
		// query
		{`"query":1`, "#/query"},
		{`"query":true`, "#/query"},
		{`"query":["a"]`, "#/query"},
		{`"query":{"a":[[1]]}`, "#/query/a/0"},
		{`"query":{"a":["x",{"b":1}]}`, "#/query/a/1"},
	}
	for _, test := range tests {
		t.Run(clip(test.field), func(t *testing.T) {
			a.For(t).Post("/api/jobs", with(waiting, test.field)).WantPointers(strings.Fields(test.pointer)...)
		})
	}
}

func TestValidation_UnknownFieldNamesTheNearestKnownOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	for unknown, nearest := range map[string]string{
		"schedule_at": "scheduled_at", "shedule_in": "schedule_in", "metod": "method", "header": "headers",
		"webhook": "webhook_url", "callbackurl": "callback_url", "URL": "url", "repeatEvery": "repeat_every",
		"time_zone": "timezone", "idempotencykey": "idempotency_key", "retry": "retries",
	} {
		t.Run(unknown, func(t *testing.T) {
			answer := a.For(t).Post("/api/jobs", with(waiting, `"`+unknown+`":"x"`)).WantPointers("#/" + unknown)
			for _, problem := range answer.Problems() {
				if !strings.Contains(problem.Detail, nearest) {
					t.Errorf("the sentence does not name %s: %s", nearest, problem.Detail)
				}
			}
		})
	}
	a.Post("/api/jobs", with(waiting, `"a/b~c d":1`)).WantPointers("#/a~1b~0c%20d")
	a.Post("/api/jobs", with(waiting, `"":1`)).WantPointers("#/")
}

func TestValidation_BodyMustBeAnObject(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, body := range []string{`[]`, `"x"`, `1`, `true`, `null`} {
		a.Post("/api/jobs", body).WantPointers("#")
		a.Post("/api/broadcast", body).WantPointers("#")
	}
}

func TestValidation_AcceptsOptionsAtTheirLimits(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, field := range []string{
		`"name":"` + strings.Repeat("é", 255) + `"`,
		`"description":"` + strings.Repeat("😀", 2000) + `"`,
		`"idempotency_key":"` + strings.Repeat("é", 255) + `"`,
		`"idempotency_key":"k"`,
		`"retries":0`, `"retries":20`, `"timeout":1`, `"timeout":900`, `"metadata":true`, `"metadata":false`,
		`"method":"DELETE"`, `"method":"put"`, `"method":"Patch"`,
		`"headers":{"x":"","y":1,"z":true,"l":["a",2,false],"u":[]}`,
		`"headers":{"content-type":"text/plain","authorization":"Basic eDp5","cookie":"a=b"}`,
		`"query":{"a":1,"b":true,"c":null,"d":[1,null,"x"],"e":[],"f":{"g":{"h":[1]}}}`,
		`"query":""`, `"query":"a=1&a=2"`, `"query":{}`,
		`"body":false`, `"body":0`, `"body":""`, `"body":[]`,
	} {
		t.Run(clip(field), func(t *testing.T) {
			a.For(t).Post("/api/jobs", with(waiting, field)).Want(201)
		})
	}
}

// clip shortens the names of subtests.
func clip(s string) string {
	runes := []rune(s)
	return string(runes[:min(len(runes), 40)])
}

func TestValidation_ListsAtMost100Problems(t *testing.T) {
	t.Parallel()
	a := account(t)
	var members strings.Builder
	for i := range 60_000 {
		members.WriteString(`"u` + strconv.Itoa(i) + `":1,`)
	}
	for name, x := range map[string]struct {
		body string
		more int64
	}{
		"unknown fields": {`{` + members.String() + `"url":"https://example.com/"}`, 59_900},
		"query values": {`{"url":"https://example.com/","query":{"` + strings.Repeat("k", 200_000) + `":` + listOf(200_000, "{}") + `}}`,
			199_901},
		"header values": {`{"url":"https://example.com/","headers":{"x":` + listOf(250_000, "{}") + `}}`, 249_901},
		"ids":           {``, 59_900},
	} {
		path := "/api/jobs"
		if name == "ids" {
			path, x.body = "/api/jobs/cancel", `{`+members.String()+`"job_ids":[1]}`
		}
		answer := a.Post(path, x.body).WantProblem(422)
		if got := len(answer.JSON.Get("errors").Items()); got != 100 || answer.JSON.Get("more").Int() != x.more ||
			len(answer.Body) > 200_000 {
			t.Errorf("%s: %d problems and %s more in %d bytes, want 100 and %d", name, got, answer.JSON.Get("more").Raw(), len(answer.Body),
				x.more)
		}
		if end := "; and " + strconv.FormatInt(x.more, 10) + " more problems"; !strings.HasSuffix(answer.JSON.Get("detail").Str(), end) {
			t.Errorf("%s: the detail does not end in %q", name, end)
		}
	}
}

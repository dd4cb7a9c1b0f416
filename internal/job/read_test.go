package job

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 123456000, time.UTC)

func read(t *testing.T, body string) (*Draft, []string) {
	t.Helper()
	v, err := rawjson.Read([]byte(body))
	if err != nil {
		t.Fatalf("the test's body %.80s: %v", body, err)
	}
	draft, err := Read(v, ReadOptions{Now: noon})
	var f *fault.Error
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("Read(%.80s): %v is no fault", body, err)
	}
	var pointers []string
	if f != nil {
		for _, p := range f.Problems {
			pointers = append(pointers, p.Pointer)
		}
	}
	return draft, pointers
}

func TestReadRefusesWithEveryPointer(t *testing.T) {
	const url = `"url":"https://example.com/"`
	for body, want := range map[string][]string{
		`[]`:           {"#"},
		`null`:         {"#"},
		`{}`:           {"#/url"},
		`{"url":null}`: {"#/url"},
		`{"url":"http://x","callback_url":"ftp://x","webhook_url":7}`: {"#/url", "#/callback_url", "#/webhook_url"},
		`{` + url + `,"schedule_at":1,"uri":2}`:                       {"#/schedule_at", "#/uri"},
		`{` + url + `,"headers":{"host":"x","a b":"x","X":null,"Y":[1,{}]}}`: {"#/headers/host", "#/headers/a%20b",
			"#/headers/X", "#/headers/Y/1"},
		`{` + url + `,"headers":{"a/b~c":"x"}}`:                                           {"#/headers/a~1b~0c"},
		`{` + url + `,"query":{"a":{"b":[1,[2],{}]}}}`:                                    {"#/query/a/b/1", "#/query/a/b/2"},
		`{` + url + `,"schedule_in":["x","y"]}`:                                           {"#/schedule_in/1", "#/schedule_in/0"},
		`{` + url + `,"repeat_every":[-1,"moons"]}`:                                       {"#/repeat_every/1", "#/repeat_every/0"},
		`{` + url + `,"schedule_in":1,"scheduled_at":"2030-01-01"}`:                       {"#/schedule_in", "#/scheduled_at"},
		`{` + url + `,"cron":"* * * * *","repeat_every":60}`:                              {"#/repeat_every", "#/cron"},
		`{` + url + `,"repeat_every":0.999999}`:                                           {"#/repeat_every"},
		`{` + url + `,"repeat_every":[0.01,"minutes"]}`:                                   {"#/repeat_every/0"},
		`{` + url + `,"timezone":"UTC"}`:                                                  {"#/timezone"},
		`{` + url + `,"cron":"0 0 30 2 *","timezone":"Mars/X"}`:                           {"#/timezone", "#/cron"},
		`{` + url + `,"scheduled_at":"0001-01-01T00:00:00Z"}`:                             {"#/scheduled_at"},
		`{` + url + `,"retries":2.5,"timeout":0.5,"metadata":1}`:                          {"#/retries", "#/timeout", "#/metadata"},
		`{` + url + `,"body_base64":"AAECAw==","metadata":false}`:                         nil,
		`{` + url + `,"body_base64":""}`:                                                  nil,
		`{` + url + `,"body_base64":"AAECAw"}`:                                            {"#/body_base64"},
		`{` + url + `,"body_base64":"AAECAx=="}`:                                          {"#/body_base64"}, // bits behind the last byte
		`{` + url + `,"body_base64":"-_-_"}`:                                              {"#/body_base64"},
		`{` + url + `,"body_base64":"AAEC\nAw=="}`:                                        {"#/body_base64"},
		`{` + url + `,"body_base64":[1]}`:                                                 {"#/body_base64"},
		`{` + url + `,"body_base64":"AA==","body":null}`:                                  nil,
		`{` + url + `,"body_base64":"AA==","body":""}`:                                    {"#/body", "#/body_base64"},
		`{` + url + `,"body_base64":"` + strings.Repeat("A", MaxRequestBody/3*4+8) + `"}`: {"#/body_base64"},
		`{` + url + `,"retries":1e1}`:                                                     {"#/retries"},
		`{` + url + `,"name":"a\u0000","idempotency_key":""}`:                             {"#/name", "#/idempotency_key"},
	} {
		_, got := read(t, body)
		if !slices.Equal(got, want) {
			t.Errorf("Read(%s): problems at %q, want %q", body, got, want)
		}
	}
}

func TestReadURL(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://example.com": true, "HTTPS://EXAMPLE.com:8443/a?b=c#d": true, "https://[2001:db8::1]:1/": true,
		"https://bücher.example/":      true,
		"https://under_score.example/": true, "https://a.b.": true, "https://xn--bcher-kva.example": true,
		"https://": false, "https:///x": false, "https://:443": false, "https://x:0/": false, "https://x:65536/": false,
		"https://x:/":  false,
		"https://u@x/": false, "https://@x/": false, "https:x": false, "//x": false, "https://a..b/": false, "https://a b/": false,
		"https://[::1": false, "https://[fe80::zz]/": false, "https://exa<mple/": false, "https://" + strings.Repeat("a", 254): false,
		"https://x/" + strings.Repeat("a", MaxURL-10): true, "https://x/" + strings.Repeat("a", MaxURL-9): false, "https://x/\n": false,
	} {
		if why := new(ReadOptions).whyNotURL(url); (why == "") != ok {
			t.Errorf("whyNotURL(%.60q) = %q, want accepted: %v", url, why, ok)
		}
	}
}

func TestReadTimes(t *testing.T) {
	for body, want := range map[string][2]string{ // scheduled_at, due
		``:                                      {"2026-03-04T12:00:00.123456Z", "2026-03-04T12:00:00.123456Z"},
		`,"schedule_in":0.0000019`:              {"2026-03-04T12:00:00.123457Z", "2026-03-04T12:00:00.123457Z"},
		`,"schedule_in":[1.5,"Minutes"]`:        {"2026-03-04T12:01:30.123456Z", "2026-03-04T12:01:30.123456Z"},
		`,"scheduled_at":"2001-02-03"`:          {"2001-02-03T00:00:00.000000Z", "2026-03-04T12:00:00.123456Z"},
		`,"scheduled_at":1772625600.5`:          {"2026-03-04T12:00:00.500000Z", "2026-03-04T12:00:00.500000Z"},
		`,"cron":"*/20 * * * *"`:                {"2026-03-04T12:20:00.000000Z", "2026-03-04T12:20:00.000000Z"},
		`,"cron":"0 12 * * *","scheduled_at":0`: {"2026-03-05T12:00:00.000000Z", "2026-03-05T12:00:00.000000Z"},
		`,"cron":"0 12 * * *","timezone":"America/New_York","scheduled_at":"2026-03-08"`: {"2026-03-08T16:00:00.000000Z",
			"2026-03-08T16:00:00.000000Z"},
		`,"repeat_every":60,"scheduled_at":"2026-03-01"`: {"2026-03-01T00:00:00.000000Z",
			"2026-03-04T12:00:00.123456Z"},
	} {
		draft, problems := read(t, `{"url":"https://example.com/"`+body+`}`)
		if problems != nil {
			t.Errorf("%s: problems at %v", body, problems)
			continue
		}
		if got := [2]string{FormatTime(draft.ScheduledAt), FormatTime(draft.DueAt)}; got != want {
			t.Errorf("%s: scheduled and due %v, want %v", body, got, want)
		}
	}
}

func TestReadKeepsArgsVerbatim(t *testing.T) {
	draft, problems := read(t, `{"schedule_in":[3, "DAYS"],"name":"n","body":{"z":1.10,"a":12345678901234567890},"idempotency_key":"k",
		"url":"https://example.com/","method":"PuT","query":null,"description":"d"}`)
	want := `{"schedule_in":[3,"DAYS"],"body":{"z":1.10,"a":12345678901234567890},"url":"https://example.com/","method":"put","headers":{}}`
	if problems != nil || string(draft.Args) != want {
		t.Errorf("args %s (problems %v), want %s", draft.Args, problems, want)
	}
	if *draft.Name != "n" || *draft.Key != "k" || *draft.Description != "d" {
		t.Errorf("name %q, key %q, description %q", *draft.Name, *draft.Key, *draft.Description)
	}
}

func TestRead_UsesTheIdempotencyKeyOfTheHeader(t *testing.T) {
	key := func(s string) *string { return &s }
	for _, x := range []struct {
		field  string
		header *string
		want   string // "" for a refusal
	}{
		{`"a"`, nil, "a"}, {`null`, key("b"), "b"}, {`"a"`, key("a"), "a"}, {`"a"`, key("b"), ""}, {`null`, key(""), ""},
		{`null`, key(strings.Repeat("é", 255)), strings.Repeat("é", 255)}, {`null`, key(strings.Repeat("k", 256)), ""},
		{`null`, key("\xff"), ""},
	} {
		body := rawjson.Value(`{"url":"https://example.com/","idempotency_key":` + x.field + `}`)
		draft, err := Read(body, ReadOptions{Now: noon, HeaderKey: x.header})
		if (err != nil) != (x.want == "") || err == nil && *draft.Key != x.want {
			t.Errorf("field %s, header %v: %v, want key %q", x.field, x.header, err, x.want)
		}
	}
}

func TestRead_ChecksTheHost(t *testing.T) {
	var asked []string
	check := func(host string) string { asked = append(asked, host); return "must not be " + host }
	_, err := Read(rawjson.Value(`{"url":"https://[::1]:8/","callback_url":"https://A.example/","webhook_url":"https://b"}`),
		ReadOptions{Now: noon, CheckHost: check})
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Problems) != 3 || !slices.Equal(asked, []string{"[::1]:8", "A.example", "b"}) {
		t.Errorf("asked for %q, problems %+v", asked, f)
	}
}

func TestNearestField(t *testing.T) {
	for name, want := range map[string]string{"schedule_at": "scheduled_at", "URL": "url", "uri": "url", "callbackUrl": "callback_url",
		"header": "headers", "time_zone": "timezone", "retry": "retries"} {
		if got, ok := Nearest(name, createFields); got != want || !ok {
			t.Errorf("Nearest(%q) = %q, %v, want %q", name, got, ok, want)
		}
	}
	if got, ok := Nearest("zzzzqqqq", createFields); ok {
		t.Errorf("Nearest(zzzzqqqq) = %q, want none", got)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"url":"https://example.com/","schedule_in":[1,"day"],"body":{"a":"$state.b"}}`,
		`{"url":"https://[::1]:8/","cron":"*/5 * * * *","timezone":"Europe/Paris"}`,
		`{"method":"fetch","url":7,"headers":{"host":"a"},"schedule_in":1e999,"zz":1}`, `[]`,
		`{"url":"https://x","repeat_every":[1.5,"weeks"],"scheduled_at":-1e10}`,
		`{"url":"https://x/?a b","query":{"a":[null,1.10]},"retries":20,"timeout":900,"metadata":false}`,
		`{"url":"https://x","scheduled_at":"2026-03-08 02:30+0100"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := rawjson.Read(text)
		if err != nil {
			return
		}
		draft, err := Read(v, ReadOptions{Now: noon})
		if err != nil {
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.Invalid || len(f.Problems) == 0 {
				t.Fatalf("Read(%q): %v is no refusal with problems", text, err)
			}
			return
		}
		if draft.DueAt.Before(noon) || draft.DueAt.After(noon.Add(MaxAhead+5*366*24*time.Hour)) && draft.Frequency == nil {
			t.Fatalf("Read(%q): due at %v", text, draft.DueAt)
		}
		spec := ReadSpec(draft.Args)
		frequency, err := spec.Frequency()
		if err != nil || (frequency == nil) != (draft.Frequency == nil) {
			t.Fatalf("reading the accepted args %s again: %v, %v", draft.Args, frequency, err)
		}
		again, err := rawjson.Read(draft.Args)
		if err != nil || string(again) != string(draft.Args) {
			t.Fatalf("args are not compact JSON: %q, %v", draft.Args, err)
		}
		Render(&spec, NewDynamic(1, nil))
	})
}

package dashboard

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// form returns a form with the given texts beside the initial ones.
func form(typed ...string) *jobForm {
	f := &jobForm{NewJob: view.NewJob{Values: emptyForm()}}
	for i := 0; i+1 < len(typed); i += 2 {
		f.Values.Set(typed[i], typed[i+1])
	}
	f.read(noon)
	return f
}

func TestJobForm_BuildsTheRequest(t *testing.T) {
	for _, test := range []struct {
		want  string
		typed []string
	}{
		{`{"method":"post","url":"https://x"}`, []string{"url", " https://x "}},
		{`{"method":"get","url":"https://x","schedule_in":["30","minutes"]}`,
			[]string{"method", "get", "url", "https://x", "when", "in 30 minutes"}},
		{`{"method":"post","body":{"a":1.10}}`, []string{"body", `{"a":1.10}`}},
		{`{"method":"post","headers":{"content-type":"text/plain; charset=utf-8"},"body":"{\"a\":\n1}"}`,
			[]string{"body", "{\"a\":\r\n1}", "body_kind", "text"}},
		{`{"method":"post","headers":{"Content-Type":"text/csv","X-A":["1","2: 3"]},"body":"a,b"}`,
			[]string{"body", "a,b", "body_kind", "text", "headers", "Content-Type: text/csv\r\nX-A: 1\n\nx-a: 2: 3"}},
		{`{"method":"post","query":"a=1&b=2"}`, []string{"query", "?a=1&b=2"}},
		{`{"method":"post","query":{"a":[1,null]}}`, []string{"query", `{"a":[1,null]}`}},
		{`{"method":"post","cron":"0 9 * * 1-5","timezone":"Europe/Berlin","name":"N","idempotency_key":"k","retries":0,"timeout":1.5}`,
			[]string{"when", "every weekday at 9", "zone", "Europe/Berlin", "name", "N", "idempotency_key", "k", "retries", "0", "timeout",
				"1.5"}},
		{`{"method":"post","scheduled_at":"2026-03-02T09:00:00+01:00","repeat_every":["2","hours"],"retries":"many","metadata":false}`,
			[]string{"when", "every 2 hours starting tomorrow at 9", "zone", "Europe/Berlin", "retries", "many", "metadata", ""}},
		{`{"method":"post","description":"d","callback_url":"https://c","webhook_url":"https://w"}`,
			[]string{"description", "d", "callback_url", "https://c", "webhook_url", "https://w"}},
	} {
		want := strings.NewReplacer(`["30"`, `[30`, `["2","hours"]`, `[2,"hours"]`).Replace(test.want)
		f := form(test.typed...)
		if string(f.body) != want || len(f.Problems) > 0 {
			t.Errorf("%q:\n got %s %v\nwant %s", test.typed, f.body, f.Problems, want)
		}
	}
}

func TestJobForm_NamesTheFieldOfAMistake(t *testing.T) {
	for field, typed := range map[string][]string{
		"body": {"body", `{"a"`}, "query": {"query", `{"a"`}, "headers": {"headers", "no colon"}, "when": {"when", "whenever"},
		"zone of when": {"when", "at 9", "zone", "Mars/Olympus"},
	} {
		_, of, found := strings.Cut(field, " of ")
		if !found {
			of = field
		}
		if f := form(typed...); f.Problems[of] == "" || len(f.Problems) != 1 {
			t.Errorf("%q: %v", typed, f.Problems)
		}
	}
}

func TestJobForm_AssignsProblemsToFields(t *testing.T) {
	f := form("url", "http://x", "headers", "Host: x", "retries", "many", "timeout", "0", "callback_url", "c", "when", "in 4000 days",
		"name", strings.Repeat("n", 256))
	_, err := job.Read(f.body, job.ReadOptions{Now: noon})
	f.blame(err)
	for name, want := range map[string]string{
		"url": "must use https", "headers": "at Host belongs to", "retries": "whole number", "timeout": "from 1 to 900",
		"callback_url": "absolute https URL",
		"when":         "is understood, but schedule_in entry 1 must be at most", "name": "at most 255",
	} {
		if !strings.Contains(f.Problems[name], want) {
			t.Errorf("%s: %q does not say %q", name, f.Problems[name], want)
		}
		delete(f.Problems, name)
	}
	if len(f.Problems) > 0 {
		t.Errorf("other fields have problems: %v", f.Problems)
	}
}

func TestJobForm_AsJSON(t *testing.T) {
	f := &jobForm{NewJob: view.NewJob{AsJSON: true, Values: url.Values{"json": {`{"urll":1}`}}, Problems: map[string]string{}}}
	f.readJSON()
	_, err := job.Read(f.body, job.ReadOptions{Now: noon})
	f.blame(err)
	if got := strings.Join(f.sentences(), "\n"); got != "urll is not a known field; did you mean url?\nurl is required" {
		t.Errorf("got %s", got)
	}
	f.Values.Set("json", "{")
	f.body, f.others = nil, nil
	f.readJSON()
	if f.body != nil || !strings.Contains(f.Problems["json"], "not valid JSON") {
		t.Errorf("a malformed text yields %s, %v", f.body, f.Problems)
	}
}

func TestJobForm_BoundsHeaderLines(t *testing.T) {
	lines := func(n int) string { return strings.TrimSuffix(strings.Repeat("X-A: 1\n", n), "\n") }
	for text, fits := range map[string]bool{
		lines(1000): true, lines(1001): false,
		"X: " + strings.Repeat("v", 64<<10-3): true, "X: " + strings.Repeat("v", 64<<10-2): false,
	} {
		if f := form("headers", text); (f.Problems["headers"] == "") != fits || fits && f.body == nil {
			t.Errorf("%d bytes in %d lines: %v", len(text), 1+strings.Count(text, "\n"), f.Problems)
		}
	}
}

func TestJobForm_AsJSONWithManyProblems(t *testing.T) {
	f := &jobForm{NewJob: view.NewJob{AsJSON: true, Problems: map[string]string{}}}
	_, err := job.Read(rawjson.Value(`{"url":"https://x.example","query":{"a":[`+strings.Repeat("{},", 149)+`{}]}}`),
		job.ReadOptions{Now: noon})
	f.blame(err)
	if len(f.others) != 101 || f.others[100] != "and 50 more problems" {
		t.Errorf("%d sentences, the last %q", len(f.others), f.others[len(f.others)-1])
	}
}

// BenchmarkHeaderLines reads n, 2n and 4n lines.
func BenchmarkHeaderLines(b *testing.B) {
	for name, n := range map[string]int{"n": 250, "2n": 500, "4n": 1000} {
		var text strings.Builder
		for i := range n {
			text.WriteString("X-" + strconv.Itoa(i) + ": 1\n")
		}
		b.Run(name, func(b *testing.B) {
			f := &jobForm{NewJob: view.NewJob{Values: url.Values{"headers": {text.String()[:text.Len()-1]}}, Problems: map[string]string{}}}
			for b.Loop() {
				if len(f.headers()) != n {
					b.Fatal(f.Problems)
				}
			}
		})
	}
}

func TestHeaderLines_ReadBack(t *testing.T) {
	given := rawjson.Value(`{"X-A":["1","2"],"X-N":3,"Authorization":"Bearer x:y"}`)
	if got, want := headerLines(given), "X-A: 1\nX-A: 2\nX-N: 3\nAuthorization: Bearer x:y"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := rawjson.Object(form("headers", headerLines(given)).headers()); string(
		got) != `{"X-A":["1","2"],"X-N":"3","Authorization":"Bearer x:y"}` {
		t.Errorf("read back as %s", got)
	}
}

func TestNewJob_PastedCommandsFillTheForm(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	paste := func(command string) *result {
		return b.post("/jobs", "go", "curl", "zone", "Europe/Berlin", "curl", command)
	}
	page := b.want(paste(`curl -u ann:secret https://example.com/hook --json '{"a":1}' -X PATCH -m 5`), 200,
		`value="https://example.com/hook"`)
	for _, want := range []string{`<option value="patch" selected`, "authorization: Basic YW5uOnNlY3JldA==", "&#34;a&#34;: 1",
		`value="Europe/Berlin"`} {
		b.want(page, 200, want)
	}
	b.want(paste("curl -X PURGE https://example.com"), 422, "Command uses the method purge; jobs have ")
	b.want(paste("curl https://example.com?a=1&b=2"), 422, "has an &amp; outside quotes")
	b.want(paste(strings.Repeat("x", 100_000)), 422, "has more than 32 KiB")
	b.want(b.get("/jobs"), 200, "No jobs yet")
}

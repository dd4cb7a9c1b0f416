package jobquery

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/punctual-dev/punctual/internal/job"
)

// berlin is a zone two hours before UTC in summer.
var berlin = time.FixedZone("summer", 2*3600)

var options = Options{Now: time.Date(2026, 7, 15, 10, 30, 0, 0, time.UTC), Zone: berlin} // a Wednesday, 12:30 there

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		`failed host:api.example.com since:"yesterday 22:00" tag:import invoice`: "host=api.example.com&q=invoice&since=2026-07-14T20%3A00%3A00Z&state=discarded&tag=import",
		"is:running tag:a TAG:b":                        "state=executing&tag=a&tag=b",
		"state:scheduled":                               "state=scheduled",
		"waiting":                                       "state=available",
		`"failed" payments`:                             "q=failed+payments",
		`https://example.com:8443/x 12:30`:              "q=https%3A%2F%2Fexample.com%3A8443%2Fx+12%3A30",
		`api.example.com:8443`:                          "q=api.example.com%3A8443",
		`name:"Nightly report"`:                         "name=Nightly+report",
		`name:Nightly" report"`:                         "name=Nightly+report",
		`"say \"no\" \\ yes"`:                           `q=say+%22no%22+%5C+yes`,
		"key:order-1":                                   "idempotency_key=order-1",
		"schedule:key:nightly":                          "schedule_id=key%3Anightly",
		"schedule:01920000-0000-7000-8000-00000000000a": "schedule_id=01920000-0000-7000-8000-00000000000a",
		"parent:17 Invoice 42":                          "parent=17&q=Invoice+42",
		"since:2h until:now":                            "since=2026-07-15T08%3A30%3A00Z&until=2026-07-15T10%3A30%3A00Z",
		`since:"3 days ago"`:                            "since=2026-07-12T10%3A30%3A00Z",
		"since:monday":                                  "since=2026-07-12T22%3A00%3A00Z",
		`since:"wed 9am"`:                               "since=2026-07-15T07%3A00%3A00Z",
		"since:22:00":                                   "since=2026-07-14T20%3A00%3A00Z",
		"since:12:00":                                   "since=2026-07-15T10%3A00%3A00Z",
		`since:"2026-07-01 09:00"`:                      "since=2026-07-01T07%3A00%3A00Z",
		"since:2026-07-01T09:00:00Z":                    "since=2026-07-01T09%3A00%3A00Z",
	} {
		got, err := Parse(text, options)
		if err != nil || got.Encode() != want {
			t.Errorf("%s is %s, %v; want %s", text, got.Encode(), err, want)
		}
	}
}

func TestParse_NamesTheMisspeltWord(t *testing.T) {
	for text, want := range map[string]string{
		"failed hots:api.example.com":  "“hots” is not a filter; did you mean host:?",
		"state:faild":                  "“state:faild” is not a state; did you mean failed?",
		"state:zzzzzz":                 "“state:zzzzzz” can't be used: state must be one of ",
		"tenant:42":                    "“tenant” is not a filter; there are state, tag,",
		"host:":                        "“host:” has no value; write host:VALUE.",
		"since:soonish":                "“since:soonish” is not understood as a time; write since:2h,",
		`name:"Nightly`:                `“name:"Nightly” has a quote that is not closed.`,
		"host:a.example host:b":        "“host:b” is a second host; give one.",
		"failed completed":             "“completed” is a second state; give one.",
		"parent:x":                     "“parent:x” can't be used: parent must be a whole number, 1 or more.",
		"since:1h until:2h":            "“until:2h” can't be used: until must not be earlier than since.",
		strings.Repeat("x", 1001):      "The query may have at most 1000 bytes.",
		"a\xff":                        "The query must be valid UTF-8.",
		"since:999999w":                "“since:999999w” is not understood",
		strings.Repeat("q", 200) + ":": "“" + strings.Repeat("q", 39) + "…” is not a filter",
	} {
		got, err := Parse(text, options)
		var problem *Error
		if !errors.As(err, &problem) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), ".") &&
			!strings.HasSuffix(err.Error(), "?") {
			t.Errorf("%s is %v, %v; want %s", text, got, err, want)
		}
	}
}

// TestWords_AreUnderstood reads all words that are offered, and finds each filter among them.
func TestWords_AreUnderstood(t *testing.T) {
	offered := map[string]bool{}
	for _, w := range Words() {
		offered[w.Text] = true
		if strings.HasSuffix(w.Text, ":") {
			if filterNamed(strings.TrimSuffix(w.Text, ":")) == nil || w.Hint == "" {
				t.Errorf("%s is not a filter, or has no hint", w.Text)
			}
		} else if got, err := Parse(w.Text, options); err != nil || got.Has(TextParameter) {
			t.Errorf("%s is %v, %v", w.Text, got, err)
		}
	}
	for _, f := range job.FiltersOf(job.OfJobs) {
		if f.Name != "state" && !offered[word(f)+":"] {
			t.Errorf("the filter %s is not offered", f.Name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`failed host:api.example.com since:"yesterday 22:00" tag:import invoice "a \" b"`)
	f.Add(`schedule:key:x since:99d until:2026-01-01 "`)
	f.Fuzz(func(t *testing.T, text string) {
		values, err := Parse(text, options)
		if err != nil {
			if !utf8.ValidString(err.Error()) && utf8.ValidString(text) || len(err.Error()) > 1000 {
				t.Errorf("the error of %q is %q", text, err)
			}
			return
		}
		again, err := Parse(Format(values), options)
		if len(Format(values)) <= MaxBytes && (err != nil || !same(values, again)) {
			t.Errorf("%q is %v, formatted as %q, which is %v, %v", text, values, Format(values), again, err)
		}
	})
}

func same(a, b url.Values) bool { return a.Encode() == b.Encode() }

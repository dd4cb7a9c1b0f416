package secret

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

func TestMask_ReplacesValuesWhereverTheyStand(t *testing.T) {
	m := newMask([]string{`p"a/s&<\word`, "Sh0rt", "longer-than-8", "it's (a) b+c"})
	for body, want := range map[string]string{
		"nothing":                              "nothing",
		`you sent longer-than-8!`:              "you sent ***!",
		`longer-than-8longer-than-8`:           "******",
		`{"v":"p\"a/s&<\\word"}`:               `{"v":"***"}`,
		`{"v":"p\"a\/s&<\\word"}`:              `{"v":"***"}`,
		`{"v":"p\"a/s\u0026\u003c\\word"}`:     `{"v":"***"}`,
		`q=p%22a%2Fs%26%3C%5Cword`:             `q=***`,
		`<b>p&#34;a/s&amp;&lt;\word</b>`:       `<b>***</b>`,
		`q=p%22a%2fs%26%3c%5cword`:             `q=***`,
		`{"v":"p\u0022a/s\u0026\u003C\\word"}`: `{"v":"***"}`,
		`<b>p"a/s&amp;&lt;\word</b>`:           `<b>***</b>`,
		`<b>p&quot;a/s&amp;&lt;\word</b>`:      `<b>***</b>`,
		`q=it's%20(a)%20b%2bc`:                 `q=***`,
		`"it\u0027s (a) b\u002Bc"`:             `"***"`,
		`it&#x27;s (a) b+c`:                    `***`,
		`Sh0rt`:                                `Sh0rt`,
		`bG9uZ2VyLXRoYW4tOA==`:                 `***==`,
	} {
		if got := string(m.body([]byte(body), false)); got != want {
			t.Errorf("%s is stored as %s, want %s", body, got, want)
		}
	}
	if newMask([]string{"seven77", ""}) != nil {
		t.Error("short values are masked")
	}
}

func TestMask_CoversHeadersAndMessages(t *testing.T) {
	m := newMask([]string{"S3cret-Value"})
	o := m.outcome(job.Outcome{Response: &job.Response{
		Status: 200, Body: []byte("x"), Header: http.Header{"X-S3cret-Value": {"a"}, "Location": {"https://a/?k=S3cret-Value"},
			"X": {"1", "S3cret-ValueS3cret-Value"}},
	}})
	want := http.Header{"X-***": {"a"}, "Location": {"https://a/?k=***"}, "X": {"1", "******"}}
	if !reflect.DeepEqual(o.Response.Header, want) {
		t.Errorf("the header is %v, want %v", o.Response.Header, want)
	}
	o = m.outcome(job.Outcome{Failure: &job.Failure{Kind: job.KindDNS, Message: "the host name s3cret-value.example.com does not exist"}})
	if o.Failure.Message != "the host name ***.example.com does not exist" {
		t.Errorf("the message is %q", o.Failure.Message)
	}
}

func TestMask_CoversTheEndOfACutBody(t *testing.T) {
	m := newMask([]string{"abcdefghijkl", "fghixyzuvw"})
	for body, want := range map[string]string{
		"..abcdefghijkl": "..***", "..abcdefghijk": "..***", "..abcd": "..***", "..abc": "..abc", "..abcdefghi": "..***", "fghi": "***",
		"": "",
	} {
		if got := string(m.body([]byte(body), true)); got != want {
			t.Errorf("%s is stored as %s, want %s", body, got, want)
		}
	}
	if got := string(m.body([]byte("..abcdefghijk"), false)); got != "..abcdefghijk" {
		t.Errorf("a whole body is stored as %s", got)
	}
}

func FuzzMask(f *testing.F) {
	f.Add("longer-than-8", "a longer-than-8 b longer-th", true)
	f.Add(`q"u\o/t&e<d>'`, `{"a":"q\"u\\o\/t"}`, false)
	f.Fuzz(func(t *testing.T, value, body string, cut bool) {
		if whyNotText(value, 1, MaxValue) != "" || len(value) < minMasked || strings.Contains(value, "*") {
			return
		}
		m := newMask([]string{value})
		for _, text := range []string{body, body + value, value + body} {
			if got := string(m.body([]byte(text), cut)); strings.Contains(got, value) {
				t.Errorf("%q is stored as %q, with the value %q", text, got, value)
			}
			if got := m.text(text); strings.Contains(lowerASCII(got), lowerASCII(value)) {
				t.Errorf("%q is shown as %q, with the value %q", text, got, value)
			}
		}
	})
}

func BenchmarkMask_HeaderNameFullOfValues(b *testing.B) {
	m := newMask([]string{"aaaaaaaa"})
	name := strings.Repeat("A", 250_000)
	for b.Loop() {
		m.text(name)
	}
}

// A charset that spells ASCII otherwise hides values as a content coding does.
func TestMask_FindsNothingInOtherCharsets(t *testing.T) {
	for contentType, coded := range map[string]bool{
		"": false, "text/plain": false, "application/json; charset=utf-8": false, `text/html; Charset="UTF-8"; a=b`: false,
		"text/plain;charset=ISO-8859-1": false, "text/plain; charset=windows-1252": false, "text/plain; charset=Shift_JIS": false,
		"text/plain;charset=UTF-16": true, `text/plain; charset="utf-16le"`: true, "text/plain; a=b; CHARSET = UTF-32": true,
		"text/plain; charset=IBM037": true, "text/plain; charset=utf-7": true, "text/plain; charset=": true,
		"text/plain; charset=utf-8; charset=utf-16": true,
	} {
		o := job.Outcome{Response: &job.Response{Status: 200, Header: http.Header{"Content-type": {contentType}}, Body: []byte("x")}}
		if got := withoutCoded(o).Response; got.Withheld != coded || len(got.Body) == 0 != coded {
			t.Errorf("%q: %+v", contentType, got)
		}
	}
}

// A content coding hides values, unless it is none.
func TestWithoutCoded_ReadsContentCodings(t *testing.T) {
	for coding, coded := range map[string]bool{
		"": false, "identity": false, "Identity": false, "IDENTITY, identity": false, " , ": false, "gzip": true, "identity, br": true, "x": true,
	} {
		o := job.Outcome{Response: &job.Response{Status: 200, Header: http.Header{"Content-Encoding": {coding}}, Body: []byte("x")}}
		if got := withoutCoded(o).Response; got.Withheld != coded || len(got.Body) == 0 != coded {
			t.Errorf("Content-Encoding %q: %+v", coding, got)
		}
	}
}

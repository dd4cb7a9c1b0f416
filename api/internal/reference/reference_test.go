package reference

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/api/internal/tree"
)

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"one\ntwo\n\nthree":        "<p>one two</p><p>three</p>",
		"- a\n- b\n  goes on":      "<ul><li>a</li><li>b goes on</li></ul>",
		"use `a < b`":              "<p>use <code>a &lt; b</code></p>",
		"[here](https://a.b/?c&d)": `<p><a href="https://a.b/?c&amp;d">here</a></p>`,
		"[x](#errors)":             `<p><a href="#errors">x</a></p>`,
		"`[x](#errors)`":           "<p><code>[x](#errors)</code></p>",
		"an odd ` stays":           "<p>an odd ` stays</p>",
		"`a` and an odd `":         "<p><code>a</code> and an odd `</p>",
		"":                         "",
	} {
		if got := string(prose(in)); got != want {
			t.Errorf("%q: got %s\nwant %s", in, got, want)
		}
	}
}

func TestProseLetsNoMarkupThrough(t *testing.T) {
	for _, in := range []string{
		`<script>alert(1)</script>`, "`<img src=x>`", `[x](javascript:alert(1))`, `[x](https://a" onclick="b)`, `[<b>](https://a/)`,
		"- <i>",
	} {
		got := string(prose(in))
		for _, banned := range []string{"<script", "<img", "<b>", "<i>", `href="javascript`, `" onclick`} {
			if strings.Contains(got, banned) {
				t.Errorf("%s: got %s", in, got)
			}
		}
	}
}

func parse(t *testing.T, doc string) *tree.Node {
	t.Helper()
	n, err := tree.Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSample(t *testing.T) {
	n := parse(t, `{"short": {"a": [1.10, null]}, "text": "a long text that does not fit in one line with the rest of it", "mark": "<b>it's</b>"}`)
	want := `{
  <b>&#34;short&#34;</b>: {<b>&#34;a&#34;</b>: [1.10, null]},
  <b>&#34;text&#34;</b>: &#34;a long text that does not fit in one line with the rest of it&#34;,
  <b>&#34;mark&#34;</b>: &#34;&lt;b&gt;it&#39;s&lt;/b&gt;&#34;
}`
	if got := string(sample(n)); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := shellSample(parse(t, `"it's"`)); got != `&#34;it&#39;\&#39;&#39;s&#34;` {
		t.Errorf("for a shell: %s", got)
	}
	if got := string(event(parse(t, `{"data": {"job": {"id": 1}, "attempt": 1}}`))); !strings.Contains(got, "{…}") ||
		!strings.Contains(got, "attempt") {
		t.Errorf("an event: %s", got)
	}
}

func TestCurl(t *testing.T) {
	o := &Operation{Method: "POST", Path: "/api/jobs/{job_id}/cancel", Key: true,
		Parameters: []Field{{Name: "job_id", In: "path", example: "7"}}}
	if got := string(o.curl("", nil)); got != "curl -X POST \"$PUNCTUAL_URL/api/jobs/7/cancel\" \\\n  -H \"Authorization: Bearer $PUNCTUAL_API_KEY\"" {
		t.Errorf("got %s", got)
	}
	form := &Operation{Method: "POST", Path: "/f"}
	if got := string(form.curl(tree.FormType, parse(t, `{"a": {"b": "it's"}, "c[]": [1, "x"]}`))); got !=
		"curl \"$PUNCTUAL_URL/f\" \\\n  --data-urlencode 'a[b]=it&#39;\\&#39;&#39;s' \\\n  --data-urlencode 'c[]=1' \\\n  --data-urlencode 'c[]=x'" {
		t.Errorf("got %s", got)
	}
	list := &Operation{Method: "GET", Path: "/l", Parameters: []Field{
		{Name: "state", In: "query", example: "a b"}, {Name: "other", In: "query", example: "x"},
		{Name: "limit", In: "query", example: "50"},
	}}
	if got := list.target(); got != "/l?state=a+b&limit=50" {
		t.Errorf("got %s", got)
	}
}

func TestWordsAndLimits(t *testing.T) {
	root := parse(t, `{"components": {"schemas": {"Record": {"type": "object"}}}, "cases": [
		{"$ref": "#/components/schemas/Record"}, {"title": "https URL", "type": "string", "maxLength": 9}, {"const": "x"}, {"enum": ["a", "b", null]},
		{"type": ["string", "null"], "minLength": 1, "maxLength": 255}, {"type": "array", "items": {"type": "integer"}}, {},
		{"anyOf": [{"enum": ["get"]}, {"pattern": "x"}]}, {"type": "number", "minimum": 0, "default": 3}, {"type": "integer", "minimum": 1, "maximum": 315532800}
	]}`)
	want := []string{
		"Record / ", "https URL / ", "x / ", "a b or null / ", "string or null / 1 to 255 characters", "array of integer / ", "any JSON / ",
		"get / ", "number / 0 or more, default 3", "integer / 1 to 315,532,800",
	}
	b := &builder{shown: map[string]bool{"Record": true}}
	for i, n := range root.Get("cases").List() {
		var text string
		for _, s := range b.words(n) {
			text += s.Text
		}
		if got := text + " / " + limits(n); got != want[i] {
			t.Errorf("%s: got %q, want %q", n.Raw, got, want[i])
		}
	}
}

func TestRenderRefusesWhatItCannotLayOut(t *testing.T) {
	for name, doc := range map[string]string{
		"no JSON":     `{`,
		"unknown tag": `{"tags": [], "paths": {"/x": {"get": {"operationId": "x", "tags": ["lost"], "responses": {}}}}}`,
		"no messages": `{"tags": [], "paths": {}}`,
	} {
		if _, err := Render([]byte(doc), nil, Frame{}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSamples_AreBodiesOfFunctions(t *testing.T) {
	for name, c := range map[string]struct{ program, want string }{
		"Go":         {"import (\n\t\"fmt\"\n)\n\nfunc getJob(ctx context.Context, c *client.Client) error {\n\tif a < b {\n\t\treturn err\n\t}\n\treturn nil\n}\n", "if a &lt; b {\n\treturn err\n}"},
		"TypeScript": {"async function getJob(job: JobRecord) {\n  const job = f({\n    a: 1,\n  });\n  return job;\n}\nfor (const c of x) {\n  c();\n}\n", "const job = f({\n  a: 1,\n});"},
		"Python": {"def getJob(job):\n    job = f({\n        1,\n    })\n\n    return job\n\n\nif True:\n    getJob()\n",
			"job = f({\n    1,\n})"},
		"shell": {"set -eu\ngetJob() {\n  punctual jobs show \"$JOB\"\n}\nfor c in a; do\n  c\ndone\n",
			"punctual jobs show &#34;$JOB&#34;"},
	} {
		samples := Program{name, c.program}.samples()
		if len(samples) != 1 || string(samples["getJob"]) != c.want {
			t.Errorf("%s: %q, want %q", name, samples, c.want)
		}
	}
}

package job

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// list returns n times element, as a JSON array.
func list(n int, element string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
}

// TestRenderStopsAtTheBudget renders requests that would be gigabytes.
func TestRenderStopsAtTheBudget(t *testing.T) {
	key := strings.Repeat("k", 100_000)
	large := NewDynamic(7, &Schedule{State: rawjson.Value(`{"a":"` + strings.Repeat("s", 60_000) + `"}`),
		Previous: rawjson.Value(`{"p":` + list(100_000, "{}") + `}`)})
	for name, x := range map[string]struct{ args, field string }{
		"a query that repeats a long key": {`{"url":"https://x","query":{"` + key + `":` + list(100_000, "1") + `}}`, "query"},
		"a query of long nested keys": {`{"url":"https://x","query":{"` + key[:8000] + `":{` + strings.Repeat(`"b":1,`, 5000) +
			`"c":1}}}`, "query"},
		"a query of $state":               {`{"url":"https://x","query":{"a":` + list(5000, `"$state.a"`) + `}}`, "query"},
		"a query of $previous, all empty": {`{"url":"https://x","query":{"a":{"b":"$previous.p","c":"$previous.p"}}}`, "query"},
		"a query of nulls":                {`{"url":"https://x","query":{"a":` + list(20_000, `null`) + `}}`, "query"},
		"a ready query": {`{"url":"https://x?` + strings.Repeat("q", 8000) + `","query":"` + strings.Repeat("q", 8400) +
			`"}`, "query"},
		"a form that repeats a long key": {`{"url":"https://x","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"` +
			key + `":` + list(50_000, "1") + `}}`, "body"},
		"a form of $state": {`{"url":"https://x","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"a":` +
			list(80_000, `"$state"`) + `}}`, "body"},
		"a body of $previous": {`{"url":"https://x","body":` + list(80_000, `"$previous"`) + `}`, "body"},
		"a body of $state, raw": {`{"url":"https://x","headers":{"Content-Type":"text/plain"},"body":` +
			list(80_000, `"$state"`) + `}`, "body"},
		"a body that fits without metadata": {`{"url":"https://x","body":{"a":"` + strings.Repeat("x", MaxRequestBody-1000) + `"}}`,
			"body"},
		"headers": {`{"url":"https://x","headers":{"x":` + list(14_000, `1`) + `}}`, "headers"},
		"headers of empty arrays": {`{"url":"https://x","headers":{` + strings.TrimSuffix(strings.Repeat(`"x":[],`, 50_000),
			",") + `}}`, "headers"},
	} {
		spec := ReadSpec(rawjson.Value(x.args))
		o, err := Render(&spec, large)
		var oversize *OversizeError
		if !errors.As(err, &oversize) || oversize.Field != x.field {
			t.Errorf("%s: %v, want that %s is too large", name, err, x.field)
		}
		wantWithinBudget(t, name, o)
		if x.field == "query" && (string(o.query) != "{}" || o.URL != spec.URL) || x.field == "body" &&
			(string(o.body) != "null" || o.Body != nil) || x.field == "headers" && (string(o.headers) != "{}" || o.Header != nil) {
			t.Errorf("%s: the part that is too large is shown: %.200s", name, o.AppendPayload(nil))
		}
	}
}

func TestRenderUsesTheWholeBudget(t *testing.T) {
	for name, args := range map[string]string{
		"url":  `{"url":"https://x","query":{"a":"` + strings.Repeat("q", MaxRequestURL-len("https://x?a=")) + `"}}`,
		"body": `{"url":"https://x","body":"` + strings.Repeat("b", MaxRequestBody-2) + `"}`,
		"form body": `{"url":"https://x","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"a":"` +
			strings.Repeat("b", MaxRequestBody-8) + `"}}`,
		"headers": `{"url":"https://x","headers":{"x":"` + strings.Repeat("h", MaxRequestHeaders-5) + `"}}`,
	} {
		spec := ReadSpec(rawjson.Value(args))
		if _, err := Render(&spec, testDynamic()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		more := ReadSpec(rawjson.Value(strings.NewReplacer("qq\"", "qqq\"", "bb\"", "bbb\"", "hh\"", "hhh\"").Replace(args)))
		if _, err := Render(&more, testDynamic()); err == nil && name != "form body" {
			t.Errorf("%s: one byte more is rendered", name)
		}
	}
}

func wantWithinBudget(t testing.TB, name string, o *Outgoing) {
	t.Helper()
	headers := 0
	for _, f := range o.Header {
		headers += len(f.Name) + len(f.Value) + 4
	}
	if len(o.URL) > 16<<10 || len(o.Body) > 2<<20 || cap(o.Body) > 2<<20+4096 || headers > 64<<10 {
		t.Errorf("%s: the URL has %d bytes, the body %d (of %d), the headers %d", name, len(o.URL), len(o.Body), cap(o.Body), headers)
	}
	const most = 6*(8<<10) + 128<<10 + 64<<10 + 2<<20 + 100 // url, headers, query and body as JSON
	if n := len(o.AppendPayload(nil)); n > most {
		t.Errorf("%s: the log has %d bytes, want at most %d", name, n, most)
	}
}

// TestRenderedBytesNeverExceedTheBudget renders random templates that are made
// to amplify.
func TestRenderedBytesNeverExceedTheBudget(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	for range 80 {
		args := fmt.Sprintf(`{"url":"https://x/%s","query":%s,"headers":%s,"body":%s,"metadata":%v}`, strings.Repeat("u", r.IntN(8000)),
			hostile(r, 1), hostileHeaders(r), hostile(r, 1), r.IntN(2) == 0)
		v, err := rawjson.Read([]byte(args))
		if err != nil {
			continue // a name twice
		}
		spec := ReadSpec(v)
		d := NewDynamic(7, &Schedule{State: hostileValue(r, 64<<10), Previous: hostileValue(r, 256<<10)})
		o, _ := Render(&spec, d)
		wantWithinBudget(t, fmt.Sprintf("seed %d", seed), o)
	}
}

func hostile(r *rand.Rand, depth int) string {
	word := func() string { return strings.Repeat("w", 1<<r.IntN(15)) }
	switch n := r.IntN(6); {
	case depth == 1 || depth < 6 && n == 0:
		var b strings.Builder
		for range 1 + r.IntN(5) {
			fmt.Fprintf(&b, `,"%s":%s`, word(), hostile(r, depth+1))
		}
		return "{" + b.String()[1:] + "}"
	case n < 3:
		return list(1<<r.IntN(14), []string{`"$state"`, `"$previous"`, `"$state.a"`, `"$previous.0"`, "null", `"é%"`, "1", `{"a":"$state"}`,
			"[]"}[r.IntN(9)])
	case n == 3:
		return `"` + word() + `"`
	default:
		return `"$` + []string{"state", "previous", "job", "state.a", "$job"}[r.IntN(5)] + `"`
	}
}

func hostileHeaders(r *rand.Rand) string {
	types := []string{"application/json", "application/x-www-form-urlencoded", "text/plain"}
	return fmt.Sprintf(`{"Content-Type":"%s","x-%s":%s}`, types[r.IntN(3)], strings.Repeat("h", r.IntN(5000)), list(1<<r.IntN(14), `"v"`))
}

func hostileValue(r *rand.Rand, most int) rawjson.Value {
	most = 1 + r.IntN(most)
	switch r.IntN(3) {
	case 0:
		return rawjson.Value(`{"a":"` + strings.Repeat("v", most) + `"}`)
	case 1:
		return rawjson.Value(list(most/3, "{}"))
	default:
		return rawjson.Value(`{"a":` + list(most/2, "1") + `}`)
	}
}

func FuzzRender(f *testing.F) {
	f.Add([]byte(`{"query":{"a":["$state",1,null,{"b":[]}],"c":{"d":"é"}},"headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":{"x":"$previous.a"}}`), []byte(`{"a":[1,2]}`), 3)
	f.Add([]byte(`{"query":"x=$job","headers":{"x":["1",2,true]},"body":["$$job","$previous"]}`), []byte(`[[],"x"]`), 40)
	f.Fuzz(func(t *testing.T, args, value []byte, times int) {
		v, err := rawjson.Read(args)
		if err != nil {
			return
		}
		dynamic, err := rawjson.Read(value)
		if err != nil {
			return
		}
		// Large enough for a few of them to exceed the budget.
		dynamic = rawjson.Value(list(1+max(0, times)%20_000, string(dynamic)))
		spec := ReadSpec(v)
		spec.URL = spec.URL[:min(len(spec.URL), MaxURL)]
		o, err := Render(&spec, NewDynamic(7, &Schedule{State: dynamic, Previous: dynamic}))
		wantWithinBudget(t, string(args), o)
		if _, bad := rawjson.Read(o.AppendPayload(nil)); bad != nil && !errors.As(bad, new(*rawjson.DepthError)) {
			t.Fatalf("the log of %s is no JSON: %v", v, bad)
		}
		if err != nil || spec.Query.Kind() != '{' || strings.ContainsAny(spec.URL, "?#") || len(spec.URL) == 0 {
			return
		}
		_, query, _ := strings.Cut(o.URL, "?")
		if _, err := url.ParseQuery(query); err != nil {
			t.Fatalf("the query %q of %s is not readable: %v", query, v, err)
		}
	})
}

func TestRead_RefusesARequestThatCannotFitTheBudget(t *testing.T) {
	deepQuery := func(n int) string {
		return `{"url":"https://x.example","query":` + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "}"
	}
	for name, x := range map[string]struct{ body, pointer string }{
		"array query":      {`{"url":"https://x.example","query":{"` + strings.Repeat("k", 1000) + `":` + list(20, "1") + `}}`, "#/query"},
		"its largest":      {`{"url":"https://x.example","query":{"` + strings.Repeat("k", 1000) + `":` + list(16, "1") + `}}`, ""},
		"long ready query": {`{"url":"https://x.example","query":"` + strings.Repeat("k", 17_000) + `"}`, "#/query"},
		"headers":          {`{"url":"https://x.example","headers":{"x":` + list(14_000, "1") + `}}`, "#/headers"},
		"form": {`{"url":"https://x.example","headers":{"content-type":"application/x-www-form-urlencoded"},"body":{"` +
			strings.Repeat("k", 10_000) + `":` + list(300, "1") + `}}`, "#/body"},
		"dynamic fields":    {`{"url":"https://x.example","body":` + list(50_000, `"$previous"`) + `}`, ""},
		"64 deep":           {deepQuery(64), ""},
		"65 deep":           {deepQuery(65), "#/query"},
		"65 deep, an array": {strings.Replace(deepQuery(64), "1", "[1]", 1), "#/query"},
		"a long host":       {`{"url":"https://` + strings.Repeat("ü", 300) + `.example"}`, "#/url"},
	} {
		_, err := Read(rawjson.Value(x.body), ReadOptions{Now: noon})
		var got string
		if problems := fault.ProblemsOf(err); len(problems) == 1 {
			got = problems[0].Pointer
		} else if err != nil {
			got = err.Error()
		}
		if got != x.pointer {
			t.Errorf("%s: refused at %q, want %q", name, got, x.pointer)
		}
	}
}

func TestRead_BoundsTheListOfProblems(t *testing.T) {
	var members strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&members, `"schedule_%d%s":1,`, i, strings.Repeat("x", i%30))
	}
	long := strings.Repeat("\u00e9", 20_000)
	for name, body := range map[string]string{
		"unknown fields":      `{` + members.String() + `"url":"https://x.example"}`,
		"header values":       `{"url":"https://x.example","headers":{"` + strings.Repeat("x", 300_000) + `":` + list(100_000, "{}") + `}}`,
		"query values":        `{"url":"https://x.example","query":{"` + long + `":{"` + long + `":` + list(100_000, "[]") + `}}}`,
		"long unknown fields": `{"` + long + `1":1,"` + long + `2":2,"url":"https://x.example"}`,
	} {
		_, err := Read(rawjson.Value(body), ReadOptions{Now: noon})
		var f *fault.Error
		if !errors.As(err, &f) {
			t.Fatalf("%s: %v", name, err)
		}
		size := len(f.Message)
		for _, p := range f.Problems {
			size += len(p.Detail) + len(p.Pointer)
		}
		if len(f.Problems) > 100 || size > 100_000 {
			t.Errorf("%s: %d problems in %d bytes", name, len(f.Problems), size)
		}
		if name == "unknown fields" && (len(f.Problems) != 100 || f.More != 19_900) {
			t.Errorf("%s: %d problems and %d more", name, len(f.Problems), f.More)
		}
		if name == "long unknown fields" && (f.Problems[0].Pointer != "#" || !strings.HasPrefix(f.Problems[0].Detail,
			`has an unknown field, whose name begins with "éé`)) {
			t.Errorf("%s: %+v", name, f.Problems[0])
		}
	}
}

func TestMergeStateRefusesWhatIsTooLarge(t *testing.T) {
	big := func(n int) rawjson.Value { return rawjson.Value(`{"b":"` + strings.Repeat("x", n-8) + `"}`) }
	for _, x := range []struct {
		state, set rawjson.Value
		size       int
		ok         bool
	}{
		{rawjson.Value(`{}`), big(MaxState), MaxState, true},
		{rawjson.Value(`{}`), big(MaxState + 1), MaxState + 1, false},
		{rawjson.Value(`{"a":1}`), big(MaxState - 5), MaxState + 1, false},
		{rawjson.Value(`{"a":1}`), big(MaxState - 6), MaxState, true},
		{big(MaxState), big(MaxState), MaxState, true},
	} {
		if _, size, ok := MergeState(x.state, x.set); size != x.size || ok != x.ok {
			t.Errorf("%d into %d bytes: %d, %v, want %d, %v", len(x.set), len(x.state), size, ok, x.size, x.ok)
		}
	}
}

func TestResolve_ZeroDynamicReplacesNothing(t *testing.T) {
	v := rawjson.Value(`["$job","$$state"]`)
	if got, ok := (Dynamic{}).Resolve(v, 100); string(got) != string(v) || !ok {
		t.Errorf("%s became %s", v, got)
	}
	if got, ok := (Dynamic{}).Resolve(v, len(v)-1); got != nil || ok {
		t.Errorf("beyond the limit: %s, %v", got, ok)
	}
}

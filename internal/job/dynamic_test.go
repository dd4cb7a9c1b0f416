package job

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func testDynamic() Dynamic {
	return NewDynamic(7, &Schedule{State: rawjson.Value(`{"sent":1.10,"":{"x":1}}`),
		Previous: rawjson.Value(`{"items":[{"id":12345678901234567890}]}`)})
}

func TestResolve(t *testing.T) {
	for in, want := range map[string]string{
		`"$job"`: `{"id":7}`, `"$job.id"`: `7`, `"$state.sent"`: `1.10`, `"$previous.items.0.id"`: `12345678901234567890`,
		`"$state.nope"`: `null`, `"$previous.items.1"`: `null`, `"$job.id.x"`: `null`,
		`"$$state.sent"`: `"$state.sent"`, `"$$$job"`: `"$$job"`, `"$$5"`: `"$$5"`, `"$$HOME"`: `"$$HOME"`,
		`"$jobs"`: `"$jobs"`, `"$"`: `"$"`, `"$5"`: `"$5"`, `"x $job"`: `"x $job"`, `"$state."`: `"$state."`, `"$state..x"`: `"$state..x"`,
		`"$Job"`:                              `"$Job"`,
		`{"$job":["$job.id",{"a":"$state"}]}`: `{"$job":[7,{"a":{"sent":1.10,"":{"x":1}}}]}`,
		`{"a":"plain"}`:                       `{"a":"plain"}`,
	} {
		if got, ok := testDynamic().Resolve(rawjson.Value(in), 1000); string(got) != want || !ok {
			t.Errorf("Resolve(%s) = %s, want %s", in, got, want)
		}
	}
	if got, _ := NewDynamic(1, nil).Resolve(rawjson.Value(`["$state","$previous"]`), 1000); string(got) != `[{},{}]` {
		t.Errorf("of a one-off: %s", got)
	}
}

func TestMergeState(t *testing.T) {
	got, size, ok := MergeState(rawjson.Value(`{"a":1,"b":{"x":1}}`), rawjson.Value(`{"b":2,"c":null}`))
	if want := `{"a":1,"b":2,"c":null}`; string(got) != want || size != len(want) || !ok {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, _, _ := MergeState(nil, rawjson.Value(`{"a":1}`)); string(got) != `{"a":1}` {
		t.Errorf("into nothing: %s", got)
	}
}

func TestRender(t *testing.T) {
	for _, x := range []struct{ args, url, contentType, body string }{
		{`{"url":"https://x"}`, "https://x", "", ""},
		{`{"url":"https://x?a=1","query":{"b":[1,null,true],"c":{"d":"e f"},"n":null,"s":"$state.sent"}}`,
			"https://x?a=1&b=1&b=true&c[d]=e+f&s=1.10", "", ""},
		{`{"url":"https://x","query":"a=1#b"}`, "https://x?a=1%23b", "", ""},
		{`{"url":"https://x#f","query":"q=%20&$job"}`, "https://x?q=%20&$job#f", "", ""},
		{`{"url":"https://x","body":{"a":1}}`, "https://x", "application/json",
			`{"a":1,"$job":{"id":7},"$previous":{"items":[{"id":12345678901234567890}]},"$state":{"sent":1.10,"":{"x":1}}}`},
		{`{"url":"https://x","metadata":false,"body":{"$job":0,"b":"$job.id"}}`, "https://x", "application/json", `{"$job":0,"b":7}`},
		{`{"url":"https://x","body":"$job"}`, "https://x", "application/json",
			`{"id":7,"$job":{"id":7},"$previous":{"items":[{"id":12345678901234567890}]},"$state":{"sent":1.10,"":{"x":1}}}`},
		{`{"url":"https://x","body":"s"}`, "https://x", "application/json", `"s"`},
		{`{"url":"https://x","headers":{"content-TYPE":"text/plain"},"body":"s\u0000"}`, "https://x", "", "s\x00"},
		{`{"url":"https://x","headers":{"Content-Type":"application/x-www-form-urlencoded; charset=utf-8"},"body":{"a":[1,2],"o":{"k":"$job.id"},"z":null}}`, "https://x", "", "a=1&a=2&o[k]=7"},
		{`{"url":"https://x","headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":[1]}`, "https://x", "", "[1]"},
		{`{"url":"https://x","headers":{"Content-Type":"text/plain"},"metadata":false,"body":{"b":1.10}}`, "https://x", "", `{"b":1.10}`},
	} {
		spec := ReadSpec(rawjson.Value(x.args))
		o, err := Render(&spec, testDynamic())
		if err != nil || o.URL != x.url || o.ContentType != x.contentType || string(o.Body) != x.body ||
			(o.Body == nil) != (spec.Body == nil) {
			t.Errorf("Render(%s):\n got %s %q %s\nwant %s %q %s", x.args, o.URL, o.ContentType, o.Body, x.url, x.contentType, x.body)
		}
	}
}

func TestAppendPayload_ShowsTheRequestAsSent(t *testing.T) {
	spec := ReadSpec(rawjson.Value(`{"method":"post","url":"https://x?u=1","query":{"a":"$job.id"},"headers":{"X":[1,"b"]},"metadata":false,"body":{"n":"$state.sent"}}`))
	o, _ := Render(&spec, testDynamic())
	want := `{"body":{"n":1.10},"headers":{"X":[1,"b"]},"query":{"a":7},"url":"https://x?u=1"}`
	if got := o.AppendPayload(nil); string(got) != want {
		t.Errorf("payload %s, want %s", got, want)
	}
	if len(o.Header) != 2 || o.Header[0] != (HeaderField{"X", "1"}) || o.Header[1] != (HeaderField{"X", "b"}) {
		t.Errorf("header fields %v", o.Header)
	}
}

func TestJSONBody(t *testing.T) {
	for _, x := range []struct{ contentType, body, want string }{
		{"application/json", ` {"a" : 1.10} `, `{"a":1.10}`}, {"application/problem+json; charset=x", `[1]`, `[1]`},
		{"application/json", ``, `""`},
		{"application/json", `{"a":1,"a":2}`, `"{\"a\":1,\"a\":2}"`}, {"text/plain", `5`, `"5"`}, {"", "\xff\x00", `"/wA="`},
	} {
		r := &Response{Status: 200, Header: http.Header{"Content-Type": {x.contentType}}, Body: []byte(x.body)}
		if got, _ := appendBody(nil, r); string(got) != x.want {
			t.Errorf("%s %q: %s, want %s", x.contentType, x.body, got, x.want)
		}
	}
	cut := &Response{Body: []byte("añ")[:2], Truncated: true}
	if got, binary := appendBody(nil, cut); string(got) != `"a"` || binary {
		t.Errorf("a cut through a code point: %s, binary %v", got, binary)
	}
}

func TestIDsSortByTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for micros := range 3000 {
		at := start.Add(time.Duration(micros) * time.Microsecond)
		id, next := NewID(at), IDBound(at.Add(time.Microsecond))
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is no UUIDv7", id)
		}
		if id.String() >= next.String() || id.String() < IDBound(at).String() {
			t.Fatalf("at %d µs: %s does not lie from %s up to %s", micros, id, IDBound(at), next)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, s := range []string{`"$job.id"`, `{"a":["$state.x.0","$$previous"]}`, `"$previous...a"`, `"$state.😀"`} {
		f.Add([]byte(s), []byte(`{"x":[1]}`))
	}
	f.Fuzz(func(t *testing.T, text, state []byte) {
		v, err := rawjson.Read(text)
		if err != nil {
			return
		}
		s, err := rawjson.Read(state)
		if err != nil {
			return
		}
		d := NewDynamic(1, &Schedule{State: s, Previous: s})
		resolved, ok := d.Resolve(v, 1000)
		out, fits := d.AddTo(resolved, 2000)
		if len(resolved) > 1000 || len(out) > 2000 {
			t.Fatalf("%s with state %s exceeds the limit: %d, %d bytes", v, s, len(resolved), len(out))
		}
		if !ok || !fits {
			return
		}
		if again, err := rawjson.Read(out); err != nil || string(again) != string(out) {
			t.Fatalf("%s with state %s resolves to %q: %v", v, s, out, err)
		}
	})
}

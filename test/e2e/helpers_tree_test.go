package e2e

import (
	"bytes"
	"math/rand/v2"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// tree is a JSON value that can be changed and written again, also as text that
// is no longer JSON.
type tree struct {
	open    byte   // '{', '[' or 0 for a scalar
	literal string // the text of a scalar
	parts   []part
}

// part is a member or an element.
type part struct {
	name  string // as JSON text; empty in arrays
	value *tree
}

func parse(j harness.JSON) *tree {
	switch {
	case len(j.Keys()) > 0:
		t := &tree{open: '{'}
		for _, key := range j.Keys() {
			t.parts = append(t.parts, part{quote(key), parse(j.Member(key))})
		}
		return t
	case len(j.Items()) > 0:
		t := &tree{open: '['}
		for _, item := range j.Items() {
			t.parts = append(t.parts, part{"", parse(item)})
		}
		return t
	}
	return &tree{literal: j.Raw()}
}

func (t *tree) write(b *bytes.Buffer) {
	if t.open == 0 {
		b.WriteString(t.literal)
		return
	}
	b.WriteByte(t.open)
	for i, p := range t.parts {
		if i > 0 {
			b.WriteByte(',')
		}
		if t.open == '{' {
			b.WriteString(p.name + ":")
		}
		p.value.write(b)
	}
	b.WriteByte(t.open + 2) // in ASCII the closing bracket of both kinds
}

func (t *tree) String() string {
	var b bytes.Buffer
	t.write(&b)
	return b.String()
}

// pick returns a random value inside t, possibly t itself.
func (t *tree) pick(r *rand.Rand) *tree {
	all := t.all(nil)
	return all[r.IntN(len(all))]
}

func (t *tree) all(found []*tree) []*tree {
	found = append(found, t)
	for _, p := range t.parts {
		found = p.value.all(found)
	}
	return found
}

// mutate breaks one thing in t.
func (t *tree) mutate(r *rand.Rand, known []string) {
	victim := t.pick(r)
	if len(victim.parts) == 0 || r.IntN(3) == 0 {
		*victim = *oddValue(r)
		return
	}
	i := r.IntN(len(victim.parts))
	switch p := victim.parts[i]; r.IntN(7) {
	case 0: // omit one
		victim.parts = append(victim.parts[:i:i], victim.parts[i+1:]...)
	case 1: // repeat one
		victim.parts = append(victim.parts, p)
	case 2: // rename one
		victim.parts[i].name = oddName(r, known)
	case 3: // add one
		victim.parts = append(victim.parts, part{oddName(r, known), oddValue(r)})
	case 4: // another order
		r.Shuffle(len(victim.parts), func(i, j int) {
			victim.parts[i], victim.parts[j] = victim.parts[j], victim.parts[i]
		})
	case 5: // nest one deeper
		victim.parts[i].value = &tree{open: '[', parts: []part{{"", p.value}}}
	case 6: // another value
		victim.parts[i].value = oddValue(r)
	}
}

func oddName(r *rand.Rand, known []string) string {
	if r.IntN(2) == 0 {
		return quote(known[r.IntN(len(known))])
	}
	return choose(r, `""`, `"\u0000"`, `"a/b~c"`, `"é%"`, `"Url"`, `"__proto__"`, `"$job"`, `"schedule_at"`, `" url"`, `"id"`)
}

func choose(r *rand.Rand, from ...string) string { return from[r.IntN(len(from))] }

// deep returns nested brackets; JSON readers fail at around 10,000 levels.
func deep(levels int) string {
	text := bytes.Repeat([]byte("["), levels)
	return string(append(text, bytes.Repeat([]byte("]"), levels)...))
}

func oddValue(r *rand.Rand) *tree {
	if r.IntN(40) == 0 {
		return &tree{literal: deep([]int{50, 1000, 9990, 20000}[r.IntN(4)])}
	}
	return &tree{literal: choose(r, "null", "true", "false", "0", "-0", "-1", "1", "1.5", "1e5", "1e400", "-1e400", "1e999999999",
		"1e-999999999", "12345678901234567890", "99999999999999999999999999999999", "0.0000001", "253402300800", "-62135596801",
		"1e11", "1e15", "1e18", `""`, `" "`, `"x"`, `"\u0000"`, `"\ud800"`, `"\ud83d\ude00"`, `"https://"`, `"https://[::1"`,
		`"http://example.com"`, `"https://127.0.0.1:1/\u0000"`, `"post"`, `"seconds"`, `"* * * * *"`, `"0 0 30 2 *"`, `"@yearly"`,
		`"* * * * * *"`, `"2031-05-06"`, `"9999-12-31T23:59:59Z"`, `"0000-00-00"`, `"$state"`, `"$previous.a.b"`, `"$$job"`,
		`"UTC"`, `"a\r\nb: c"`, `"=?&#%zz"`, "[]", "{}", "[null]", "[[]]", `[1,"second"]`, `[1e400,"weeks"]`, `{"":null}`,
		`{"a":{"b":[1,{"c":2}]}}`, `[1,"x",null,{}]`, `{"a\nb":"c"}`, "nul", "01", "'x'", "\"\xff\"", "\"a\nb\"", "", "NaN",
		jsontext.Value(deep(3)).String())}
}

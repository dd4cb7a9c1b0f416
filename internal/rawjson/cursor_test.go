package rawjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestReadRefusesWhatNestsTooDeep(t *testing.T) {
	for text, field := range map[string]string{
		nested(129):                               "",
		nested(20_000):                            "",
		`{"a":1,"b":` + nested(128) + `}`:         "b",
		`{"a":1,"b~/":` + nested(100_000) + `}`:   "b~/",
		`[{"a":` + nested(127) + `}]`:             "",
		`{"b":{"[[[":"]"},"c":` + nested(9) + `}`: "none",
	} {
		_, err := Read([]byte(text))
		var deep *DepthError
		if field == "none" {
			if err != nil {
				t.Errorf("%.40s: %v", text, err)
			}
		} else if !errors.As(err, &deep) || deep.Field != field || deep.Named != (field != "") {
			t.Errorf("%.40s: %#v, want the field %q", text, err, field)
		}
	}
	for _, text := range []string{strings.Repeat("[", 20_000), nested(129) + "x", nested(129)[:200]} {
		_, err := Read([]byte(text))
		var deep *DepthError
		if err == nil || errors.As(err, &deep) {
			t.Errorf("%.40s…: %v, want that it is no JSON", text, err)
		}
	}
}

func TestIndexFindsByPath(t *testing.T) {
	v := Value(`{"items":[{"id":12345678901234567890,"deep":[[1],{"x":[2,3]}]},{}],"":1,"n":null,"q\"":{"a.b":[true]}}`)
	x := NewIndex(v)
	for path, want := range map[string]string{
		"items.0.id": "12345678901234567890", "items": `[{"id":12345678901234567890,"deep":[[1],{"x":[2,3]}]},{}]`, "n": "null",
		"items.00.id": "", "items.2": "", "items.-1": "", "items.1": "{}", "items.1.x": "", "n.x": "", "nope": "", "items.id": "",
		"items.0.deep.1.x.1": "3", "items.0.deep.0.0": "1", `q".a`: "", "": "1",
	} {
		if got := x.Find(strings.Split(path, ".")); string(got) != want {
			t.Errorf("Find(%s) = %s, want %s", path, got, want)
		}
	}
	if got := x.Find([]string{`q"`, "a.b", "0"}); string(got) != "true" {
		t.Errorf("a name with a dot: %s", got)
	}
	for _, text := range []string{"", `"x"`, "null", "7"} {
		if got := NewIndex(Value(text)).Find([]string{"a"}); got != nil {
			t.Errorf("in %s: %s", text, got)
		}
	}
}

// TestACursorEndsInAnyText walks texts that are no JSON.
func TestACursorEndsInAnyText(t *testing.T) {
	for _, text := range []string{"", "[", "{", `{"a`, `{"a"`, `{"a":`, `{"a":1`, "[1,,2]", "[:]", "[}", "{]", `["\`, "[1 2]", "]]", "{,}",
		"{1:2}"} {
		walk(Walk(Value(text)), 0)
		Members(Value(text))
		Elements(Value(text))
		NewIndex(Value(text)).Find([]string{"0", "a"})
		Depth(Value(text))
	}
}

// walk writes down what a cursor sees.
func walk(c *Cursor, depth int) string {
	var b strings.Builder
	switch kind := c.Kind(); kind {
	case '{', '[':
		b.WriteByte(byte(kind))
		for c.Enter(); c.More(); {
			if kind == '{' {
				fmt.Fprintf(&b, "%s:", Text(c.Name()))
			}
			b.WriteString(walk(c, depth+1) + ",")
		}
		b.WriteByte(byte(kind) + 2)
	default:
		b.Write(c.Value())
	}
	return b.String()
}

// decode writes down what jsontext sees.
func decode(d *jsontext.Decoder) string {
	var b strings.Builder
	switch kind := d.PeekKind(); kind {
	case '{', '[':
		_, _ = d.ReadToken()
		b.WriteByte(byte(kind))
		for end := kind + 2; d.PeekKind() != end; {
			if kind == '{' {
				name, _ := d.ReadToken()
				fmt.Fprintf(&b, "%s:", name.String())
			}
			b.WriteString(decode(d) + ",")
		}
		_, _ = d.ReadToken()
		b.WriteByte(byte(kind) + 2)
	default:
		v, _ := d.ReadValue()
		b.Write(v)
	}
	return b.String()
}

func FuzzCursor(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x"],"b":{}}`, `"\u0000"`, `[[[]]]`, ` [ 1 , { "a" : "\"" } ] `, "\xff", `{"a"`, "[1,,2]"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		seen := walk(Walk(text), 0)
		NewIndex(text).Find([]string{"0", "a"})
		v, err := Read(text)
		if err != nil {
			return
		}
		want := decode(jsontext.NewDecoder(bytes.NewReader(v)))
		if got := walk(Walk(v), 0); got != want {
			t.Fatalf("of %s a cursor sees %s, want %s", v, got, want)
		}
		_ = seen
		for i, m := range Members(v) {
			if found := NewIndex(v).Find([]string{m.Name}); string(found) != string(m.Value) || string(Get(v, m.Name)) != string(m.Value) {
				t.Fatalf("member %d of %s is found as %s", i, v, found)
			}
		}
	})
}

// BenchmarkRead reads values that nest as deep as may be, of n, 2n and 4n bytes.
func BenchmarkRead(b *testing.B) {
	for _, n := range []int{64 << 10, 128 << 10, 256 << 10} {
		text := deepArray(n)
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Read(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFind looks for as many paths as fit into a value, in n, 2n and 4n bytes.
func BenchmarkFind(b *testing.B) {
	for _, n := range []int{64 << 10, 128 << 10, 256 << 10} {
		text := deepArray(n)
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			path := strings.Split(strings.Repeat("0.", MaxDepth-1)+"0", ".")
			for b.Loop() {
				x := NewIndex(text)
				for i := range n / 1024 {
					path[MaxDepth-1] = fmt.Sprint(i)
					if x.Find(path) == nil {
						b.Fatal("not found")
					}
				}
			}
		})
	}
}

// deepArray nests about n bytes of numbers MaxDepth deep.
func deepArray(n int) Value {
	return Value(strings.Repeat("[", MaxDepth) + strings.Repeat("1,", n/2) + "1" + strings.Repeat("]", MaxDepth))
}

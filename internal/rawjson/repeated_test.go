package rawjson

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// repetitions are texts with names that repeat, and with names that only seem to.
var repetitions = []string{
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{ "a" : 1 ,` + "\n" + ` "b" : "a", "b" : 2 }`,
	`{"a":{"a":1},"b":{"a":1}}`, `[{"a":1},{"a":1}]`, `{"a":["a","a",{"b":1}],"b":"a"}`,
	`{"a":1,"a":{"b":1,"b":2}}`, `{"a":{"b":1,"b":2},"a":1}`, `[{"x":1,"y":[{"x":1,"z":1,"x":2}],"x":3}]`,
	`{"":1,"":2}`, `{"é":1,"\u00e9":2}`, `{"\"":1,"\u0022":2}`, `{"a\/b":1,"a/b":2}`, `{"\ud83d\ude00":1,"😀":2}`,
	`{"a":1,"A":2}`, `{"a":1,"b":2,"c":3,"b":4,"a":5}`, `{}`, `[]`, `"a"`, `{"a":1,"a":2`, `{"a":"\"","b":"\\","a":3}`,
}

// checkRepetition fails the test unless Read finds in a text what jsontext does.
func checkRepetition(t *testing.T, text string) {
	t.Helper()
	_, err := Read([]byte(text))
	_, asked := jsontext.AppendFormat(nil, []byte(text))
	var syntax *jsontext.SyntacticError
	if errors.Is(asked, jsontext.ErrDuplicateName) && errors.As(asked, &syntax) {
		if _, other := jsontext.AppendFormat(nil, []byte(text), jsontext.AllowDuplicateNames(true)); other != nil {
			return // what else is wrong with it is said
		}
		if want := fmt.Sprintf("it names a member twice, at byte %d", syntax.ByteOffset); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		return
	}
	if (err == nil) != (asked == nil) {
		t.Errorf("%q: %v, want %v", text, err, asked)
	}
}

func TestRepeatedNamesAreFound(t *testing.T) {
	for _, text := range repetitions {
		checkRepetition(t, text)
	}
	var names strings.Builder
	for i := range 5000 {
		_, _ = fmt.Fprintf(&names, `"m%d":1,`, i)
	}
	checkRepetition(t, "{"+names.String()+`"end":1}`)
	checkRepetition(t, "{"+names.String()+`"m77":1}`)
}

func FuzzRepeatedNames(f *testing.F) {
	for _, text := range repetitions {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(strings.TrimSpace(text)) > 0 && !isDeep([]byte(text)) {
			checkRepetition(t, text)
		}
	})
}

// BenchmarkNamesLinear reads objects of n, 2n and 4n members.
func BenchmarkNamesLinear(b *testing.B) {
	for _, n := range []int{15_000, 30_000, 60_000} {
		var text strings.Builder
		for i := range n {
			_, _ = fmt.Fprintf(&text, `,"m%d":1`, i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			object := []byte("{" + text.String()[1:] + "}")
			b.ReportAllocs()
			b.SetBytes(int64(len(object)))
			for b.Loop() {
				if _, err := Read(object); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package rawjson

import (
	"strings"
	"testing"
)

func TestReadKeepsEverythingButWhiteSpace(t *testing.T) {
	for in, want := range map[string]string{
		` { "z" : 1.10 , "a" : [ 12345678901234567890 , null ] } `: `{"z":1.10,"a":[12345678901234567890,null]}`,
		`"\u0000\u00e9\u2028 <&>"`:                                 "\"\\u0000é\u2028 <&>\"",
		`"\u0024job"`:                                              `"$job"`,
		`"\ud83e\udd8a"`:                                           `"🦊"`,
		`-0.0e+10`:                                                 `-0.0e+10`,
		nested(128):                                                nested(128),
	} {
		got, err := Read([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("Read(%.60s) = %.80s, %v; want %.80s", in, got, err, want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, in := range []string{
		"", " \n", `{"a":1,"a":2}`, `{"a":[{"b":1,"b":2}]}`, `{"a":1,"\u0061":2}`, "\"\xff\"", `"\ud800"`, `"a\udc00b"`, `{} {}`, `[1,]`,
		`{"a":1}x`, `NaN`, `'a'`, "\xef\xbb\xbf{}", `01`, `1.`, `"` + "\n" + `"`, strings.Repeat("[", 200000),
	} {
		if got, err := Read([]byte(in)); err == nil {
			t.Errorf("Read(%.40q) = %.40s, want an error", in, got)
		}
	}
}

func TestObjectAndMembersAreInverse(t *testing.T) {
	v := Value(`{"z":1.10,"":{"a":[]},"\"q\"":"x"}`)
	if got := Object(Members(v)); string(got) != string(v) {
		t.Errorf("got %s, want %s", got, v)
	}
	a := Value(`[1,"two",[3],{}]`)
	if got := Array(Elements(a)); string(got) != string(a) {
		t.Errorf("got %s, want %s", got, a)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.50,"x"]}`, `"\u0000"`, `[[[]]]`, `{"a":1,"a":2}`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := Read(text)
		if err != nil {
			return
		}
		again, err := Read(v)
		if err != nil || string(again) != string(v) {
			t.Fatalf("reading %q again gives %q, %v", v, again, err)
		}
		if v.Kind() == '{' && string(Object(Members(v))) != string(v) {
			t.Fatalf("members of %q join to %q", v, Object(Members(v)))
		}
	})
}

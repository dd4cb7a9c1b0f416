package yamljson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/yamljson"
)

func TestConvert_KeepsOrderAndDigits(t *testing.T) {
	got, err := yamljson.Convert([]byte("z: 1.10\na: [yes, true, null, 12345678901234567890]\nb: &x {t: '2026-01-01'}\nc: *x\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"z":1.10,"a":["yes",true,null,12345678901234567890],"b":{"t":"2026-01-01"},"c":{"t":"2026-01-01"}}`
	if flat := strings.NewReplacer("\n", "", " ", "").Replace(string(got)); flat != want {
		t.Errorf("got %s\nwant %s", flat, want)
	}
}

func TestConvert_RefusesWhatHasNoJSON(t *testing.T) {
	for name, doc := range map[string]string{
		"duplicate key":   "a: 1\na: 2\n",
		"merge key":       "a: &x {b: 1}\nc:\n  <<: *x\n",
		"alias bomb":      bomb(),
		"alias in itself": "a: &a [*a]\n",
		"in its own map":  "a: &a {b: {c: *a}}\n",
		"through another": "a: &a [&b [*a], *b]\n",
		"deep by aliases": deep(),
		"hexadecimal":     "a: 0x10\n",
		"infinity":        "a: .inf\n",
		"not a document":  "",
		"not YAML at all": "a: [1\n",
	} {
		if got, err := yamljson.Convert([]byte(doc)); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
}

func TestConvert_SaysThatMergeKeysAreNotRead(t *testing.T) {
	_, err := yamljson.Convert([]byte("a: &x {b: 1}\nc:\n  <<: *x\n"))
	if err == nil || !strings.Contains(err.Error(), "line 3: << can't merge") {
		t.Error(err)
	}
}

// bomb returns a small document that expands to more than maxExpanded.
func bomb() string {
	doc := "a0: &a0 xxxxxxxxxx\n"
	for i := 1; i < 9; i++ {
		doc += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return doc
}

// deep returns a document that is nested less deep than the parser allows, and deeper
// when its aliases are expanded.
func deep() string {
	nested := func(inner string) string { return strings.Repeat("[", 6000) + inner + strings.Repeat("]", 6000) }
	return "a: &a " + nested("1") + "\nb: " + nested("*a") + "\n"
}

func TestConvert_ExpandsOneAliasOften(t *testing.T) {
	got, err := yamljson.Documents([]byte("a: &a [&b {c: 1}, *b]\nd: [*a, *a]\n"))
	if err != nil {
		t.Fatal(err)
	}
	const inner = `[{"c":1},{"c":1}]`
	if want := `{"a":` + inner + `,"d":[` + inner + `,` + inner + `]}`; string(got[0]) != want {
		t.Errorf("got %s, want %s", got[0], want)
	}
}

func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{"a: &a [*a]\n", "a: &a {b: *a}\n", "a: &a [&b [*a], *b]\n",
		"a: &x {b: 1}\nc: [*x, *x]\n---\n- 2026-12-25\n", "? &a x\n: *a\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		all, err := yamljson.Documents(stream)
		if err != nil {
			return
		}
		for _, doc := range all {
			if !json.Valid(doc) {
				t.Errorf("%q became %q, which is not JSON", stream, doc)
			}
		}
	})
}

func TestConvert_WritesDatesAsTheyStand(t *testing.T) {
	got, err := yamljson.Documents([]byte("except: [2026-12-25]\n---\nb: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if text := string(bytes.Join(got, []byte(" "))); text != `{"except":["2026-12-25"]} {"b":1}` {
		t.Errorf("got %s", text)
	}
}

func TestFromJSON_RoundTrips(t *testing.T) {
	for _, doc := range []string{
		`{"z":1.10,"a":["yes",true,null,12345678901234567890,"2026-01-01","0x10","",{}],"b":{"t":[]}}`,
		`{"text":"line\nline\n","quote":"'\"","emoji":"\u00e9\ud83d\ude00\/","number":"1.50","null":"null","c":1e3}`,
		`[]`, `"x"`, `null`,
	} {
		text, err := yamljson.FromJSON([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		back, err := yamljson.Documents(text)
		if err != nil || len(back) != 1 {
			t.Fatalf("%s: %v in\n%s", doc, err, text)
		}
		var want, got any
		if json.Unmarshal([]byte(doc), &want) != nil || json.Unmarshal(back[0], &got) != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s came back as %s from\n%s", doc, back[0], text)
		}
		if n := strings.Count(doc, "1.10"); n != strings.Count(string(back[0]), "1.10") {
			t.Errorf("%s lost digits: %s", doc, back[0])
		}
	}
}

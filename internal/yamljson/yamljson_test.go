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

// bomb returns a small document that expands to more than maxExpanded.
func bomb() string {
	doc := "a0: &a0 xxxxxxxxxx\n"
	for i := 1; i < 9; i++ {
		doc += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return doc
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

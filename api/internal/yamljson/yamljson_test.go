package yamljson_test

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/api/internal/yamljson"
)

func TestConvertKeepsOrderAndDigits(t *testing.T) {
	got, err := yamljson.Convert([]byte("z: 1.10\na: [yes, true, null, 12345678901234567890]\nb: &x {t: '2026-01-01'}\nc: *x\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"z":1.10,"a":["yes",true,null,12345678901234567890],"b":{"t":"2026-01-01"},"c":{"t":"2026-01-01"}}`
	if flat := strings.NewReplacer("\n", "", " ", "").Replace(string(got)); flat != want {
		t.Errorf("got %s\nwant %s", flat, want)
	}
}

func TestConvertRefusesWhatHasNoJSON(t *testing.T) {
	for name, doc := range map[string]string{
		"duplicate key":   "a: 1\na: 2\n",
		"merge key":       "a: &x {b: 1}\nc:\n  <<: *x\n",
		"timestamp":       "a: 2026-01-01\n",
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

package secret

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestMask_KeepsJSON(t *testing.T) {
	m := newMask([]string{`se"cret\-value`, "4711081547"})
	for text, want := range map[string]string{
		`{"a":1.10,"b":[true,null,"é\u0000"],"":{}}`:           `{"a":1.10,"b":[true,null,"é\u0000"],"":{}}`,
		`"got se\"cret\\-value, \u0073e\"cret\\-value"`:        `"got ***, ***"`,
		`{"4711081547":[4711081547,47110815,-4711081547.5e3]}`: `{"***":["***",47110815,"-***.5e3"]}`,
		`[[],{"k":"4711081547"},"NzExMDgx"]`:                   `[[],{"k":"***"},"NzExMDgx"]`,
		`{"4711081547":1,"***":2,"a4711081547":3}`:             `{"***":1,"a***":3}`,
		`null`: `null`,
	} {
		if got := string(m.json(rawjson.Value(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := m.json(nil); got != nil {
		t.Errorf("no value became %s", got)
	}
}

func FuzzMaskJSON(f *testing.F) {
	f.Add(`{"a":["abcdefgh",1]}`, "abcdefgh")
	f.Fuzz(func(t *testing.T, text, value string) {
		v, err := rawjson.Read([]byte(text))
		if err != nil || whyNotText(value, minMasked, MaxValue) != "" {
			return
		}
		shown := newMask([]string{value}).json(v)
		if _, err := rawjson.Read(shown); err != nil {
			t.Fatalf("%s with %q masked is %s, which is not JSON: %v", v, value, shown, err)
		}
	})
}

package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestJobsCreate_SendsTheFieldsOfItsFlags(t *testing.T) {
	for want, args := range map[string]string{
		`{"method":"GET","url":"https://x"}`: ``,
		`{"method":"GET","url":"https://x","name":"5","idempotency_key":"k","retries":0,"timeout":1.5}`: `--timeout 1.5 --retries 0 --idempotency-key k --name 5`,
		`{"method":"POST","url":"https://x","body":{"a":1},"retries":"many"}`:                           `--retries many -d {"a":1}`,
	} {
		grammar := newGrammar()
		parser, _ := newParser(grammar, io.Discard, io.Discard)
		if _, err := parser.Parse(append([]string{"jobs", "create", "https://x"}, strings.Fields(args)...)); err != nil {
			t.Fatal(err)
		}
		got, err := grammar.Jobs.Create.body(&environment{ctx: t.Context(), in: &bytes.Buffer{}})
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", args, got, err, want)
		}
	}
}

func TestSetValue_ReadsDurationsAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"90": "90", "30s": "30", "5m": `[5, "minutes"]`, "5 minutes": `[5, "minutes"]`, "1.5h": `[1.5, "hours"]`,
		`[2, "days"]`: `[2,"days"]`, "soon": `"soon"`, "1h30m": `"1h30m"`,
	} {
		if got := string(setValue("repeat_every", text)); got != want {
			t.Errorf("%q became %s, want %s", text, got, want)
		}
	}
	if got := string(setValue("name", "5m")); got != `"5m"` {
		t.Errorf("a name became %s", got)
	}
}

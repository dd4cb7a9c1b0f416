package alert

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestRead_ListsEveryProblem(t *testing.T) {
	const to = `"to":[{"webhook":"https://example.com/"}]`
	for _, c := range []struct{ definition, want string }{
		{`[]`, "#"},
		{`{}`, "#/on #/to"},
		{`{"on":[],"to":[]}`, "#/on #/to"},
		{`{"on":["failed","nope","failed"],` + to + `}`, "#/on/1 #/on/2"},
		{`{"on":["late"],"after":0,"late_by":-1,"remind_every":"often",` + to + `}`, "#/after #/late_by #/remind_every"},
		{`{"on":["late"],"after":1.5,"late_by":[1,"moon"],"match":[],` + to + `}`, "#/after #/late_by/1 #/match"},
		{`{"on":["late"],"match":{"tag":"x","schedule_id":"abc","tags":["ok","No"]},"evry":1,` + to + `}`,
			"#/evry #/match/tag #/match/schedule_id #/match/tags/1"},
		{`{"on":["late"],"to":[{"webhook":"http://x/"},{"slack":5},{"pager":"x"},"y",{},{"email":"nobody"}]}`,
			"#/to/0/webhook #/to/1/slack #/to/2/pager #/to/3 #/to/4 #/to/5/email"},
		{`{"on":["late"],"to":[{"webhook":"https://x/","slack":"https://x/"},{"slack":"https://x/"},{"slack":"https://x/"}]}`,
			"#/to/0 #/to/2"},
		{`{"on":["late"],"to":[{"webhook":"https://blocked/"}]}`, "#/to/0/webhook"},
	} {
		_, err := Read(rawjson.Value(c.definition), Checks{Mail: true, Targets: job.ReadOptions{CheckHost: func(host string) string {
			if host == "blocked" {
				return "must not be blocked"
			}
			return ""
		}}})
		var got []string
		for _, p := range fault.ProblemsOf(err) {
			got = append(got, p.Pointer)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: problems at %s, want %s", c.definition, got, c.want)
		}
	}
}

func TestRead_AcceptsOnlyPlainAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"a@example.com": true, "a.b+c@mail.example.com": true, "A@Example.com": true, "a@localhost": false, "a@127.0.0.1": false,
		"a": false, "@example.com": false, "a@b": false, "a@example.com,b@example.com": false, "A <a@example.com>": false,
		`a@example.com\r\nBcc: b@example.com`: false, `a@example.com\nb`: false, "a b@example.com": false, "é@example.com": false,
		`\"a\"@example.com`:                      false,
		strings.Repeat("a", 65) + "@example.com": false, "a@" + strings.Repeat("b.", 130) + "com": false,
	} {
		definition := rawjson.Value(`{"on":["late"],"to":[{"email":"` + address + `"}]}`)
		if _, err := Read(definition, Checks{Mail: true}); (err == nil) != want {
			t.Errorf("%q: %v, want accepted %t", address, err, want)
		}
		if _, err := Read(definition, Checks{}); err == nil {
			t.Errorf("%q is accepted without a mail server", address)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"on":["failed"],"after":2,"late_by":[1,"minute"],"match":{"tags":["x"]},"to":[{"email":"a@example.com"}],"remind_every":60}`)
	f.Add(`{"on":["late"],"to":[{"webhook":"https://x/"},{"slack":"https://y/"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := rawjson.Read([]byte(text))
		if err != nil {
			return
		}
		draft, err := Read(v, Checks{Mail: true})
		if err != nil {
			if len(fault.ProblemsOf(err)) == 0 {
				t.Fatalf("refused without a problem: %v", err)
			}
			return
		}
		again, err := Read(draft.JSON, Checks{Mail: true})
		if err != nil {
			t.Fatalf("%s is refused: %v", draft.JSON, err)
		}
		if string(again.JSON) != string(draft.JSON) {
			t.Fatalf("%s is read as %s", draft.JSON, again.JSON)
		}
	})
}

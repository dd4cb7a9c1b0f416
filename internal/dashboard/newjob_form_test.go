package dashboard

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestJobForm_FilledFromAJobYieldsTheSameRequest(t *testing.T) {
	name, description := "n", "two\nlines"
	j := &job.Job{Name: &name, Description: &description, Args: rawjson.Value(
		`{"url":"https://x","method":"put","query":{"a":1},"headers":{"X-A":["1","2"]},"body":{"b":[1.10]},"cron":"@daily","timezone":"UTC",` +
			`"retries":0,"timeout":1.5,"metadata":false,"callback_url":"https://c"}`)}
	f := &jobForm{NewJob: view.NewJob{Values: emptyForm()}}
	for _, m := range rawjson.Members(job.Again(j)) {
		f.fill(job.FieldNamed(m.Name), m.Value)
	}
	f.read(noon)
	const want = `{"method":"put","url":"https://x","query":{"a":1},"headers":{"X-A":["1","2"]},"body":{"b":[1.10]},"name":"n","description":"two\nlines",` +
		`"retries":0,"timeout":1.5,"metadata":false,"callback_url":"https://c"}`
	if string(f.body) != want || len(f.Problems) > 0 {
		t.Errorf("got %s %v\nwant %s", f.body, f.Problems, want)
	}
}

func TestJobForm_SendsABooleanThatDiffersFromItsDefault(t *testing.T) {
	for _, x := range []struct{ initially, now, want string }{
		{"true", "true", ``}, {"true", "", `false`}, {"", "true", `true`}, {"", "", ``},
	} {
		f := &jobForm{NewJob: view.NewJob{Values: emptyForm()}}
		f.Values.Set("box", x.now)
		field := &job.Field{Name: "box", Kind: job.BooleanValue, Form: job.Form{Default: x.initially}}
		if got := f.readField(field); string(got) != x.want {
			t.Errorf("initially %q, now %q: %s, want %s", x.initially, x.now, got, x.want)
		}
	}
}

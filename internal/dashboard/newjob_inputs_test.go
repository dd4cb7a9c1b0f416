package dashboard

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestJobForm_FilledFromAJobMakesTheSameRequest(t *testing.T) {
	name, description := "n", "two\nlines"
	j := &job.Job{Name: &name, Description: &description, Args: rawjson.Value(
		`{"url":"https://x","method":"put","query":{"a":1},"headers":{"X-A":["1","2"]},"body":{"b":[1.10]},"cron":"@daily","timezone":"UTC",` +
			`"retries":0,"timeout":1.5,"metadata":false,"callback_url":"https://c"}`)}
	f := &jobForm{values: emptyForm()}
	for _, m := range rawjson.Members(job.Again(j)) {
		f.fill(job.FieldNamed(m.Name), m.Value)
	}
	f.read(noon)
	const want = `{"method":"put","url":"https://x","query":{"a":1},"headers":{"X-A":["1","2"]},"body":{"b":[1.10]},"name":"n","description":"two\nlines",` +
		`"retries":0,"timeout":1.5,"metadata":false,"callback_url":"https://c"}`
	if string(f.body) != want || len(f.problems) > 0 {
		t.Errorf("got %s %v\nwant %s", f.body, f.problems, want)
	}
}

func TestJobForm_BoxThatIsTickedOrNot(t *testing.T) {
	for _, x := range []struct{ initially, now, want string }{
		{"true", "true", ``}, {"true", "", `false`}, {"", "true", `true`}, {"", "", ``},
	} {
		f := &jobForm{values: emptyForm()}
		f.values.Set("box", x.now)
		field := &job.Field{Name: "box", Kind: job.BooleanValue, Form: job.Form{Default: x.initially}}
		if got := f.readField(field); string(got) != x.want {
			t.Errorf("initially %q, now %q: %s, want %s", x.initially, x.now, got, x.want)
		}
	}
}

func TestJobForm_EveryFieldWithALabelHasAnInput(t *testing.T) {
	shown := map[string]bool{"method": true, "url": true, "query": true, "headers": true, "body": true}
	for _, of := range []job.Section{job.MoreSection, job.ScheduleSection} {
		wide, narrow := section(of)
		for _, field := range append(wide, narrow...) {
			shown[field.Name] = true
		}
	}
	for _, field := range job.Fields() {
		if (field.Form.Label != "") != shown[field.Name] {
			t.Errorf("%s: label %q, shown %v", field.Name, field.Form.Label, shown[field.Name])
		}
	}
}

func TestChoices_BeginWithTheDefaultOfAnOptionalField(t *testing.T) {
	optional := &job.Field{Name: "catch_up", Form: job.Form{Choices: []string{"one", "all"}}}
	if got := choices(optional); len(got) != 3 || got[0] != (ui.Choice{Label: "default"}) || got[2] != (ui.Choice{Value: "all", Label: "all"}) {
		t.Errorf("choices are %v", got)
	}
	if got := choices(job.FieldNamed("method")); len(got) != 5 || got[0] != (ui.Choice{Value: "get", Label: "GET"}) {
		t.Errorf("choices of method are %v", got)
	}
}

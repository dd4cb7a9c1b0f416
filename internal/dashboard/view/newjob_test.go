package view

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

func TestNewJob_EveryFieldWithALabelHasAnInput(t *testing.T) {
	shown := map[string]bool{"method": true, "url": true, "query": true, "headers": true, "body": true}
	for _, of := range []job.Section{job.MoreSection, job.ScheduleSection} {
		wide, narrow := new(NewJob).section(of)
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
	if got := choices(optional); len(got) != 3 || got[0] != (ui.Choice{Label: "default"}) ||
		got[2] != (ui.Choice{Value: "all", Label: "all"}) {
		t.Errorf("choices are %v", got)
	}
	if got := choices(job.FieldNamed("method")); len(got) != 5 || got[0] != (ui.Choice{Value: "get", Label: "GET"}) {
		t.Errorf("choices of method are %v", got)
	}
}

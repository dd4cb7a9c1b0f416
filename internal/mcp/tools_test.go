package mcp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/why"
)

// A new field or filter is an argument of every tool that can take it, without a change
// here.
func TestInputs_AreTheFieldsAndFiltersOfTheTables(t *testing.T) {
	for i := range tools {
		tool := &tools[i]
		var body, query []string
		for _, in := range inputs()[tool.name] {
			switch in.place {
			case inBody:
				body = append(body, in.name)
			case inQuery:
				query = append(query, in.name)
			}
		}
		if tool.call.fields != 0 {
			var want []string
			for _, f := range job.Fields() {
				if f.In&tool.call.fields != 0 {
					want = append(want, f.Name)
				}
			}
			if len(want) == 0 || !slices.Equal(body, want) {
				t.Errorf("%s takes %q, the fields are %q", tool.name, body, want)
			}
		}
		if want := append(job.FilterNames(tool.call.filters), tool.call.parameters...); tool.call.method == "GET" &&
			!slices.Equal(query, want) {
			t.Errorf("%s takes %q, the filters and parameters are %q", tool.name, query, want)
		}
	}
}

// notTools are the calls for jobs and schedules that agents make in another way, or not at
// all.
var notTools = map[string]string{
	"GET /api/jobs/{job_id}/details":               "why",
	"GET /api/schedules/{schedule_id}/details":     "why",
	"POST /api/jobs/batch":                         "create_job, once for each",
	"GET /api/jobs/counts":                         "list_jobs",
	"POST /api/jobs/{job_id}/run":                  "edit_job with schedule_in 0",
	"GET /api/jobs/{job_id}/revisions":             "for people",
	"GET /api/schedules/{schedule_id}/revisions":   "for people",
	"GET /api/schedules/{schedule_id}/punctuality": "for people",
	"POST /api/jobs/cancel":                        "cancel_job with a filter",
	"PUT /api/schedules/{schedule_id}":             "edit_schedule",
	"PUT /api/schedules/{schedule_id}/mute":        "for people",
	"DELETE /api/schedules/{schedule_id}/mute":     "for people",
	"GET /api/schedules/{schedule_id}/state":       "for targets",
	"PUT /api/schedules/{schedule_id}/state":       "for targets",
	"DELETE /api/schedules/{schedule_id}/state":    "for targets",
}

func TestTools_AreCallsOfTheAPI(t *testing.T) {
	d, left := readDocument(), maps.Clone(notTools)
	served := map[string]bool{}
	for i := range tools {
		c := tools[i].call
		if c.path == "" {
			continue
		}
		if _, ok := d.Paths[c.path][c.method]; !ok {
			t.Errorf("%s makes the call %s %s, which the API document does not have", tools[i].name, c.method, c.path)
		}
		served[c.method+" "+c.path] = true
	}
	for path, methods := range d.Paths {
		if !strings.HasPrefix(path, "/api/jobs") && !strings.HasPrefix(path, "/api/schedules") {
			continue
		}
		for method := range methods {
			call := method + " " + path
			if served[call] == (notTools[call] != "") {
				t.Errorf("%s must be a tool, or stand in notTools with a reason", call)
			}
			delete(left, call)
		}
	}
	for call := range left {
		t.Errorf("notTools has %s, which the API does not have", call)
	}
}

// The names are promised.
func TestTools_HaveTheNamesOfTheContract(t *testing.T) {
	want := strings.Fields(`create_job list_jobs get_job edit_job cancel_job rerun_job wait_for_job
		create_schedule list_schedules get_schedule edit_schedule cancel_schedule rerun_schedule wait_for_schedule
		pause_schedule resume_schedule why rehearse`)
	var got []string
	size := 0
	for i := range tools {
		d := tools[i].describe()
		got = append(got, d.Name)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
		if d.Annotations.ReadOnlyHint != (tools[i].effect == reads) || *d.Annotations.DestructiveHint != (tools[i].effect == changes) ||
			d.Annotations.Title == "" {
			t.Errorf("%s is annotated as %+v", d.Name, d.Annotations)
		}
		if changes := !slices.Contains([]string{"GET", ""}, tools[i].call.method) && d.Name != "rehearse" &&
			!strings.HasPrefix(d.Name, "wait"); changes == d.Annotations.ReadOnlyHint {
			t.Errorf("%s makes the call %s and says readOnlyHint %v", d.Name, tools[i].call.method, d.Annotations.ReadOnlyHint)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the tools are %q", got)
	}
	if size > 64<<10 {
		t.Errorf("the list of tools has %d bytes, which every agent reads", size)
	}
}

// Each action that an explanation suggests has its words.
func TestExplanations_HaveWordsForEveryAction(t *testing.T) {
	for _, action := range why.Actions {
		if after[action] == "" {
			t.Errorf("there are no words for %s", action)
		}
	}
}

package view

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Groups is the page of an account's groups of targets.
type Groups struct {
	Groups      []Group // by name
	First, Next string
	Notice      string
	Form        Refusal // what the form for a group shows
}

// Group is a group of targets.
type Group struct {
	*job.Group
	Schedules string // how many schedules name it
}

// GroupUse is the page of a group, with the schedules that name it and their runs.
type GroupUse struct {
	*job.Group
	Schedules     []*job.Schedule // the newest that name it
	MoreSchedules bool
	Runs          []GroupRun // newest first
	Self          string     // the address of the live part
	Notice        string
	MayEdit       bool
}

// GroupRun is a run of a schedule with a group.
type GroupRun struct {
	*job.Job
	Jobs map[job.State]int64 // those that it became
}

// groupPath returns the address of a group's page, or of something below it.
func groupPath(name, below string) string { return "/groups/" + url.PathEscape(name) + below }

// targetCount returns the number of targets in words.
func targetCount(g *job.Group) string {
	return ui.Plural(len(rawjson.Elements(g.Targets)), "target", "targets")
}

// GroupTarget is a target of a group as a page shows it.
type GroupTarget struct {
	Name, URL string
	Headers   string // the names of its headers; their values may be credentials
}

// GroupTargets returns the targets of a group.
func GroupTargets(g *job.Group) []GroupTarget {
	var targets []GroupTarget
	for _, v := range rawjson.Elements(g.Targets) {
		t := GroupTarget{Name: rawjson.Text(rawjson.Get(v, "name")), URL: rawjson.Text(rawjson.Get(v, "url"))}
		var names []string
		for _, m := range rawjson.Members(rawjson.Get(v, "headers")) {
			names = append(names, m.Name)
		}
		t.Headers = ui.Shorten(strings.Join(names, ", "), 200)
		targets = append(targets, t)
	}
	return targets
}

// unfinished reports whether the run, or a job that it became, has not ended.
func (r *GroupRun) unfinished() bool {
	for state, n := range r.Jobs {
		if n > 0 && !state.Final() {
			return true
		}
	}
	return !r.State.Final()
}

// summary returns the number of jobs in each state in words; "" if there are none.
func (r *GroupRun) summary() string {
	var words []string
	for state := job.Available; state <= job.Discarded; state++ {
		if n := r.Jobs[state]; n > 0 {
			words = append(words, ui.Count(n)+" "+state.String())
		}
	}
	return strings.Join(words, ", ")
}

// cancelQuestion asks before the jobs of the run are cancelled.
func (r *GroupRun) cancelQuestion() string {
	return "Cancel the unfinished jobs of run " + strconv.FormatInt(r.Number, 10) + "? A request under way is not ended."
}

// input returns an input of the form.
func (d *Groups) input(name, label, pointer, hint string) ui.Input {
	return ui.Input{Name: name, Label: label, Hint: hint, Value: d.Form.entered("group", name), Error: d.Form.at("group", pointer)}
}

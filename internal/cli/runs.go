package cli

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

type runsCommand struct {
	List   runsList   `cmd:"" help:"List workflow runs, newest first."`
	Show   runsShow   `cmd:"" help:"Show a workflow run with its steps."`
	Cancel runsCancel `cmd:"" help:"Cancel workflow runs. One that has ended stays as it is."`
}

// runView is the part of a workflow run that is shown.
type runView struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	State    string   `json:"state"`
	Labels   []string `json:"labels"`
	Inserted string   `json:"inserted_at"`
	Ended    *string  `json:"ended_at"`
	Error    *string  `json:"error"`
	Failed   *string  `json:"failed_job"`
	Invoker  *string  `json:"invoked_by"`
	Repeats  *string  `json:"repeats"`
	Records  int      `json:"records"`
	Steps    []struct {
		Step     int     `json:"step"`
		Kind     string  `json:"kind"`
		Name     string  `json:"name"`
		Type     string  `json:"type"`
		Inserted string  `json:"inserted_at"`
		Settled  bool    `json:"settled"`
		WaitsFor *string `json:"waits_for"`
	} `json:"steps"`
}

func (r *runView) id() string { return r.ID }

func runPath(id string) string { return "/api/runs/" + url.PathEscape(id) }

type runsList struct {
	serviceFlags
	State string `placeholder:"STATE" help:"Only runs in this state: started, waiting, succeeded, failed or cancelled."`
	Label string `placeholder:"LABEL" help:"Only runs with this label."`
	listFlags
}

// Run lists workflow runs.
func (c *runsList) Run(env *environment) error {
	query := url.Values{}
	if c.State != "" {
		query.Set("state", c.State)
	}
	if c.Label != "" {
		query.Set("label", c.Label)
	}
	records, err := c.list(env, "/api/runs", query, c.Limit)
	columns := []column{{title: "ID"}, stateColumn("STATE"), {title: "STARTED"}, {title: "URL", shrink: true},
		{title: "LABELS", shrink: true}}
	return printAll(&c.displayFlags, env, records, err, (*runView).id, "there are no such workflow runs; see docs/guides/workflows.md",
		columns,
		func(to terminal, r *runView) []string {
			return []string{r.ID, r.State, to.moment(r.Inserted), r.URL, strings.Join(r.Labels, ", ")}
		})
}

type runsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The run's id."`
}

// Run shows a workflow run.
func (c *runsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, runPath(c.ID), nil)
	return printOne(&c.displayFlags, env, record, err, (*runView).id, func(r *runView) error { return r.print(env, c.terminal(env)) })
}

func (r *runView) print(env *environment, to terminal) error {
	f := facts{to: to}
	f.add("run", r.ID)
	f.painted("state", to.state(r.State))
	f.add("url", r.URL)
	f.add("labels", strings.Join(r.Labels, ", "))
	f.add("started", to.moment(r.Inserted))
	if r.Ended != nil {
		f.add("ended", to.moment(*r.Ended))
	}
	f.add("error", orNothing(r.Error))
	f.add("failed job", orNothing(r.Failed))
	f.add("invoked by", orNothing(r.Invoker))
	f.add("repeats", orNothing(r.Repeats))
	if r.Records > len(r.Steps) {
		f.add("records", fmt.Sprintf("%d, of which the first %d are shown", r.Records, len(r.Steps)))
	}
	if err := f.print(env.out); err != nil || len(r.Steps) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(env.out); err != nil {
		return err
	}
	t := table{columns: []column{{title: "STEP"}, {title: "NAME", shrink: true}, {title: "TYPE"}, {title: "RECORD"}, {title: "STORED"},
		{title: "WAITS FOR", shrink: true}}}
	for i := range r.Steps {
		s := &r.Steps[i]
		t.add(strconv.Itoa(s.Step), s.Name, s.Type, s.Kind, to.moment(s.Inserted), orDash(s.WaitsFor))
	}
	return t.print(env.out, to)
}

type runsCancel struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The runs' ids."`
}

// Run cancels as many of the runs as possible.
func (c *runsCancel) Run(env *environment) error {
	var failures error
	for _, id := range c.IDs {
		record, err := c.record(env, http.MethodPost, runPath(id)+"/cancel", nil)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("run %s: %w", printable(id), err))
			continue
		}
		failures = errors.Join(failures, printOne(&c.displayFlags, env, record, nil, (*runView).id, func(r *runView) error {
			return c.say(env, "run %s is %s", printable(r.ID), printable(r.State))
		}))
	}
	return failures
}

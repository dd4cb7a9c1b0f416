package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/client"
)

type runsCommand struct {
	List   runsList   `cmd:"" help:"List workflow runs, newest first."`
	Show   runsShow   `cmd:"" help:"Show a workflow run with its steps."`
	Cancel runsCancel `cmd:"" help:"Cancel workflow runs. One that has ended stays as it is."`
}

func runID(r *client.Run) string { return r.ID }

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
	return listing[client.Run]{
		id:      runID,
		none:    "there are no such workflow runs; see docs/guides/workflows.md",
		columns: columns,
		row: func(to terminal, r *client.Run) []string {
			return []string{r.ID, string(r.State), to.moment(r.InsertedAt), r.URL, strings.Join(r.Labels, ", ")}
		},
	}.print(&c.displayFlags, env, records, err)
}

type runsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The run's id."`
}

// Run shows a workflow run.
func (c *runsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, runPath(c.ID), nil)
	return printOne(&c.displayFlags, env, record, err, func(r *client.RunWithSteps) string { return r.ID },
		func(r *client.RunWithSteps) error { return printRun(env.out, c.terminal(env), r) })
}

func printRun(out io.Writer, to terminal, r *client.RunWithSteps) error {
	f := facts{to: to}
	f.add("run", r.ID)
	f.painted("state", to.state(string(r.State)))
	f.add("url", r.URL)
	f.add("labels", strings.Join(r.Labels, ", "))
	f.add("started", to.moment(r.InsertedAt))
	if r.EndedAt != nil {
		f.add("ended", to.moment(*r.EndedAt))
	}
	f.add("error", orNothing(r.Error))
	f.add("failed job", orNothing(r.FailedJob))
	f.add("invoked by", orNothing(r.InvokedBy))
	f.add("repeats", orNothing(r.Repeats))
	if r.Records > int64(len(r.Steps)) {
		f.add("records", fmt.Sprintf("%d, of which the first %d are shown", r.Records, len(r.Steps)))
	}
	if err := f.print(out); err != nil || len(r.Steps) == 0 {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	t := table{columns: []column{{title: "STEP"}, {title: "NAME", shrink: true}, {title: "TYPE"}, {title: "RECORD"}, {title: "STORED"},
		{title: "WAITS FOR", shrink: true}}}
	for i := range r.Steps {
		s := &r.Steps[i]
		t.add(strconv.FormatInt(s.Step, 10), s.Name, s.Type, s.Kind, to.moment(s.InsertedAt), orDash(s.WaitsFor))
	}
	return t.print(out, to)
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
		failures = errors.Join(failures, printOne(&c.displayFlags, env, record, nil, runID, func(r *client.Run) error {
			return c.say(env, "run %s is %s", printable(r.ID), printable(string(r.State)))
		}))
	}
	return failures
}

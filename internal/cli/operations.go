package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type operationsCommand struct {
	Start operationsStart `cmd:"" help:"Cancel, rerun, run or reschedule all jobs that the filters select, in the background."`
	List  operationsList  `cmd:"" help:"List operations, newest first."`
	Show  operationsShow  `cmd:"" help:"Show how far an operation is."`
	Stop  operationsStop  `cmd:"" help:"Stop an operation. Jobs that were changed stay so."`
}

// operationProgress says in words how far an operation is.
func operationProgress(o *client.OperationRecord) string {
	text := fmt.Sprintf("%d of %s", o.Done, counted(o.Matched, "job", "jobs"))
	for _, reason := range slices.Sorted(maps.Keys(o.Skipped)) {
		text += fmt.Sprintf(", %d skipped (%s)", o.Skipped[reason], reason)
	}
	return text
}

func operationID(o *client.OperationRecord) string { return o.ID }

type operationsStart struct {
	serviceFlags
	Action string `arg:"" enum:"cancel,rerun,run,reschedule" help:"What to do with each job: cancel, rerun, run or reschedule."`
	filterFlags
	All    bool   `type:"switch" help:"Allow an operation without filters: on every job of the account."`
	Set    string `placeholder:"JSON" help:"For rerun, the fields that differ; for reschedule, schedule_in or scheduled_at: '{\"schedule_in\": [1, \"hour\"]}'."`
	Spread string `placeholder:"DURATION" help:"For rerun and reschedule: distribute the due times over this time, such as 30m or 2h."`
	DryRun bool   `type:"switch" help:"Only count the jobs."`
	Watch  bool   `short:"w" aliases:"wait" type:"switch" help:"Show progress until the operation has ended."`
}

// body returns the request for the operation.
func (c *operationsStart) body(env *environment) (rawjson.Value, error) {
	given, err := c.values(env, &c.serviceFlags)
	if err != nil {
		return nil, err
	}
	selected := operationFilter(given)
	var members []rawjson.Member
	members = append(members, rawjson.Member{Name: "action", Value: rawjson.Quote(c.Action)},
		rawjson.Member{Name: "filter", Value: rawjson.Object(selected)})
	set, err := c.set()
	if err != nil {
		return nil, err
	}
	if len(selected) == 0 && !c.All {
		return nil, failed(statusUsage, "without a filter, this selects every job of the account; give --all if that is meant")
	}
	if set != nil {
		members = append(members, rawjson.Member{Name: "set", Value: set})
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"all", c.All}, {"dry_run", c.DryRun}} {
		if f.on {
			members = append(members, rawjson.Member{Name: f.name, Value: rawjson.Value("true")})
		}
	}
	return rawjson.Object(members), nil
}

// set returns the set of the request; nil if there is none.
func (c *operationsStart) set() (rawjson.Value, error) {
	var members []rawjson.Member
	if c.Set != "" {
		v, err := rawjson.Read([]byte(c.Set))
		if err != nil || v.Kind() != '{' {
			return nil, failed(statusUsage, `--set must be a JSON object, such as '{"schedule_in": [1, "hour"]}', not %q`, c.Set)
		}
		members = rawjson.Members(v)
	}
	if c.Spread != "" {
		d, err := time.ParseDuration(c.Spread)
		if err != nil || d < 0 {
			return nil, failed(statusUsage, "--spread must be a duration such as 30m or 2h, not %q", c.Spread)
		}
		members = append(members, rawjson.Member{Name: "spread", Value: rawjson.Value(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))})
	}
	if members == nil {
		return nil, nil
	}
	return rawjson.Object(members), nil
}

// Run starts an operation, or counts its jobs.
func (c *operationsStart) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	got, err := c.call(env, http.MethodPost, "/api/operations", body, nil)
	if err != nil {
		return err
	}
	record, err := c.data(env, got)
	if err != nil {
		return err
	}
	o, err := decoded[client.OperationRecord](record)
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && !c.JSON:
		return c.printCount(env, got, &o)
	case c.Watch && !c.DryRun:
		return c.watch(env, o.ID)
	default:
		return c.printOperation(env, record, nil)
	}
}

// printCount prints the result of a dry run.
func (c *operationsStart) printCount(env *environment, got *client.Response, o *client.OperationRecord) error {
	var more struct{ Partial bool }
	if err := json.Unmarshal(got.Body, &more); err != nil {
		return unreadable(err)
	}
	text := counted(o.Matched, "job matches", "jobs match") + "; nothing was changed"
	if more.Partial {
		text = "at least " + text
	}
	_, err := fmt.Fprintln(env.out, text)
	return err
}

// watchEvery is the pause between two reads of a watched operation.
const watchEvery = time.Second

// watch prints how far an operation is until it has ended.
func (c *operationsStart) watch(env *environment, id string) error {
	line := c.progressLine(env)
	defer line.end()
	for {
		record, err := c.record(env, http.MethodGet, operationPath(id), nil)
		switch {
		case err != nil && env.ctx.Err() != nil:
			return operationGoesOn(id)
		case err != nil:
			return err
		}
		o, err := decoded[client.OperationRecord](record)
		if err != nil {
			return err
		}
		if o.State != "running" {
			line.end()
			if err := c.printOperation(env, record, nil); err != nil {
				return err
			}
			if o.State == "stopped" {
				return errors.New("the operation was stopped before it was finished")
			}
			return nil
		}
		line.show(operationProgress(&o))
		if !pause.For(env.ctx, watchEvery) {
			return operationGoesOn(id)
		}
	}
}

// operationGoesOn is the error of an interrupt while an operation is watched.
func operationGoesOn(id string) error {
	return failed(statusInterrupted, "no longer watching operation %s, which goes on; punctual operations stop %[1]s stops it",
		printable(id))
}

// printOperation prints an operation in a line, its id, or its record.
func (c *serviceFlags) printOperation(env *environment, record []byte, err error) error {
	return printOne(&c.displayFlags, env, record, err, operationID, func(o *client.OperationRecord) error {
		return c.say(env, "operation %s: %s is %s, %s", printable(o.ID), printable(o.Action), printable(o.State), printable(operationProgress(o)))
	})
}

func operationPath(id string) string { return "/api/operations/" + url.PathEscape(id) }

type operationsList struct {
	serviceFlags
	listFlags
}

// Run lists operations.
func (c *operationsList) Run(env *environment) error {
	records, err := c.list(env, "/api/operations", url.Values{}, c.Limit)
	columns := []column{{title: "ID"}, {title: "ACTION"}, stateColumn("STATE"), {title: "STARTED"}, {title: "PROGRESS", shrink: true},
		{title: "FILTER", shrink: true}}
	return listing[client.OperationRecord]{
		id:      operationID,
		none:    "there are no operations; start one with punctual operations start",
		columns: columns,
		row: func(to terminal, o *client.OperationRecord) []string {
			return []string{o.ID, o.Action, o.State, to.moment(o.InsertedAt), operationProgress(o), strings.TrimSpace(string(o.Filter))}
		},
	}.print(&c.displayFlags, env, records, err)
}

type operationsShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The operation's id."`
}

// Run prints an operation.
func (c *operationsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, operationPath(c.ID), nil)
	return c.printOperation(env, record, err)
}

type operationsStop struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The operation's id."`
}

// Run stops an operation.
func (c *operationsStop) Run(env *environment) error {
	record, err := c.record(env, http.MethodDelete, operationPath(c.ID), nil)
	return c.printOperation(env, record, err)
}

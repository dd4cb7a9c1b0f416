package qstash

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// runStates are the states of runs as the SDK names them.
var runStates = map[workflow.State]string{
	workflow.Started: "RUN_STARTED", workflow.Succeeded: "RUN_SUCCESS", workflow.Failed: "RUN_FAILED", workflow.Cancelled: "RUN_CANCELED",
}

// runFilter selects runs.
type runFilter struct {
	ids                                    []string // of runs or failures; nothing else counts with them
	run, state                             string
	urls, labels, flows, ips, hosts, paths []string
	exact                                  bool
	created                                int64
	since, until                           time.Time
	count                                  int
	after                                  service.RunMark
}

// ignored are parameters that change nothing here.
var ignored = []string{"groupBy", "trimBody", "source", "messageId"}

func (c *call) runFilter(most int) (*runFilter, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, bad("the query can't be decoded")
	}
	f := &runFilter{count: most, exact: true}
	lists := map[string]*[]string{
		"workflowRunIds": &f.ids, "dlqIds": &f.ids, "workflowUrl": &f.urls, "url": &f.urls, "label": &f.labels, "flowControlKey": &f.flows,
		"callerIp": &f.ips,
		"host":     &f.hosts, "path": &f.paths,
	}
	values := 0
	for name, given := range query {
		if values += len(given); values > maxValues {
			return nil, bad("there may be " + strconv.Itoa(maxValues) + " values of filters")
		}
		if list := lists[name]; list != nil {
			for _, value := range given {
				if name == "workflowUrl" {
					name = "url"
				}
				*list = append(*list, split(name, value)...)
			}
			continue
		}
		if slices.Contains(ignored, name) {
			continue
		}
		if err := f.one(name, given[0]); err != nil {
			return nil, err
		}
	}
	if len(f.ids) > maxValues {
		return nil, bad("a call may name " + strconv.Itoa(maxValues) + " ids")
	}
	return f, nil
}

func (f *runFilter) one(name, value string) error {
	switch name {
	case "workflowRunId":
		f.run = value
	case "workflowUrlExactMatch":
		f.exact = value == "true"
	case "state":
		if f.state = value; !slices.Contains([]string{"RUN_STARTED", "RUN_SUCCESS", "RUN_FAILED", "RUN_CANCELED"}, value) {
			return bad("state must be one of RUN_STARTED, RUN_SUCCESS, RUN_FAILED, RUN_CANCELED")
		}
	case "workflowCreatedAt":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return bad("workflowCreatedAt must be a unix timestamp in milliseconds")
		}
		f.created = n
	case "fromDate", "toDate", "count":
		var times filter
		if err := times.one(name, value, nil); err != nil {
			return err
		}
		if name == "count" {
			f.count = min(times.count, f.count)
		} else if name == "fromDate" {
			f.since = times.since
		} else {
			f.until = times.until
		}
	case "cursor":
		var ok bool
		if f.after, ok = service.ReadRunMark(value); !ok {
			return bad("invalid cursor")
		}
	default:
		return bad("unknown filter " + strconv.Quote(name) + " of workflow runs")
	}
	return nil
}

func (f *runFilter) selects(r *workflow.Run) bool {
	matchesURL := func(u string) bool { return u == r.URL || !f.exact && strings.HasPrefix(r.URL, u) }
	return (f.run == "" || f.run == r.ID) && (f.state == "" || f.state == runStates[r.State]) &&
		(f.created == 0 || f.created == r.CreatedAt.UnixMilli()) &&
		oneOf(f.urls, matchesURL) && is(f.flows, r.FlowControl) && is(f.ips, r.CallerIP) &&
		oneOf(f.labels, func(label string) bool { return slices.Contains(r.LabelList(), label) }) &&
		(f.since.IsZero() || !r.CreatedAt.Before(f.since)) && (f.until.IsZero() || r.CreatedAt.Before(f.until)) &&
		(&filter{hosts: f.hosts, paths: f.paths}).inURL(r.URL)
}

// findRuns returns the runs that a filter and a function select.
func (c *call) findRuns(f *runFilter, also func(*workflow.Run) bool) (found []*workflow.Run, cursor string, err error) {
	ctx := c.Request.Context()
	if f.ids != nil || f.run != "" {
		ids := f.ids
		if ids == nil {
			ids = []string{f.run}
		}
		for _, id := range ids {
			r, err := c.namedRun(ctx, id)
			if err != nil {
				return nil, "", err
			}
			if r != nil && also(r) && (f.ids != nil || f.selects(r)) {
				found = append(found, r)
			}
		}
		return found, "", nil
	}
	found, next, err := c.api.Service.FindRuns(ctx, c.Owner, f.after, f.count,
		func(r *workflow.Run) bool { return also(r) && f.selects(r) })
	return found, next.String(), err
}

// namedRun returns the run with an id, or with that of its failure; nil if there is none.
func (c *call) namedRun(ctx context.Context, id string) (*workflow.Run, error) {
	if ref, ok := idOf(id, deadPrefix); ok {
		j, err := c.api.Service.Job(ctx, c.Owner, ref)
		if err != nil {
			return nil, noneIfGone(err)
		}
		if id, _ = job.RunOf(j.Args); id == "" {
			return nil, nil
		}
		r, err := c.api.Service.Run(ctx, c.Owner, id)
		if err == nil && r.FailedJob != ref.UUID {
			return nil, nil
		}
		return r, noneIfGone(err)
	}
	r, err := c.api.Service.Run(ctx, c.Owner, id)
	return r, noneIfGone(err)
}

func noneIfGone(err error) error {
	if err != nil && fault.CodeOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// cancelSearches is how many searches for runs to cancel a call makes; each looks at a
// bounded number of runs.
const cancelSearches = 3

// cancelRuns cancels the runs that are named or that filters select. If there may be more,
// its answer has a cursor to go on.
func (c *call) cancelRuns() error {
	f, err := c.runFilter(defaultCount)
	if err != nil {
		return err
	}
	f.exact = f.exact && c.Request.URL.Query().Get("workflowUrlExactMatch") == "true"
	var runs []*workflow.Run
	var cursor string
	for range cancelSearches {
		found, next, err := c.findRuns(f, func(r *workflow.Run) bool { return r.State.Live() })
		if err != nil {
			return err
		}
		runs, cursor = append(runs, found...), next
		if cursor == "" || len(runs) >= f.count {
			break
		}
		if err := f.one("cursor", cursor); err != nil {
			return err
		}
	}
	n := 0
	for _, r := range runs {
		done, err := c.api.Service.CancelRun(c.Request.Context(), c.Owner, r.ID)
		if err != nil {
			return err
		}
		if done {
			n++
		}
	}
	return c.write(struct {
		cancelled
		Cursor string `json:"cursor,omitempty"`
	}{cancelled{n}, cursor})
}

// listedCount is how many runs with their steps a call reads, listedSteps how many records
// of each, listedBytes how many bytes of them.
const (
	listedCount = 10
	listedSteps = 1000
	listedBytes = 512 << 10
)

// shownStep is a step of a run in a list.
type shownStep struct {
	StepID     int             `json:"stepId,omitempty"`
	Name       string          `json:"stepName,omitempty"`
	Type       string          `json:"stepType,omitempty"`
	CallType   string          `json:"callType,omitempty"`
	MessageID  string          `json:"messageId"`
	Out        json.RawMessage `json:"out,omitempty"`
	Concurrent int             `json:"concurrent,omitempty"`
	State      string          `json:"state"`
	CreatedAt  int64           `json:"createdAt,omitempty"`
	WaitEvent  string          `json:"waitEventId,omitempty"`
	Deadline   int64           `json:"waitTimeoutDeadline,omitempty"`
	Invoked    string          `json:"invokedWorkflowRunId,omitempty"`
}

type stepGroup struct {
	Steps []shownStep `json:"steps"`
	Type  string      `json:"type"`
}

// shownRun is a run in a list.
type shownRun struct {
	RunID       string       `json:"workflowRunId"`
	URL         string       `json:"workflowUrl"`
	State       string       `json:"workflowState"`
	CreatedAt   int64        `json:"workflowRunCreatedAt"`
	CompletedAt int64        `json:"workflowRunCompletedAt,omitempty"`
	Steps       []stepGroup  `json:"steps"`
	Response    string       `json:"workflowRunResponse,omitempty"`
	Invoker     *shownParent `json:"invoker,omitempty"`
	Failure     *shownReport `json:"failureFunction,omitempty"`
	DeadID      string       `json:"dlqId,omitempty"`
	Label       string       `json:"label,omitempty"`
	Labels      []string     `json:"labels,omitempty"`
	FlowControl string       `json:"flowControlKey,omitempty"`
	CallerIP    string       `json:"workflowRunCallerIp,omitempty"`
	Error       string       `json:"error,omitempty"`
}

type shownParent struct {
	RunID     string `json:"workflowRunId"`
	URL       string `json:"workflowUrl"`
	CreatedAt int64  `json:"workflowRunCreatedAt"`
}

type shownReport struct {
	MessageID string `json:"messageId"`
	URL       string `json:"url"`
	State     string `json:"state"`
	DeadID    string `json:"dlqId"`
}

// listRuns lists runs with their steps.
func (c *call) listRuns() error {
	f, err := c.runFilter(listedCount)
	if err != nil {
		return err
	}
	runs, cursor, err := c.findRuns(f, func(*workflow.Run) bool { return true })
	if err != nil {
		return err
	}
	list := struct {
		Cursor string     `json:"cursor"`
		Runs   []shownRun `json:"runs"`
	}{cursor, []shownRun{}}
	leave, err := c.EnterParsing(len(runs) * listedBytes)
	if err != nil {
		return err
	}
	defer leave()
	for _, r := range runs {
		shown, err := c.showRun(r.ID)
		if fault.CodeOf(err) == fault.NotFound && err != nil {
			continue
		}
		if err != nil {
			return err
		}
		list.Runs = append(list.Runs, *shown)
	}
	return c.write(list)
}

func (c *call) showRun(id string) (*shownRun, error) {
	ctx := c.Request.Context()
	r, err := c.api.Service.Run(ctx, c.Owner, id)
	if err != nil {
		return nil, err
	}
	steps, err := c.api.Service.RunSteps(ctx, c.Owner, id, 0, listedSteps, listedBytes)
	if err != nil {
		return nil, err
	}
	shown := &shownRun{
		RunID: r.ID, URL: r.URL, State: runStates[r.State], CreatedAt: r.CreatedAt.UnixMilli(), Steps: groupSteps(r, steps),
		Response: string(r.Result),
		Labels:   r.LabelList(), FlowControl: r.FlowControl, CallerIP: r.CallerIP, Error: r.Error,
	}
	if len(shown.Labels) > 0 {
		shown.Label = shown.Labels[0]
	}
	if !r.EndedAt.IsZero() {
		shown.CompletedAt = r.EndedAt.UnixMilli()
	}
	if r.State == workflow.Failed && r.FailedJob != uuid.Nil {
		shown.DeadID = lifecycle.DeadID(r.FailedJob)
	}
	if r.Invoker != nil {
		created, _ := strconv.ParseInt(string(rawjson.Get(r.Invoker, "created_at")), 10, 64)
		shown.Invoker = &shownParent{rawjson.Text(rawjson.Get(r.Invoker, "run")), rawjson.Text(rawjson.Get(r.Invoker, "url")), created}
	}
	shown.Failure, err = c.report(ctx, r)
	return shown, err
}

// reportStates are the states of the report of a failure as the SDK names them.
var reportStates = map[job.State]string{job.Completed: "CALLBACK_SUCCESS", job.Discarded: "CALLBACK_FAIL",
	job.Cancelled: "CALLBACK_CANCELED"}

// report returns the report of a run's failure; nil if there is none.
func (c *call) report(ctx context.Context, r *workflow.Run) (*shownReport, error) {
	if r.Failure == uuid.Nil {
		return nil, nil
	}
	j, err := c.api.Service.Job(ctx, c.Owner, job.Ref{UUID: r.Failure})
	if err != nil {
		return nil, noneIfGone(err)
	}
	state := reportStates[j.State]
	if state == "" {
		state = "CALLBACK_INPROGRESS"
	}
	return &shownReport{lifecycle.MessageID(j.ID), job.ReadSpec(j.Args).URL, state, lifecycle.DeadID(r.FailedJob)}, nil
}

// groupSteps returns the steps of a run in groups: parallel ones together, and what is to
// come next at the end.
func groupSteps(r *workflow.Run, steps []*workflow.Step) []stepGroup {
	groups, results := []stepGroup{}, map[int]*workflow.Step{}
	for _, s := range steps {
		if s.Kind == workflow.Result {
			results[s.Number] = s
		}
	}
	last := ""
	for i, s := range steps {
		one := shownStep{
			StepID: s.Number, Name: s.Name, Type: s.Type, CallType: s.CallType(), MessageID: messageIDOf(s.Message),
			Concurrent: s.Concurrent,
			State:      "STEP_SUCCESS", CreatedAt: s.CreatedAt.UnixMilli(),
		}
		last = one.MessageID
		switch {
		case s.Kind == workflow.Notice:
			continue
		case s.Kind == workflow.Initial, s.Kind == workflow.Result:
			one.Out = outOf(s)
		case results[s.Number] != nil:
			continue
		default:
			one.State = "STEP_PROGRESS"
		}
		if s.Kind == workflow.Wait {
			one.WaitEvent, one.Deadline = s.WaitsFor, s.DueAt.UnixMilli()
		}
		if s.Kind == workflow.Invoke {
			one.Invoked = s.WaitsFor
		}
		parallel := s.Concurrent > 1
		if n := len(groups) - 1; parallel && n >= 0 && groups[n].Type == "parallel" && i > 0 && len(groups[n].Steps) < s.Concurrent {
			groups[n].Steps = append(groups[n].Steps, one)
			continue
		}
		kind := "sequential"
		if parallel {
			kind = "parallel"
		}
		groups = append(groups, stepGroup{[]shownStep{one}, kind})
	}
	if states := map[workflow.State]string{workflow.Started: "STEP_PROGRESS", workflow.Failed: "STEP_FAILED",
		workflow.Cancelled: "STEP_CANCELED"}; states[r.State] != "" {
		groups = append(groups, stepGroup{[]shownStep{{MessageID: last, State: states[r.State]}}, "next"})
	}
	return groups
}

// outOf returns the result of a step as it is shown: JSON, or a text.
func outOf(s *workflow.Step) json.RawMessage {
	if s.Kind == workflow.Initial {
		return nil
	}
	var sent sentStep
	if json.Unmarshal(s.Body, &sent) != nil {
		return nil
	}
	return sent.Out
}

// failedRun is a run that has failed and that nobody has dealt with.
func failedRun(r *workflow.Run) bool {
	return r.State == workflow.Failed && !r.Archived && r.FailedJob != uuid.Nil
}

// shownFailed is a failed run in the dead letter queue.
type shownFailed struct {
	RunID  string       `json:"workflowRunId"`
	RunURL string       `json:"workflowUrl"`
	RunAt  int64        `json:"workflowCreatedAt"`
	Labels []string     `json:"labels,omitempty"`
	Report *shownReport `json:"failureCallbackInfo,omitempty"`
	shownDead
}

// listFailedRuns lists the failed runs.
func (c *call) listFailedRuns() error {
	f, err := c.runFilter(defaultCount)
	if err != nil {
		return err
	}
	runs, cursor, err := c.findRuns(f, failedRun)
	if err != nil {
		return err
	}
	ctx, limits, size := c.Request.Context(), c.limitReader(), 0
	list := struct {
		Messages []shownFailed `json:"messages"`
		Cursor   string        `json:"cursor,omitempty"`
	}{[]shownFailed{}, cursor}
	for _, r := range runs {
		j, err := c.api.Service.Job(ctx, c.Owner, job.Ref{UUID: r.FailedJob})
		if err != nil {
			if err = noneIfGone(err); err == nil {
				continue
			}
			return err
		}
		dead, err := c.showDead(ctx, j, limits)
		if err != nil {
			return err
		}
		report, err := c.report(ctx, r)
		if err != nil {
			return err
		}
		list.Messages = append(list.Messages, shownFailed{r.ID, r.URL, r.CreatedAt.UnixMilli(), r.LabelList(), report, dead})
		if size += len(j.Args) + len(dead.Body); size > job.PageBytes {
			list.Cursor = (&service.RunMark{CreatedAt: r.CreatedAt, ID: r.ID}).String()
			break
		}
	}
	return c.write(list)
}

// eachFailed calls do for the failed runs that are named or selected.
func (c *call) eachFailed(do func(*workflow.Run) error) (cursor string, err error) {
	f, err := c.runFilter(defaultCount)
	if err != nil {
		return "", err
	}
	runs, cursor, err := c.findRuns(f, failedRun)
	if err != nil {
		return "", err
	}
	if f.ids != nil && len(runs) < len(f.ids) {
		return "", noDead(strings.Join(f.ids, ", "))
	}
	for _, r := range runs {
		if err := do(r); err != nil {
			return "", err
		}
	}
	return cursor, nil
}

// deleteFailedRuns removes failed runs from the queue.
func (c *call) deleteFailedRuns() error {
	result := struct {
		Deleted int    `json:"deleted"`
		Cursor  string `json:"cursor,omitempty"`
	}{}
	cursor, err := c.eachFailed(func(r *workflow.Run) error {
		changed, err := c.api.Service.ArchiveRun(c.Request.Context(), c.Owner, r.ID)
		if changed {
			result.Deleted++
		}
		return err
	})
	if err != nil {
		return err
	}
	result.Cursor = cursor
	return c.write(result)
}

func (c *call) resumeRuns() error  { return c.repeatRuns(true) }
func (c *call) restartRuns() error { return c.repeatRuns(false) }

// repeatRuns resumes or restarts failed runs.
func (c *call) repeatRuns(resume bool) error {
	o, err := ReadOptions(c.Request.Header)
	if err != nil {
		return err
	}
	if err := (&message{Options: o}).prepare(); err != nil {
		return err
	}
	if err := c.define(o); err != nil {
		return err
	}
	var changes fields
	if o.Retries >= 0 {
		changes.Number("retries", int64(o.Retries))
	}
	if o.RetryDelay != "" {
		changes.Text("retry_delay", o.RetryDelay)
	}
	if o.FlowControl != "" {
		changes.Texts("limits", []string{limitKey(o.FlowControl)})
	}
	result := struct {
		Runs   []triggered `json:"workflowRuns"`
		Cursor string      `json:"cursor,omitempty"`
	}{Runs: []triggered{}}
	result.Cursor, err = c.eachFailed(func(r *workflow.Run) error {
		again, err := c.api.Service.RepeatRun(c.Request.Context(), c.Owner, r.ID, resume, changes.Fields)
		if err == nil {
			result.Runs = append(result.Runs, triggered{RunID: again.ID, CreatedAt: again.CreatedAt.UnixMilli()})
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.write(result)
}

// retryReport calls the failure function of a failed run again.
func (c *call) retryReport() error {
	r, err := c.namedRun(c.Request.Context(), c.values[0])
	if err == nil && (r == nil || !failedRun(r)) {
		err = noDead(c.values[0])
	}
	if err != nil {
		return err
	}
	if r, err = c.api.Service.RetryReport(c.Request.Context(), c.Owner, r.ID); err != nil {
		return err
	}
	return c.write(triggered{RunID: r.ID, CreatedAt: r.CreatedAt.UnixMilli()})
}

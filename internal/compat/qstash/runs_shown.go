package qstash

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/workflow"
)

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
	f, err := c.runFilter(listedCount, true)
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

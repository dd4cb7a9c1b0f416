package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// RunState is the state of a workflow run.
type RunState string

// The states of workflow runs. One that is waiting makes no request until a sleep ends, an
// event arrives or another run ends.
const (
	RunStarted   RunState = "started"
	RunWaiting   RunState = "waiting"
	RunSucceeded RunState = "succeeded"
	RunFailed    RunState = "failed"
	RunCancelled RunState = "cancelled"
)

// Run is a workflow run.
type Run struct {
	ID         string   `json:"id"`
	URL        string   `json:"url"` // of the workflow's route
	State      RunState `json:"state"`
	Labels     []string `json:"labels"`
	InsertedAt Time     `json:"inserted_at"`
	EndedAt    *Time    `json:"ended_at"`
	Error      *string  `json:"error"`      // why it failed, if no response says so
	FailedJob  *string  `json:"failed_job"` // the id of the job whose end has failed it
	InvokedBy  *string  `json:"invoked_by"` // the run that waits for its end
	Repeats    *string  `json:"repeats"`    // the failed run that it resumes or restarts
	Records    int64    `json:"records"`    // how many records of steps there are
}

// RunWithSteps is a workflow run with its first 1,000 records of steps.
type RunWithSteps struct {
	Run
	Steps []RunStep `json:"steps"`
}

// RunStep is a record of a step of a workflow run.
type RunStep struct {
	Step       int64   `json:"step"` // 0 is the payload
	Kind       string  `json:"kind"` // payload, plan, result, call, wait, invoke or event
	Name       string  `json:"name"`
	Type       string  `json:"type"` // as the SDK names it
	Concurrent int64   `json:"concurrent"`
	InsertedAt Time    `json:"inserted_at"`
	DueAt      *Time   `json:"due_at"` // when its message is due, which is the end of a sleep
	Settled    bool    `json:"settled"`
	WaitsFor   *string `json:"waits_for"` // an event or a run
	Job        *string `json:"job"`       // the id of the job that carries its message
}

// RunQuery selects workflow runs.
type RunQuery struct {
	State RunState // any if ""
	Label string   // any if ""
	Limit int      // how many a page has, from 1 to 100; 0 for the service's default
}

// ListRuns iterates over workflow runs, latest first.
func (c *Client) ListRuns(ctx context.Context, query RunQuery) iter.Seq2[Run, error] {
	values := url.Values{}
	if query.State != "" {
		values.Set("state", string(query.State))
	}
	if query.Label != "" {
		values.Set("label", query.Label)
	}
	if query.Limit > 0 {
		values.Set("limit", strconv.Itoa(query.Limit))
	}
	return list[Run](ctx, c, "/api/runs", values)
}

// GetRun returns a workflow run with its steps.
func (c *Client) GetRun(ctx context.Context, id string) (*RunWithSteps, error) {
	return c.run(ctx, call{method: http.MethodGet, path: "/api/runs" + element(id)})
}

// CancelRun cancels a workflow run. One that has ended stays as it is.
func (c *Client) CancelRun(ctx context.Context, id string) (*RunWithSteps, error) {
	return c.run(ctx, call{method: http.MethodPost, path: "/api/runs" + element(id) + "/cancel"})
}

func (c *Client) run(ctx context.Context, call call) (*RunWithSteps, error) {
	got, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	value, err := decode[enveloped[RunWithSteps]](got)
	return &value.Data, err
}

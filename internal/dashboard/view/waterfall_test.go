package view

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// TestWaterfall_ShowsTheStepUnderWay tells when a step is shown that is not stored yet.
func TestWaterfall_ShowsTheStepUnderWay(t *testing.T) {
	began := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	first := &workflow.Step{Message: uuid.New(), CreatedAt: began, DueAt: began}
	done := &workflow.Step{Kind: workflow.Result, Number: 1, Concurrent: 1, Name: "one", Message: uuid.New(), CreatedAt: at(2),
		DueAt: at(2)}
	sleep := &workflow.Step{Kind: workflow.Result, Number: 1, Concurrent: 1, Name: "nap", Type: "SleepFor", Message: uuid.New(),
		CreatedAt: at(2), DueAt: at(60)}
	wait := &workflow.Step{Kind: workflow.Wait, Number: 1, Concurrent: 1, Name: "wait", Message: uuid.New(), CreatedAt: at(2),
		DueAt: at(60)}
	for name, test := range map[string]struct {
		state workflow.State
		steps []*workflow.Step
		more  int
		next  *workflow.Step
		since time.Time
	}{
		"the first":    {workflow.Started, []*workflow.Step{first}, 0, first, began},
		"the second":   {workflow.Started, []*workflow.Step{first, done}, 0, done, at(2)},
		"a sleep":      {workflow.Started, []*workflow.Step{first, sleep}, 0, nil, began},
		"a wait":       {workflow.Started, []*workflow.Step{first, wait}, 0, nil, began},
		"not all read": {workflow.Started, []*workflow.Step{first, done}, 1, nil, began},
		"ended":        {workflow.Succeeded, []*workflow.Step{first, done}, 0, nil, began},
	} {
		r := &workflow.Run{State: test.state, CreatedAt: began, EndedAt: at(5), Rows: len(test.steps) + test.more}
		w := NewWaterfall(r, test.steps, at(5))
		if test.next == nil {
			if w.Next != uuid.Nil {
				t.Errorf("%s: a next step is shown", name)
			}
			continue
		}
		if w.Next != test.next.Message || !w.Since.Equal(test.since) {
			t.Fatalf("%s: next %s since %s", name, w.Next, w.Since)
		}
		rows := len(w.Rows)
		w.Begin(&job.Job{ID: w.Next, State: job.Available})
		if len(w.Rows) != rows {
			t.Errorf("%s: a step is shown that has not begun", name)
		}
		w.Begin(&job.Job{ID: w.Next, State: job.Executing})
		if last := w.Rows[len(w.Rows)-1]; len(w.Rows) != rows+1 || last.State != stepRunning || !last.Start.Equal(test.since) ||
			last.Job != w.Next || last.Number != rows+1 {
			t.Errorf("%s: %+v", name, w.Rows)
		}
	}
}

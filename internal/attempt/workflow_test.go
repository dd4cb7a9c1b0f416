package attempt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/workflow"
)

// runsWith reads one run, whatever is asked for, and counts how often.
type runsWith struct {
	Runs
	run   workflow.Run
	reads int
}

func (r *runsWith) RunMessage(_ context.Context, _ int64, of workflow.Key, _ int64) (*store.RunMessage, error) {
	r.reads++
	return &store.RunMessage{Run: &r.run, Of: &workflow.Step{Kind: of.Kind, Number: of.Number}}, nil
}

// TestWanted_ReadsTheRunAgainIfTheMessageIsLate: a process may stand still, or connect for
// long, between the read of the run and the first byte.
func TestWanted_ReadsTheRunAgainIfTheMessageIsLate(t *testing.T) {
	for name, test := range map[string]struct {
		late  time.Duration
		state workflow.State
		want  bool
		reads int
	}{
		"at once":             {0, workflow.Cancelled, true, 0},
		"late":                {time.Second, workflow.Started, true, 1},
		"late, and cancelled": {time.Second, workflow.Cancelled, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := &runsWith{run: workflow.Run{ID: "wfr_a", State: test.state}}
				a := &jobAttempt{
					runner: &Runner{Config: Config{Runs: runs}}, asked: time.Now(),
					Attempt: &lifecycle.Attempt{
						Item: &store.QueueItem{Job: &job.Job{ID: uuid.UUID{1}}},
						Spec: job.Spec{Dialect: &job.Dialect{API: job.DialectQStash, Run: "wfr_a", Step: "step:1"}},
					},
				}
				leave := a.wanted(t.Context(), func() bool { return true })
				time.Sleep(test.late)
				if got := leave(); got != test.want || runs.reads != test.reads {
					t.Errorf("leaves: %t after %d reads, want %t after %d", got, runs.reads, test.want, test.reads)
				}
			})
		})
	}
}

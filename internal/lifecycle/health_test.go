package lifecycle

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestTrackHealth_CountsFailuresUntilARunCompletes(t *testing.T) {
	s := &job.Schedule{}
	for i, step := range []struct {
		state        job.State
		cause        string
		wantFailures int64
		wantSince    time.Time
		wantFailure  string
	}{
		{job.Completed, "", 0, time.Time{}, ""},
		{job.Discarded, "500", 1, due, "500"},
		{job.Discarded, "timeout", 2, due, "timeout"},
		{job.Cancelled, "", 2, due, "timeout"},
		{job.Discarded, "dns", 3, due, "dns"},
		{job.Completed, "", 0, time.Time{}, ""},
	} {
		c := &store.Changes{}
		j := &job.Job{State: step.state}
		if step.state == job.Discarded {
			if j.DiscardedAt = due; s.Failures > 0 {
				j.DiscardedAt = due.Add(time.Hour)
			}
		}
		trackHealth(c, s, j, step.cause)
		if c.Schedule != nil {
			s = c.Schedule
		}
		if s.Failures != step.wantFailures || !s.FailingSince.Equal(step.wantSince) || s.Failure != step.wantFailure {
			t.Errorf("after step %d: %d since %s, %s", i, s.Failures, s.FailingSince, s.Failure)
		}
	}
	c := &store.Changes{}
	trackHealth(c, nil, &job.Job{State: job.Discarded}, "500")
	trackHealth(c, &job.Schedule{}, &job.Job{State: job.Completed}, "")
	if c.Schedule != nil {
		t.Errorf("a one-off job or a healthy schedule changes %+v", c.Schedule)
	}
}

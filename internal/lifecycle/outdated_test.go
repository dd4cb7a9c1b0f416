package lifecycle

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// A run whose request was not sent, because its schedule was changed while the node stood
// still, becomes what the change makes of a run that has not started.
func TestFinish_AnUnsentRunFollowsItsSchedule(t *testing.T) {
	unsent := failed(job.KindInterrupted)
	unsent.Failure.Unsent = true
	const edited = `{"url":"https://other","repeat_every":60}`
	edit := func(s *job.Schedule) { s.Revision, s.Args = s.Revision+1, rawjson.Value(edited) }
	for name, x := range map[string]struct {
		change  func(s *job.Schedule) // nil: it was deleted
		before  int                   // attempts
		outcome job.Outcome
		state   job.State
		edited  bool
	}{
		"nothing":                {func(*job.Schedule) {}, 0, unsent, job.Retryable, false},
		"an edit":                {edit, 0, unsent, job.Retryable, true},
		"an edit, sent":          {edit, 0, failed(job.KindInterrupted), job.Retryable, false},
		"an edit before a retry": {edit, 1, unsent, job.Retryable, false},
		"disabled":               {func(s *job.Schedule) { s.DisabledAt, s.Epoch = due, s.Epoch+1 }, 0, unsent, job.Cancelled, false},
		"disabled, a retry":      {func(s *job.Schedule) { s.DisabledAt, s.Epoch = due, s.Epoch+1 }, 1, unsent, job.Cancelled, false},
		"disabled and enabled":   {func(s *job.Schedule) { s.Epoch++ }, 0, unsent, job.Retryable, false},
		"deleted":                {nil, 0, unsent, job.Cancelled, false},
	} {
		item := recurring(`{"url":"https://x","repeat_every":60}`)
		item.Attempt = x.before
		var now *job.Schedule
		if x.change != nil {
			changed := *item.Schedule
			x.change(&changed)
			now = &changed
		}
		args := string(item.Job.Args)
		if x.edited {
			args = edited
		}
		c := end(item, x.outcome, now)
		if c.Job.State != x.state || c.Job.Attempt != x.before || string(c.Job.Args) != args || c.Next != nil {
			t.Errorf("%s: %s after %d attempts with %s, next %v", name, c.Job.State, c.Job.Attempt, c.Job.Args, c.Next)
		}
		if x.edited != (c.UpdateDefinition && c.Lane != nil && len(c.Revisions) == 1 && c.Job.Revision == item.Job.Revision+1) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

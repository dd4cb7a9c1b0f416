package dashboard

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/why"
)

// because explains a job's state in sentences; none for one that is completed.
func (s *Server) because(c *call, d *view.Job) (because, remedy string) {
	if d.Job.State == job.Completed {
		return "", ""
	}
	j := why.Job{
		Number: d.Job.Number, State: d.Job.State.String(), Due: d.Job.ScheduledAt, Next: service.NextAttempt(d.Job),
		Ended: d.Job.EndedAt(), Attempts: len(d.Attempts),
		Blocks: why.BlocksOf(d.WaitingFor, func(key string) *why.Use {
			found, err := s.Service.Limit(c.r.Context(), c.owner(), key)
			if err != nil {
				return nil
			}
			return found.Use
		}),
	}
	if d.Completion != nil {
		j.Deadline = d.Completion.Deadline
	}
	if n := len(d.Attempts); n > 0 {
		last := &d.Attempts[n-1]
		j.Began = last.StartedAt
		if last.Outcome != nil {
			j.Failure = &why.Failure{Kind: job.Kind(last.Kind), Status: last.Status, Message: last.Message}
		}
	}
	moment := func(t time.Time) string { return ui.ExactIn(t, time.UTC) }
	e := j.Explain(why.Words{Moment: moment, Now: d.Now, Names: true})
	return e.Because, e.Remedy
}

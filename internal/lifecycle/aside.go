package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// SetAside discards an unfinished job that can't be attempted, without
// preparing its request; its log contains the reason. It counts as one failed
// attempt.
//
// The schedule goes on with its next run and the deliveries report the end,
// unless stop reports that preparing the job crashes the process. Then the
// schedule is disabled and no deliveries are prepared.
func SetAside(reason string, stop bool) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if m.Job == nil {
			return nil
		}
		j := *m.Job
		if m.Claim != nil {
			j.Attempt-- // the claim has counted it already
		}
		if j.Begin(m.Now) != nil || j.Discard(m.Now) != nil {
			return nil // final in the meantime
		}
		about := messageData{number: j.Attempt, outcome: &job.Outcome{
			Failure: &job.Failure{Kind: job.KindPoisoned, Message: reason},
		}}
		c := &store.Changes{Job: &j, Logs: []job.Log{outcomeLog(&j, m.Now, &about)}, EndCompletions: true}
		if stop {
			disable(m, c)
			return c
		}
		spec := job.ReadSpec(j.Args)
		follow(c, m.Schedule, pastRun{Job: &j, now: m.Now, counts: true})
		trackHealth(c, m.Schedule, &j, about.outcome.Cause())
		if spec.WebhookURL != "" {
			c.Deliveries = append(c.Deliveries, webhook(&j, &spec, eventFinished, m.Now, &about))
		}
		if spec.CallsBack(j.State) {
			c.Deliveries = append(c.Deliveries, callback(&j, &spec, m.Now, &about))
		}
		return c
	}
}

// disable sets a schedule disabled. Its run may go on.
func disable(m *store.Snapshot, c *store.Changes) {
	if !m.Schedule.Live() {
		return
	}
	s := changedSchedule(c, m.Schedule)
	s.DisabledAt, s.Previous, s.HiddenPrevious = m.Now, nil, ""
	s.Epoch++
	if c.Job != nil {
		s.Runs = c.Job.Runs
		if c.Job.State == job.Discarded {
			s.Runs++
		}
	} else if m.Job != nil {
		s.Runs = m.Job.Runs
	}
}

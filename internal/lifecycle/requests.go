package lifecycle

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// HasStarted reports whether the attempt of a claim has started. If not, it
// also keeps the attempt from starting.
type HasStarted func(j *job.Job, claim *store.ClaimInfo, now time.Time) bool

// Cancel cancels an unfinished job: a pending one never runs, the attempt of an
// executing one is abandoned. A schedule goes on with its next run.
func Cancel(hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if m.Job.Permits(job.Cancelled) != nil {
			return nil // it is final, and stays as it is
		}
		spec := job.ReadSpec(m.Job.Args)
		underWay := m.Claim != nil && hasStarted(m.Job, m.Claim, m.Now)
		if underWay {
			// The attempt may have started after the snapshot was taken. Its
			// end must still be after its start.
			seen := *m
			seen.Now = schedule.Later(m.Now, m.Claim.StartAt.Add(time.Microsecond))
			m = &seen
		}
		c, began, err := cancel(m, &spec, underWay)
		if err != nil {
			return nil
		}
		if m.Schedule.Live() {
			if due, next := nextDueAfter(m.Schedule, m.Job.ScheduledAt, began, m.Now); next != nil {
				c.Next = nextJob(m.Schedule, next, due, m.Now)
			}
		}
		return c
	}
}

// cancel returns the changes that cancel m.Job, and when its attempt began; the
// time is zero if none is under way. The error is a [job.TransitionError]: the
// job is final.
func cancel(m *store.Snapshot, spec *job.Spec, underWay bool) (*store.Changes, time.Time, error) {
	j := *m.Job
	c := &store.Changes{Job: &j, RollbackClaim: m.Claim != nil && !underWay}
	about := messageData{number: j.Attempt}
	var began time.Time
	if underWay {
		began = m.Claim.StartAt
		j.AttemptedAt = began
		about.outcome = &job.Outcome{
			Failure:  &job.Failure{Kind: job.KindCancelled, Message: "the job was cancelled while the request was under way"},
			Duration: max(0, m.Now.Sub(began)),
		}
		c.Logs = []job.Log{outcomeLog(&j, m.Now, &about)}
	} else if c.RollbackClaim {
		about.number-- // the claimed attempt does not start
	}
	if err := j.Cancel(m.Now); err != nil {
		return nil, began, err
	}
	if spec.WebhookURL != "" {
		c.Deliveries = []job.Delivery{webhook(&j, spec, eventFinished, m.Now, &about)}
	}
	return c, began, nil
}

// Disable stops a schedule: its pending job is cancelled, a run under way
// finishes.
func Disable(hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if !m.Schedule.Live() {
			return nil
		}
		c := stop(m, hasStarted)
		disable(m, c)
		return c
	}
}

// Delete removes a schedule: its pending job is cancelled, a run under way
// finishes.
func Delete(hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		c := stop(m, hasStarted)
		c.Schedule, c.DropSchedule = m.Schedule, true
		return c
	}
}

// stop cancels the schedule's job unless its attempt is under way.
func stop(m *store.Snapshot, hasStarted HasStarted) *store.Changes {
	if m.Job == nil || m.Claim != nil && hasStarted(m.Job, m.Claim, m.Now) {
		return &store.Changes{}
	}
	spec := job.ReadSpec(m.Job.Args)
	c, _, err := cancel(m, &spec, false)
	if err != nil {
		return &store.Changes{} // there is nothing to cancel
	}
	return c
}

// Enable resumes a schedule at the next point of its grid. If a run is still
// under way, the next run is created when it ends.
func Enable(m *store.Snapshot) *store.Changes {
	if m.Schedule.Live() {
		return nil
	}
	s := *m.Schedule
	s.DisabledAt = time.Time{}
	c := &store.Changes{Schedule: &s}
	if m.Job != nil {
		return c
	}
	spec := job.ReadSpec(s.Args)
	if frequency, err := spec.Frequency(); err == nil && frequency != nil {
		if due := schedule.Resume(frequency, s.FirstDue, m.Now); !due.IsZero() {
			c.Next = nextJob(&s, &spec, due, m.Now)
		}
	}
	return c
}

func rejectedLog(j *job.Job, at time.Time, size int) job.Log {
	b := []byte(`{"message":"$set would make the schedule's $state exceed the limit; the old state is kept","size":`)
	b = strconv.AppendInt(b, int64(size), 10)
	b = append(b, `,"limit":`...)
	b = strconv.AppendInt(b, job.MaxState, 10)
	// After the log of the response that contained $set.
	return newLog(j.Owner, j.Number, job.EventStateRejected, at.Add(time.Microsecond), append(b, '}'))
}

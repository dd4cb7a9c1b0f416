package lifecycle

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
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
		follow(c, m.Schedule, pastRun{Job: c.Job, now: m.Now, started: began, held: heldBack(m.Job, m.Now)})
		return c
	}
}

// cancel returns the changes that cancel m.Job, and when its attempt began; the
// time is zero if none is under way. The error is a [job.TransitionError]: the
// job is final.
func cancel(m *store.Snapshot, spec *job.Spec, underWay bool) (*store.Changes, time.Time, error) {
	j := *m.Job
	c := &store.Changes{Job: &j, RollbackClaim: m.Claim != nil && !underWay, EndCompletions: spec.Completion.Within > 0}
	about := messageData{number: j.Attempt}
	var began time.Time
	if underWay {
		began = m.Claim.StartAt
		j.AttemptedAt = began
		about.outcome = &job.Outcome{
			Failure:  &job.Failure{Kind: job.KindCancelled, Message: cancelledWhile(m.Claim)},
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

func cancelledWhile(claim *store.ClaimInfo) string {
	if claim.Awaits() {
		return "the job was cancelled while its completion was awaited"
	}
	return "the job was cancelled while the request was under way"
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
		c.Logs = append(c.Logs, settle(m, c.Schedule)...)
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
// under way, the next run is created when it ends. The error is a fault: the
// schedule has ended.
func Enable(m *store.Snapshot) (*store.Changes, error) {
	if m.Schedule.Live() {
		return nil, nil
	}
	s := *m.Schedule
	s.DisabledAt, s.Since = time.Time{}, m.Now.Add(-time.Microsecond)
	runs := s.Runs
	if m.Job != nil {
		runs = m.Job.Runs + 1
	}
	due, err := future(&s, runs, m.Now)
	if err != nil {
		return nil, err
	}
	p := planOf(&s)
	if s.Ended == job.EndedFailures || p != nil && p.spec.DisableAfter > 0 && s.Failures >= p.spec.DisableAfter {
		s.Failures, s.FailingSince, s.Failure = 0, time.Time{}, "" // disable_after counts anew
	}
	s.Ended = ""
	c := &store.Changes{Schedule: &s}
	if m.Job == nil && p != nil {
		c.Next = nextJob(&s, &p.spec, due, m.Now)
	}
	return c, nil
}

// future returns when a schedule that has had a number of runs is due next, from
// now on. The error is a fault: the schedule has ended and has to be edited first.
func future(s *job.Schedule, runs int64, now time.Time) (time.Time, error) {
	p := planOf(s)
	if p == nil {
		return time.Time{}, nil
	}
	ended := func(why string) (time.Time, error) {
		return time.Time{}, fault.New(fault.Invalid, "the schedule has ended: "+why)
	}
	if s.Ended == job.EndedStop {
		return ended("a response had $stop; edit the schedule before you enable it")
	}
	if p.spec.MaxRuns > 0 && runs >= p.spec.MaxRuns {
		return ended("it has had max_runs runs; raise or remove max_runs before you enable it")
	}
	due := p.grid.Next(time.Time{}, now.Add(-1))
	if due.IsZero() {
		return ended("no run is due before ends_at; change or remove ends_at before you enable it")
	}
	return due, nil
}

func rejectedLog(j *job.Job, at time.Time, size int) job.Log {
	b := []byte(`{"message":"$set would make the schedule's $state exceed the limit; the old state is kept","size":`)
	b = strconv.AppendInt(b, int64(size), 10)
	b = append(b, `,"limit":`...)
	b = strconv.AppendInt(b, job.MaxState, 10)
	// After the log of the response that contained $set.
	return newLog(j.Owner, j.Number, job.EventStateRejected, at.Add(time.Microsecond), append(b, '}'))
}

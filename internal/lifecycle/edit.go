package lifecycle

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Soon is how long before its start a job can't be edited any more.
const Soon = 100 * time.Millisecond

// EditJob changes a job that waits for its first attempt. It returns nil if the
// edit changes nothing or comes too late.
func EditJob(e *job.Edit, by job.Actor, hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if len(e.Changes) == 0 || m.Job.State != job.Available || startsSoon(m, hasStarted) {
			return nil
		}
		j := *m.Job
		j.Name, j.Description, j.Args = e.Name, e.Description, e.Args
		if e.Moves {
			j.ScheduledAt, j.DueAt = newTime(e, m), schedule.Later(e.ScheduledAt, m.Now)
		}
		c := &store.Changes{}
		redefine(c, m, &j, e, by)
		return c
	}
}

// newTime returns the new due time of a job. For a schedule's run, a time in the
// past is now, as for RunNow: with CatchUpAll, the points since an earlier time would
// run again.
func newTime(e *job.Edit, m *store.Snapshot) time.Time {
	if m.Job.ScheduleID == uuid.Nil {
		return e.ScheduledAt
	}
	return schedule.Later(e.ScheduledAt, m.Now)
}

// EditSchedule changes a schedule. Its pending run takes over what it says; a run
// that has started, or will soon, keeps what it has, and the next run uses the
// schedule as it is when that one ends.
func EditSchedule(e *job.Edit, by job.Actor, hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if len(e.Changes) == 0 {
			return nil
		}
		s := *m.Schedule
		s.Name, s.Description, s.Args = e.Name, e.Description, e.Args
		if e.Moves {
			s.FirstDue = e.Grid.Begin
		}
		if e.Document != "" {
			s.Document = e.Document
		}
		s.Revision++
		s.Ended = ""
		c := &store.Changes{
			Schedule: &s, UpdateDefinition: true,
			Revisions: []job.Revision{job.NewRevision(s.ID, s.Owner, s.Revision, m.Now, by, e.Changes)},
		}
		moves := e.Moves || changesGrid(e)
		if moves {
			c.Logs = settle(m, &s)
		}
		if m.Job == nil || startsSoon(m, hasStarted) {
			return c
		}
		j := *m.Job
		j.Name, j.Description, j.Args = s.Name, s.Description, s.Args
		if due := pendingDue(e, &s, m.Now); moves && s.Live() && !due.IsZero() {
			reschedule(&j, due, m.Now)
		}
		redefine(c, m, &j, e, by)
		if s.Live() && e.Spec.MaxRuns > 0 && j.Runs >= e.Spec.MaxRuns && j.Cancel(m.Now) == nil {
			if e.Spec.WebhookURL != "" {
				c.Deliveries = append(c.Deliveries, webhook(&j, &e.Spec, eventFinished, m.Now, &messageData{number: j.Attempt}))
			}
			endSchedule(c, &s, &j, job.EndedMaxRuns, j.Runs, m.Now)
		}
		return c
	}
}

// pendingDue returns when the pending run of an edited schedule is due.
func pendingDue(e *job.Edit, s *job.Schedule, now time.Time) time.Time {
	if e.Moves {
		return e.ScheduledAt
	}
	if p := planOf(s); p != nil {
		return p.grid.Next(time.Time{}, now.Add(-1))
	}
	return time.Time{}
}

// gridFields are the fields, beside the frequency and the first time, that change a
// schedule's due times or what happens to missed ones.
var gridFields = []string{"/catch_up", "/ends_at", "/jitter", "/except"}

func changesGrid(e *job.Edit) bool {
	return slices.ContainsFunc(e.Changes, func(c job.FieldChange) bool { return slices.Contains(gridFields, c.Path) })
}

// redefine adds a job's new definition to c.
func redefine(c *store.Changes, m *store.Snapshot, j *job.Job, e *job.Edit, by job.Actor) {
	if m.Claim != nil {
		c.RollbackClaim = true
		j.Attempt-- // the claimed attempt does not start
	}
	j.Revision++
	lane := job.Lane(e.Spec.URL)
	c.Job, c.Lane, c.UpdateDefinition = j, &lane, true
	c.Revisions = append(c.Revisions, job.NewRevision(j.ID, j.Owner, j.Revision, m.Now, by, e.Changes))
}

// startsSoon reports whether the attempt of the pending job has started or will
// within Soon. If not, it also keeps a claimed attempt from starting.
func startsSoon(m *store.Snapshot, hasStarted HasStarted) bool {
	if m.Claim != nil {
		return m.Claim.Started(m.Now.Add(Soon)) || hasStarted(m.Job, m.Claim, m.Now)
	}
	return m.Job.Follows == 0 && !m.Job.DueAt.After(m.Now.Add(Soon))
}

// reschedule sets a pending job's due time to that of its schedule's next run.
// It never delays a retry.
func reschedule(j *job.Job, due, now time.Time) {
	if j.State == job.Available {
		j.ScheduledAt, j.DueAt = due, schedule.Later(due, now)
	} else if due.Before(j.DueAt) {
		j.DueAt = schedule.Later(due, now)
	}
}

// SetState replaces a schedule's $state; nil removes it.
func SetState(state rawjson.Value) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if bytes.Equal(state, m.Schedule.State) && (state == nil) == (m.Schedule.State == nil) {
			return nil
		}
		s := *m.Schedule
		s.State = state
		return &store.Changes{Schedule: &s}
	}
}

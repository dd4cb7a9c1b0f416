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
		j.Name, j.Description, j.Args, j.Hidden = e.Name, e.Description, e.Args, e.Hidden
		if e.Moves {
			j.ScheduledAt, j.DueAt = newTime(e, m), schedule.Later(e.ScheduledAt, m.Now)
			if store.Waits(m.Job) {
				j.DueAt = m.Job.DueAt // its time counts once it no longer waits
			}
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

// EditSchedule changes a schedule. Its pending run takes over what it says, apart from
// what it has by an edit of its own in other fields. A run that has started, be it that
// it waits for a retry, or will soon, keeps what it has, and the next run uses the
// schedule as it is when that one ends.
func EditSchedule(e *job.Edit, by job.Actor, hasStarted HasStarted) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if len(e.Changes) == 0 {
			return nil
		}
		s := *m.Schedule
		s.Name, s.Description, s.Args, s.Hidden = e.Name, e.Description, e.Args, e.Hidden
		if e.Moves {
			s.FirstDue = e.Grid.Begin
		}
		if e.Document != "" {
			s.Document = e.Document
		}
		s.Revision++
		if s.Ended != job.EndedFailures { // enabling must begin to count anew, whatever disable_after is then
			s.Ended = ""
		}
		c := &store.Changes{
			Schedule: &s, UpdateDefinition: true,
			Revisions: []job.Revision{job.NewRevision(s.ID, s.Owner, s.Revision, m.Now, by, e.Changes)},
		}
		moves := e.Moves || changesGrid(e)
		if moves {
			c.Logs = settle(m, &s)
		}
		if m.Job == nil || m.Job.State != job.Available || startsSoon(m, hasStarted) && !waitsOn(m) {
			return c
		}
		j := *m.Job
		due := pendingDue(e, &s, m.Now)
		moves = moves && s.Live() && !due.IsZero() && !keepsTime(e, m)
		takeOver(&j, &s, e)
		if moves {
			j.ScheduledAt, j.DueAt = due, schedule.Later(due, m.Now)
		} else if hasOwnTime(m) && !e.Moves {
			j.Args = job.WithTimeOf(j.Args, m.Job.Args)
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
var gridFields = []string{"/catch_up", "/ends_at", "/jitter", "/offset", "/except"}

func changesGrid(e *job.Edit) bool {
	return slices.ContainsFunc(gridFields, func(path string) bool { return changesField(e, path) })
}

func changesField(e *job.Edit, path string) bool {
	return slices.ContainsFunc(e.Changes, func(c job.FieldChange) bool { return c.Path == path })
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

// waitsOn reports whether a run that was due is not claimed yet, because there is no slot
// for it: when it starts is open. A node that is about to claim it as it was can't any more.
func waitsOn(m *store.Snapshot) bool {
	return m.Claim == nil && m.Job.DueAt.Before(m.Now.Add(-Soon))
}

// takeOver sets in a pending run what its schedule says. A name or a description of the
// run's own stays unless the edit changes that of the schedule.
func takeOver(j *job.Job, s *job.Schedule, e *job.Edit) {
	if changesField(e, "/name") {
		j.Name = s.Name
	}
	if changesField(e, "/description") {
		j.Description = s.Description
	}
	j.Args, j.Hidden = s.Args, s.Hidden
}

// hasOwnTime reports whether the pending run of a schedule has a due time by an edit of
// its own.
func hasOwnTime(m *store.Snapshot) bool { return !job.SameFirstTime(m.Schedule.Args, m.Job.Args) }

// keepsTime reports whether a due time of the run's own stays although the edit moves
// points of the grid.
func keepsTime(e *job.Edit, m *store.Snapshot) bool {
	return hasOwnTime(m) && !e.Moves && (e.Spec.EndsAt.IsZero() || !m.Job.ScheduledAt.After(e.Spec.EndsAt))
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

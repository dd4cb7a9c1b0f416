package lifecycle

import (
	"bytes"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// Edit changes a schedule. Its pending job takes the new name and description
// and moves to the new grid. A run that is claimed or due goes on unchanged;
// the next run uses the schedule as it is when that one ends.
//
// A grid of intervals still runs through the schedule's first due time. A first
// due time that is still ahead stays, or becomes the first tick after it.
func Edit(e *job.Edit) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		e.Apply(&s)
		if e.Frequency != nil && !s.FirstDue.Before(m.Now) {
			s.FirstDue = e.Frequency.First(s.FirstDue)
		}
		s.Ended = ""
		c := &store.Changes{Schedule: &s, UpdateDefinition: true}
		if e.Frequency != nil {
			c.Logs = settle(m, &s)
		}
		if m.Job == nil || m.Claim != nil || !s.Live() {
			return c
		}
		j := *m.Job
		j.Name, j.Description = s.Name, s.Description
		if e.Frequency != nil && j.DueAt.After(m.Now) {
			j.Args = s.Args
			grid, _ := s.Grid()
			reschedule(&j, grid.Next(time.Time{}, m.Now.Add(-1)), m.Now)
		}
		c.Job = &j
		return c
	}
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

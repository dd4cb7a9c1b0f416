package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/schedule"
	"github.com/punctual-dev/punctual/internal/store"
)

// RunNow makes a pending job due now, be it waiting for its first attempt or
// for a retry. A run of a schedule does not move the grid: the next run is due
// at the next grid point. A job that is due already or claimed stays as it is.
func RunNow(m *store.Snapshot) *store.Changes {
	if m.Job.State.Final() || m.Claim != nil || !m.Job.DueAt.After(m.Now) {
		return nil
	}
	j := *m.Job
	j.DueAt = m.Now
	c := &store.Changes{Job: &j}
	if j.State == job.Available {
		j.ScheduledAt, c.UpdateDefinition = m.Now, true
	}
	return c
}

// Reschedule changes the due time of a job that waits for its first attempt; it
// returns no changes for any other. A claimed job keeps its time, because its
// start messages have announced it.
func Reschedule(t *job.Timing) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if m.Job.State != job.Available || m.Claim != nil {
			return nil
		}
		j := *m.Job
		j.ScheduledAt, j.DueAt, j.Args = t.At, schedule.Later(t.At, m.Now), t.In(j.Args)
		return &store.Changes{Job: &j, UpdateDefinition: true}
	}
}

package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// RunNow makes a pending job due at once: one that waits for its first attempt
// becomes due now, of one that is tried again the next attempt does. A run of a
// schedule leaves the grid alone, so that its next one is the first grid point
// to come. What is due already or claimed stays as it is: it is about to begin.
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

// Reschedule gives a job that waits for its first attempt another due time; nil for
// any other. One that is claimed is about to begin and keeps its time: what its
// claim has announced stays true.
func Reschedule(t *job.Timing) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		if m.Job.State != job.Available || m.Claim != nil {
			return nil
		}
		j := *m.Job
		j.ScheduledAt, j.DueAt, j.Args = t.At, later(t.At, m.Now), t.In(j.Args)
		return &store.Changes{Job: &j, UpdateDefinition: true}
	}
}

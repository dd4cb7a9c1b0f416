package lifecycle

import (
	"github.com/punctual-dev/punctual/internal/job"
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

// UnderWay reports whether the attempt of a job has started.
func UnderWay(m *store.Snapshot) bool {
	return m.Job != nil && m.Claim != nil && m.Claim.Started(m.Now)
}

// RunSchedule makes the pending run of a schedule due now. A disabled schedule gets
// one run, and none follows. It returns nil while a run is under way.
func RunSchedule(m *store.Snapshot) *store.Changes {
	if m.Job != nil {
		return RunNow(m)
	}
	spec := job.ReadSpec(m.Schedule.Args)
	return &store.Changes{Next: nextJob(m.Schedule, &spec, m.Now, m.Now)}
}

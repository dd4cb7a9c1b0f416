package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// RunNow makes a pending job due at once and gives it as it is afterwards. One
// that executes already stays as it is; one that is final is refused.
func (m *Service) RunNow(ctx context.Context, owner job.Owner, id store.JobID) (*job.Job, error) {
	final := false
	j, err := m.changeJob(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		final = moment.Job.State.Final()
		return lifecycle.RunNow(moment)
	})
	if err == nil && final {
		return nil, fault.New(fault.Invalid, "the job is "+j.State.String()+" already; rerun makes its request again, as a new job")
	}
	return j, err
}

// Rerun stores a new job that makes the same request as another one, once and
// at once, and gives the new one.
func (m *Service) Rerun(ctx context.Context, owner job.Owner, id store.JobID) (*job.Job, error) {
	j, err := m.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	again, _, err := m.Create(ctx, owner, job.Again(j), nil)
	return again, err
}

// Reschedule gives a job that waits for its first attempt another due time, from a
// body with schedule_in or scheduled_at, and gives it as it is afterwards. A run
// of a schedule is moved alone: the runs after it keep to the grid.
func (m *Service) Reschedule(ctx context.Context, owner job.Owner, id store.JobID, body rawjson.Value) (*job.Job, error) {
	timing, err := job.ReadTiming(body, m.Store.Now())
	if err != nil {
		return nil, err
	}
	var seen *store.Snapshot
	moved := false
	j, err := m.changeJob(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		changes := lifecycle.Reschedule(timing)(moment)
		seen, moved = moment, changes != nil
		return changes
	})
	if err != nil || moved {
		return j, err
	}
	why := "comes too late: the job is " + j.State.String()
	if seen.Claim != nil {
		why = "comes too late: the job's attempt is about to begin or under way"
	}
	return nil, fault.Refuse([]fault.Problem{{Pointer: "#/" + timing.Field(), Detail: why}})
}

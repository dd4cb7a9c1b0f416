package service

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// RunNow makes a pending job due at once and returns its state afterwards. It
// leaves an executing job unchanged and refuses a final one.
func (s *Service) RunNow(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	final := false
	j, err := s.changeJob(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		final = moment.Job.State.Final()
		return lifecycle.RunNow(moment)
	})
	if err == nil && final {
		return nil, fault.New(fault.Invalid, "the job is already "+j.State.String()+"; rerun creates a new job with the same request")
	}
	return j, err
}

// Rerun creates a job that makes the same request as another job, once and at
// once, and returns the new job.
func (s *Service) Rerun(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	again, _, err := s.Create(ctx, owner, job.Again(j), nil)
	return again, err
}

// Reschedule changes the due time of a job that waits for its first attempt to
// the schedule_in or scheduled_at of the body, and returns the changed job. For a
// run of a schedule it changes only this run: later runs stay on the grid.
func (s *Service) Reschedule(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value) (*job.Job, error) {
	timing, err := job.ReadTiming(body, s.Store.Now())
	if err != nil {
		return nil, err
	}
	var seen *store.Snapshot
	changed := false
	j, err := s.changeJob(ctx, owner, id, func(moment *store.Snapshot) *store.Changes {
		changes := lifecycle.Reschedule(timing)(moment)
		seen, changed = moment, changes != nil
		return changes
	})
	if err != nil || changed {
		return j, err
	}
	why := "is too late: the job is " + j.State.String()
	if seen.Claim != nil {
		why = "is too late: the job's attempt is about to start or under way"
	}
	return nil, fault.Refuse([]fault.Problem{{Pointer: "#/" + timing.Field(), Detail: why}})
}

package service

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// RunNow makes a pending job due at once and returns its state afterwards. It
// leaves an executing job unchanged and refuses a final one.
func (s *Service) RunNow(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	if err := access.Allow(ctx, "service.RunNow"); err != nil {
		return nil, err
	}
	if err := s.reserveJob(ctx, owner, id); err != nil {
		return nil, err
	}
	final := false
	j, err := s.changeJob(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		final = snapshot.Job.State.Final()
		return lifecycle.RunNow(snapshot)
	})
	if err == nil && final {
		return nil, fault.New(fault.Invalid, "the job is already "+j.State.String()+"; rerun creates a new job with the same request")
	}
	return j, err
}

// Rerun creates a job that makes the same request as another job, once and at
// once, apart from the fields in the body, and returns the new job. headerKey is the
// header Idempotency-Key, nil if there is none: if a rerun has used it already,
// conflict is true and its job is returned.
func (s *Service) Rerun(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value,
	headerKey *string) (again *job.Job, conflict bool, err error) {
	if err := access.Allow(ctx, "service.Rerun"); err != nil {
		return nil, false, err
	}
	if err := checkHops(ctx); err != nil {
		return nil, false, err
	}
	again, err = whileGone(func() (*job.Job, error) {
		again, conflict, err = s.rerun(ctx, owner, id, body, headerKey)
		return again, err
	})
	return again, conflict, err
}

// rerun is Rerun, or returns store.ErrNameGone.
func (s *Service) rerun(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value,
	headerKey *string) (again *job.Job, conflict bool, err error) {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, false, err
	}
	now := s.Store.Now()
	r := s.reading(ctx, owner)
	draft, err := job.ReadRerun(j, body, r.options(now, headerKey))
	if err := r.result(err); err != nil {
		return nil, false, err
	}
	n := newJob(owner, draft, now, originOf(ctx))
	n.Job.RerunOf = j.Number
	n.sentAs(draft, job.RerunRequest(j.Number, body))
	return s.create(ctx, n)
}

// RunSchedule makes the pending run of a schedule due now, and its grid stays. For
// a disabled schedule it creates one run, and none follows. It returns a Conflict
// fault while a run is under way, and an Invalid fault if a disabled one names a limit
// or a secret that can't be used.
func (s *Service) RunSchedule(ctx context.Context, owner job.Owner, id uuid.UUID) (j *job.Job, created bool, err error) {
	if err := access.Allow(ctx, "service.RunSchedule"); err != nil {
		return nil, false, err
	}
	underWay := int64(0)
	_, err = s.startSchedule(ctx, owner, id, func(snapshot *store.Snapshot) *store.Changes {
		j, created, underWay = snapshot.Job, false, 0
		if lifecycle.UnderWay(snapshot) {
			underWay = snapshot.Job.Number
			return nil
		}
		changes := lifecycle.RunSchedule(snapshot)
		if created = changes != nil && changes.Next != nil; created {
			j = changes.Next.Job
		}
		return changes
	})
	switch {
	case err != nil:
		return nil, false, err
	case underWay != 0:
		return nil, false, fault.New(fault.Conflict,
			fmt.Sprintf("job %d, a run of this schedule, is under way; try again when it has ended", underWay))
	}
	if j, err = s.Store.JobGet(ctx, owner, job.Ref{Number: j.Number}); err != nil {
		return nil, false, err
	}
	if s.Listener != nil {
		s.Listener.Changed(j)
	}
	return j, created, nil
}

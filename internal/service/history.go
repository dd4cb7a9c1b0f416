package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// JobRevisions returns the kept edits of one of the owner's jobs, latest first.
func (s *Service) JobRevisions(ctx context.Context, owner job.Owner, id job.Ref) ([]*job.Revision, error) {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	return s.Store.Revisions(ctx, owner, j.ID)
}

// ScheduleRevisions returns the kept edits of one of the owner's schedules, latest
// first.
func (s *Service) ScheduleRevisions(ctx context.Context, owner job.Owner, id uuid.UUID) ([]*job.Revision, error) {
	if _, err := s.Store.ScheduleGet(ctx, owner, id); err != nil {
		return nil, err
	}
	return s.Store.Revisions(ctx, owner, id)
}

// PreviewJobEdit returns what EditJob would change now. It stores nothing.
func (s *Service) PreviewJobEdit(ctx context.Context, owner job.Owner, id job.Ref, body rawjson.Value) (*job.Edit, error) {
	j, err := s.Store.JobGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if j.State != job.Available {
		return nil, tooLate(j, j.State.String())
	}
	r := s.reading(ctx, owner)
	e, err := job.ReadJobEdit(j, body, r.options(s.Store.Now(), nil))
	return e, r.result(err)
}

// PreviewScheduleEdit returns what EditSchedule would change now. It stores
// nothing.
func (s *Service) PreviewScheduleEdit(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Edit, error) {
	found, err := s.Store.ScheduleGet(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	r := s.reading(ctx, owner)
	e, err := job.ReadScheduleEdit(found, body, r.options(s.Store.Now(), nil))
	return e, r.result(err)
}

package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Edit changes a schedule's name, description or frequency to what the body
// contains, and returns the changed schedule. Its pending job is rescheduled
// onto the new grid.
func (s *Service) Edit(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Schedule, error) {
	edit, err := job.ReadEdit(body, s.Store.Now())
	if err != nil {
		return nil, err
	}
	return s.changeSchedule(ctx, owner, id, lifecycle.Edit(edit))
}

// SetState replaces a schedule's $state with an object of at most job.MaxState
// bytes. A run under way that sets members of $state adds them to the new one.
func (s *Service) SetState(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value) (*job.Schedule, error) {
	state, err := job.ReadState(body)
	if err != nil {
		return nil, err
	}
	return s.changeSchedule(ctx, owner, id, lifecycle.SetState(state))
}

// ClearState removes a schedule's $state; its runs then see an empty one.
func (s *Service) ClearState(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return s.changeSchedule(ctx, owner, id, lifecycle.SetState(nil))
}

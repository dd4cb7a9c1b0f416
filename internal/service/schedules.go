package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// SetState replaces a schedule's $state with an object of at most job.MaxState
// bytes. A run under way that sets members of $state adds them to the new one. Only
// match.None is a condition, on the $state.
func (s *Service) SetState(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value, match Match) (*job.Schedule, error) {
	state, err := job.ReadState(body)
	if err != nil {
		return nil, err
	}
	exists := false
	changed, err := s.changeSchedule(ctx, owner, id, func(m *store.Snapshot) *store.Changes {
		if exists = match.None && m.Schedule.State != nil; exists {
			return nil
		}
		return lifecycle.SetState(state)(m)
	})
	if err == nil && exists {
		err = store.Exists("$state")
	}
	return changed, err
}

// ClearState removes a schedule's $state; its runs then see an empty one.
func (s *Service) ClearState(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return s.changeSchedule(ctx, owner, id, lifecycle.SetState(nil))
}

package service

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// SetState replaces a schedule's $state with an object of at most job.MaxState
// bytes. A run under way that sets members of $state adds them to the new one. The
// condition is match.PutIf, on the $state.
func (s *Service) SetState(ctx context.Context, owner job.Owner, id uuid.UUID, body rawjson.Value, match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.SetState"); err != nil {
		return nil, err
	}
	state, err := job.ReadState(body)
	if err != nil {
		return nil, err
	}
	return s.changeState(ctx, owner, id, state, match)
}

// ClearState removes a schedule's $state; its runs then see an empty one. The condition
// is match.PutIf, on the $state.
func (s *Service) ClearState(ctx context.Context, owner job.Owner, id uuid.UUID, match Match) (*job.Schedule, error) {
	if err := access.Allow(ctx, "service.ClearState"); err != nil {
		return nil, err
	}
	return s.changeState(ctx, owner, id, nil, match)
}

func (s *Service) changeState(ctx context.Context, owner job.Owner, id uuid.UUID, state rawjson.Value, match Match) (*job.Schedule, error) {
	var stale error
	changed, err := s.changeSchedule(ctx, owner, id, func(m *store.Snapshot) *store.Changes {
		if stale = match.Check("$state", m.Schedule.State != nil); stale != nil {
			return nil
		}
		return lifecycle.SetState(state)(m)
	})
	if err == nil {
		err = stale
	}
	return changed, err
}

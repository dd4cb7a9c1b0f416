package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobRequested implements store.Store.
func (s *Store) JobRequested(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]store.Inserted, error) {
	return get(ctx, s, "JobRequested", func() ([]store.Inserted, error) { return s.Store.JobRequested(ctx, owner, ids) })
}

// RequestPrune implements store.Store.
func (s *Store) RequestPrune(ctx context.Context, expired time.Time, limit int) (int, error) {
	return get(ctx, s, "RequestPrune", func() (int, error) { return s.Store.RequestPrune(ctx, expired, limit) })
}

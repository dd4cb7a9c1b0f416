package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobMarks implements store.Store.
func (s *Store) JobMarks(ctx context.Context, owner job.Owner, limit int) ([]store.JobMark, error) {
	return get(ctx, s, "JobMarks", func() ([]store.JobMark, error) { return s.Store.JobMarks(ctx, owner, limit) })
}

// JobMarksOf implements store.Store.
func (s *Store) JobMarksOf(ctx context.Context, owner job.Owner, ids []job.Ref) ([]store.JobMark, error) {
	return get(ctx, s, "JobMarksOf", func() ([]store.JobMark, error) { return s.Store.JobMarksOf(ctx, owner, ids) })
}

// JobMarksEnded implements store.Store.
func (s *Store) JobMarksEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]store.JobMark, error) {
	return get(ctx, s, "JobMarksEnded", func() ([]store.JobMark, error) { return s.Store.JobMarksEnded(ctx, owner, since, limit) })
}

// LogMarks implements store.Store.
func (s *Store) LogMarks(ctx context.Context, owner job.Owner, limit int) ([]store.LogMark, error) {
	return get(ctx, s, "LogMarks", func() ([]store.LogMark, error) { return s.Store.LogMarks(ctx, owner, limit) })
}

// LogGetMany implements store.Store.
func (s *Store) LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]*job.Log, error) {
	return get(ctx, s, "LogGetMany", func() ([]*job.Log, error) { return s.Store.LogGetMany(ctx, owner, ids) })
}

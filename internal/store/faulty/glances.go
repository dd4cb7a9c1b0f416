package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ScheduleRuns implements store.Store.
func (s *Store) ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID, limit int) (map[uuid.UUID][]store.RunSummary, error) {
	return get(ctx, s, "ScheduleRuns", func() (map[uuid.UUID][]store.RunSummary, error) {
		return s.Store.ScheduleRuns(ctx, owner, schedules, limit)
	})
}

// JobsDue implements store.Store.
func (s *Store) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*store.Due, error) {
	return get(ctx, s, "JobsDue", func() (*store.Due, error) { return s.Store.JobsDue(ctx, owner, before, limit, look) })
}

// JobsFailed implements store.Store.
func (s *Store) JobsFailed(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]*job.Job, error) {
	return get(ctx, s, "JobsFailed", func() ([]*job.Job, error) { return s.Store.JobsFailed(ctx, owner, since, limit) })
}

package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// ScheduleRuns implements store.Store.
func (s *Store) ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID, limit int) (map[uuid.UUID][]job.RunSummary, error) {
	return get(ctx, s, "ScheduleRuns", func() (map[uuid.UUID][]job.RunSummary, error) {
		return s.Store.ScheduleRuns(ctx, owner, schedules, limit)
	})
}

// JobsDue implements store.Store.
func (s *Store) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error) {
	return get(ctx, s, "JobsDue", func() (*job.DueJobs, error) { return s.Store.JobsDue(ctx, owner, before, limit, look) })
}

// JobsFailed implements store.Store.
func (s *Store) JobsFailed(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]*job.Job, error) {
	return get(ctx, s, "JobsFailed", func() ([]*job.Job, error) { return s.Store.JobsFailed(ctx, owner, since, limit) })
}

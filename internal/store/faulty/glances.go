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

// FailuresSince implements store.Store.
func (s *Store) FailuresSince(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error) {
	return get(ctx, s, "FailuresSince", func() ([]job.FailedJob, error) { return s.Store.FailuresSince(ctx, owner, since, limit) })
}

// JobFailures implements store.Store.
func (s *Store) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]job.LastFailure, error) {
	return get(ctx, s, "JobFailures", func() (map[int64]job.LastFailure, error) { return s.Store.JobFailures(ctx, owner, numbers) })
}

// SchedulesFailing implements store.Store.
func (s *Store) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error) {
	return get(ctx, s, "SchedulesFailing", func() ([]job.FailingSchedule, error) { return s.Store.SchedulesFailing(ctx, owner, limit) })
}

// SchedulesDue implements store.Store.
func (s *Store) SchedulesDue(ctx context.Context, owner job.Owner, limit, look int) (*job.DueSchedules, error) {
	return get(ctx, s, "SchedulesDue", func() (*job.DueSchedules, error) { return s.Store.SchedulesDue(ctx, owner, limit, look) })
}

// JobsAhead implements store.Store.
func (s *Store) JobsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, limit, look, pending int) ([]job.DueStep, error) {
	return get(ctx, s, "JobsAhead", func() ([]job.DueStep, error) { return s.Store.JobsAhead(ctx, owner, bounds, limit, look, pending) })
}

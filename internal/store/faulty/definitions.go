package faulty

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobHolding implements store.Store.
func (s *Store) JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error) {
	return get(ctx, s, "JobHolding", func() (*job.Job, error) { return s.Store.JobHolding(ctx, owner, key) })
}

// JobTrail implements store.Store.
func (s *Store) JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error) {
	return get(ctx, s, "JobTrail", func() (*job.Trail, error) { return s.Store.JobTrail(ctx, owner, number, limit) })
}

// ScheduleHolding implements store.Store.
func (s *Store) ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error) {
	return get(ctx, s, "ScheduleHolding", func() (*job.Schedule, error) { return s.Store.ScheduleHolding(ctx, owner, key) })
}

// SchedulePut implements store.Store.
func (s *Store) SchedulePut(ctx context.Context, owner job.Owner, keys store.PutKeys, decide func(*store.Holders) ([]*store.Changes, error)) (store.Quota, error) {
	return get(ctx, s, "SchedulePut", func() (store.Quota, error) { return s.Store.SchedulePut(ctx, owner, keys, decide) })
}

// RunUnfinished implements store.Store.
func (s *Store) RunUnfinished(ctx context.Context, owner job.Owner, schedule uuid.UUID) (*job.Job, error) {
	return get(ctx, s, "RunUnfinished", func() (*job.Job, error) { return s.Store.RunUnfinished(ctx, owner, schedule) })
}

// RunsEnded implements store.Store.
func (s *Store) RunsEnded(ctx context.Context, owner job.Owner, schedule uuid.UUID, look int) (latest *job.Job, states []job.State, err error) {
	latest, err = get(ctx, s, "RunsEnded", func() (found *job.Job, err error) {
		found, states, err = s.Store.RunsEnded(ctx, owner, schedule, look)
		return found, err
	})
	return latest, states, err
}

// Revisions implements store.Store.
func (s *Store) Revisions(ctx context.Context, owner job.Owner, record uuid.UUID) ([]*job.Revision, error) {
	return get(ctx, s, "Revisions", func() ([]*job.Revision, error) { return s.Store.Revisions(ctx, owner, record) })
}

// DocumentEntries implements store.Definitions.
func (s *Store) DocumentEntries(ctx context.Context, owner job.Owner, document string) ([]job.DocumentEntry, error) {
	return get(ctx, s, "DocumentEntries", func() ([]job.DocumentEntry, error) { return s.Store.DocumentEntries(ctx, owner, document) })
}

// ScheduleKeyed implements store.Definitions.
func (s *Store) ScheduleKeyed(ctx context.Context, owner job.Owner, document *string, after string, limit int) ([]*job.Schedule, error) {
	return get(ctx, s, "ScheduleKeyed", func() ([]*job.Schedule, error) {
		return s.Store.ScheduleKeyed(ctx, owner, document, after, limit)
	})
}

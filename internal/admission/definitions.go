package admission

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobHolding implements Records.
func (s *Store) JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error) {
	return one(ctx, s, owner, jobSize, func() (*job.Job, error) { return s.Records.JobHolding(ctx, owner, key) })
}

// ScheduleHolding implements Records.
func (s *Store) ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error) {
	return one(ctx, s, owner, scheduleSize, func() (*job.Schedule, error) { return s.Records.ScheduleHolding(ctx, owner, key) })
}

// RunUnfinished implements Records.
func (s *Store) RunUnfinished(ctx context.Context, owner job.Owner, schedule uuid.UUID) (*job.Job, error) {
	return one(ctx, s, owner, jobSize, func() (*job.Job, error) { return s.Records.RunUnfinished(ctx, owner, schedule) })
}

// RunsEnded implements Records.
func (s *Store) RunsEnded(ctx context.Context, owner job.Owner, schedule uuid.UUID,
	look int) (latest *job.Job, states []job.State, err error) {
	latest, err = few(ctx, s, owner, jobSize, func() (found *job.Job, err error) {
		found, states, err = s.Records.RunsEnded(ctx, owner, schedule, look)
		return found, err
	})
	return latest, states, err
}

// JobTrail implements Records.
func (s *Store) JobTrail(ctx context.Context, owner job.Owner, number int64, limit int) (*job.Trail, error) {
	return few(ctx, s, owner, job.TrailSize, func() (*job.Trail, error) { return s.Records.JobTrail(ctx, owner, number, limit) })
}

// Revisions implements Records.
func (s *Store) Revisions(ctx context.Context, owner job.Owner, record uuid.UUID) ([]*job.Revision, error) {
	size := func(all []*job.Revision) int { return job.TotalSize(all, job.RevisionSize) }
	return few(ctx, s, owner, size, func() ([]*job.Revision, error) { return s.Records.Revisions(ctx, owner, record) })
}

// scheduleSize is job.ScheduleSize for a schedule that may be nil.
func scheduleSize(found *job.Schedule) int {
	if found == nil {
		return 0
	}
	return job.ScheduleSize(found)
}

// DocumentEntries implements Records.
func (s *Store) DocumentEntries(ctx context.Context, owner job.Owner, document string) ([]job.DocumentEntry, error) {
	return few(ctx, s, owner, nothing, func() ([]job.DocumentEntry, error) { return s.Records.DocumentEntries(ctx, owner, document) })
}

// ScheduleKeyed implements Records.
func (s *Store) ScheduleKeyed(ctx context.Context, owner job.Owner, document *string, after string, limit int) ([]*job.Schedule, error) {
	size := func(all []*job.Schedule) int { return job.TotalSize(all, job.ScheduleSize) }
	return few(ctx, s, owner, size, func() ([]*job.Schedule, error) {
		return s.Records.ScheduleKeyed(ctx, owner, document, after, limit)
	})
}

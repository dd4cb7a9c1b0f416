package service

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Now returns the store's time, which decides what is due.
func (s *Service) Now() time.Time { return s.Store.Now() }

// Job returns one of the owner's jobs, or a NotFound fault.
func (s *Service) Job(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	return s.Store.JobGet(ctx, owner, id)
}

// Jobs reads a page of the owner's jobs. With several filters, in the default
// order, it reads at most 2,000 positions of the filters' indexes: a page
// that is not full, or is empty, may have a next one.
func (s *Service) Jobs(ctx context.Context, owner job.Owner, q job.Query) (job.Page[*job.Job], error) {
	if q.Combined() && q.Unordered() == nil {
		return s.scan(ctx, owner, q, ofJobs.records, nil)
	}
	return job.ReadPage(q.ListQuery, job.Size, (*job.Job).Position, func(list job.ListQuery) ([]*job.Job, error) {
		q.ListQuery = list
		return s.Store.JobList(ctx, owner, q)
	})
}

// JobsDue returns up to limit of the owner's pending jobs that are due from now on
// and before a time, and counts them. It reads at most look queue items of all
// owners and at most look of the owner's pending jobs.
func (s *Service) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error) {
	return s.Store.JobsDue(ctx, owner, before, limit, look)
}

// JobsAhead returns the owner's pending jobs that are due between two of the bounds,
// which are in order and at most job.MaxDueSteps+1, with the first limit of each step.
// Of each step it reads at most look queue items of all owners and, if these don't
// cover it, at most pending of the owner's pending jobs for all steps.
func (s *Service) JobsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, limit, look, pending int) ([]job.DueStep, error) {
	return s.Store.JobsAhead(ctx, owner, bounds, limit, look, pending)
}

// FailedJobs returns up to limit of the owner's jobs that were discarded at or after a
// time, latest first. The latest reruns have the schedule of the job that they repeat.
func (s *Service) FailedJobs(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error) {
	failed, err := s.Store.FailedJobs(ctx, owner, since, limit)
	if err != nil {
		return nil, err
	}
	return failed, s.findOrigins(ctx, owner, failed)
}

const (
	// maxReruns is how many reruns of reruns are followed to the first job.
	maxReruns = 5
	// maxOrigins is of how many reruns the first job is looked up.
	maxOrigins = 500
)

// findOrigins gives the latest reruns the schedule and the name of the jobs that they
// repeat.
func (s *Service) findOrigins(ctx context.Context, owner job.Owner, failed []job.FailedJob) error {
	repeats := map[int64]int64{} // by the number of a rerun: the job that it repeats, and what that repeats
	for i := range failed {
		if f := &failed[i]; f.RerunOf != 0 && f.ScheduleID == uuid.Nil && len(repeats) < maxOrigins {
			repeats[f.Number] = f.RerunOf
		}
	}
	found := map[int64]job.FailedJob{}
	for range maxReruns {
		wanted := map[int64]bool{}
		for _, of := range repeats {
			if _, known := found[of]; !known {
				wanted[of] = true
			}
		}
		if len(wanted) == 0 {
			break
		}
		origins, err := s.Store.JobOrigins(ctx, owner, slices.Collect(maps.Keys(wanted)))
		if err != nil {
			return err
		}
		for _, o := range origins {
			found[o.Number] = o
		}
		for number, of := range repeats {
			if o, known := found[of]; known && o.RerunOf != 0 {
				repeats[number] = o.RerunOf
			}
		}
		if len(origins) == 0 {
			break
		}
	}
	for i := range failed {
		if o, known := found[repeats[failed[i].Number]]; known && o.ScheduleID != uuid.Nil {
			failed[i].ScheduleID, failed[i].Name = o.ScheduleID, o.Name
		}
	}
	return nil
}

// JobFailures returns the latest failure of those of the given jobs of the owner that
// have a log of one. The jobs must not be completed.
func (s *Service) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]job.LastFailure, error) {
	return s.Store.JobFailures(ctx, owner, numbers)
}

// SchedulesFailing returns up to limit of the owner's enabled schedules that fail,
// those that fail longest first.
func (s *Service) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error) {
	return s.Store.SchedulesFailing(ctx, owner, limit)
}

// ScheduleNames returns the names of those of up to 100 of the owner's schedules that
// exist; nil for one without a name.
func (s *Service) ScheduleNames(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]*string, error) {
	return s.Store.ScheduleNames(ctx, owner, ids[:min(100, len(ids))])
}

// SchedulesDue returns up to limit of the owner's enabled schedules with an unfinished
// run, ordered by its due time. It reads at most look of the owner's schedules and, if
// there are more, at most look queue items of all owners.
func (s *Service) SchedulesDue(ctx context.Context, owner job.Owner, limit, look int) (*job.DueSchedules, error) {
	return s.Store.SchedulesDue(ctx, owner, limit, look)
}

// Deliveries returns up to limit pending deliveries of one of the owner's jobs, in
// order, without their bodies. DueAt is zero while a delivery waits for the one
// before it.
func (s *Service) Deliveries(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error) {
	return s.Store.JobMessages(ctx, owner, number, limit)
}

// Schedule returns one of the owner's schedules, or a NotFound fault.
func (s *Service) Schedule(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Schedule, error) {
	return s.Store.ScheduleGet(ctx, owner, id)
}

// JobHolding returns the owner's job that holds a key, or a NotFound fault: the
// unfinished job with the key, or the latest run of the schedule that has it.
func (s *Service) JobHolding(ctx context.Context, owner job.Owner, key string) (*job.Job, error) {
	return s.Store.JobHolding(ctx, owner, key)
}

// ScheduleHolding returns the owner's schedule that has a key, or a NotFound fault.
func (s *Service) ScheduleHolding(ctx context.Context, owner job.Owner, key string) (*job.Schedule, error) {
	return s.Store.ScheduleHolding(ctx, owner, key)
}

// Schedules reads a page of the owner's schedules.
func (s *Service) Schedules(ctx context.Context, owner job.Owner, q job.ScheduleQuery) (job.Page[*job.Schedule], error) {
	return job.ReadPage(q.ListQuery, job.ScheduleSize, (*job.Schedule).Position, func(list job.ListQuery) ([]*job.Schedule, error) {
		q.ListQuery = list
		return s.Store.ScheduleList(ctx, owner, q)
	})
}

// Runs returns up to limit runs of each of the given schedules of the owner,
// newest first.
func (s *Service) Runs(ctx context.Context, owner job.Owner, schedules []uuid.UUID, limit int) (map[uuid.UUID][]job.RunSummary, error) {
	return s.Store.ScheduleRuns(ctx, owner, schedules, limit)
}

// Log returns one of the owner's visible logs, or a NotFound fault.
func (s *Service) Log(ctx context.Context, owner job.Owner, id uuid.UUID) (*job.Log, error) {
	return s.Store.LogGet(ctx, owner, id)
}

// JobIDs returns the ids of those of the given jobs of the owner that exist.
func (s *Service) JobIDs(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]uuid.UUID, error) {
	refs := make([]job.Ref, len(numbers))
	for i, number := range numbers {
		refs[i].Number = number
	}
	versions, err := s.Store.JobVersionsOf(ctx, owner, refs)
	ids := make(map[int64]uuid.UUID, len(versions))
	for _, version := range versions {
		ids[version.Number] = version.ID
	}
	return ids, err
}

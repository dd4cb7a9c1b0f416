package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Summaries reads the overviews that pages show. The cost of each is bounded,
// however many records are stored.
type Summaries interface {
	// ScheduleRuns returns up to limit runs of each of the given schedules of the
	// owner, newest first.
	ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID, limit int) (map[uuid.UUID][]job.RunSummary, error)
	// JobsDue returns the owner's pending jobs that are due from now on and before
	// a time, at most limit of them. It reads at most look queue items of all
	// owners and, if these don't cover the whole time, at most look of the owner's
	// pending jobs.
	JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error)
	// JobsAhead returns the owner's pending jobs that are due between two of the bounds,
	// which are in order and at most job.MaxDueSteps+1, with the first limit of each
	// step. Of each step it reads at most look queue items of all owners and, if these
	// don't cover it, at most pending of the owner's pending jobs for all steps.
	JobsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, limit, look, pending int) ([]job.DueStep, error)
	// FailedJobs returns up to limit of the owner's jobs that were discarded at or after a
	// time, latest first.
	FailedJobs(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error)
	// JobOrigins returns what FailedJobs does of those of the given jobs of the owner that
	// exist, in any state and order.
	JobOrigins(ctx context.Context, owner job.Owner, numbers []int64) ([]job.FailedJob, error)
	// JobFailures returns the latest failure of those of the given jobs of the owner
	// that have a log of one. The jobs must not be completed.
	JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]job.LastFailure, error)
	// SchedulesNamed returns the ids of up to limit of the owner's schedules with exactly
	// this name, the latest first.
	SchedulesNamed(ctx context.Context, owner job.Owner, name string, limit int) ([]uuid.UUID, error)
	// ScheduleNames returns the names of those of the given schedules of the owner, of which
	// there are at most 100, that exist; nil for one without a name.
	ScheduleNames(ctx context.Context, owner job.Owner, ids []uuid.UUID) (map[uuid.UUID]*string, error)
	// SchedulesFailing returns up to limit of the owner's enabled schedules whose latest
	// completed or discarded run was discarded, those that fail longest first.
	SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error)
	// SchedulesDue returns up to limit of the owner's enabled schedules with an
	// unfinished run, ordered by its due time. It reads at most look of the owner's
	// schedules and, if there are more, at most look queue items of all owners.
	SchedulesDue(ctx context.Context, owner job.Owner, limit, look int) (*job.DueSchedules, error)
}

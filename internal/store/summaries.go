package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Summaries reads what pages show at a glance. Each costs the same however much is
// stored.
type Summaries interface {
	// ScheduleRuns reads the newest runs of each of the owner's schedules that are
	// named, up to limit of them, the newest first.
	ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID, limit int) (map[uuid.UUID][]RunSummary, error)
	// JobsDue reads which of the owner's pending jobs are due from now on and
	// before a time. It looks at no more than look of all runs and, if these are
	// not all in that time, at no more than look of the owner's pending jobs.
	JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*Due, error)
	// JobsFailed reads up to limit of the owner's jobs that were discarded at a
	// time or after it, the latest first.
	JobsFailed(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]*job.Job, error)
}

// RunSummary is a job at a glance: what a mark or a point of a plot needs.
type RunSummary struct {
	Number      int64
	State       job.State
	ScheduledAt time.Time
	DueAt       time.Time
	// BeganAt is when the first attempt began; zero when there was none, or when
	// its log is gone.
	StartedAt   time.Time
	AttemptedAt time.Time
	EndedAt     time.Time // zero while pending
}

// Due are jobs that are due within a time.
type Due struct {
	Jobs  []*job.Job // the soonest of them, in order
	Count int
	// Partly tells that not all runs could be looked at: there may be more.
	Partly bool
}

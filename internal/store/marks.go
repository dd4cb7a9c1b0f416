package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Marks reads what tells that records have come or changed: columns of a few
// bytes, whatever the size of the records.
type Marks interface {
	// JobMarks reads those of up to limit of the owner's jobs, the newest first.
	JobMarks(ctx context.Context, owner job.Owner, limit int) ([]JobMark, error)
	// JobMarksOf reads those of some of the owner's jobs, in no order; a job that
	// there is not is left out.
	JobMarksOf(ctx context.Context, owner job.Owner, ids []JobID) ([]JobMark, error)
	// JobMarksEnded reads those of up to limit of the owner's jobs that have
	// become final since a time, the latest first. It looks at no more than
	// EndedLook jobs of all owners.
	JobMarksEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]JobMark, error)
	// LogMarks reads those of up to limit of the owner's logs that are shown, the
	// newest first.
	LogMarks(ctx context.Context, owner job.Owner, limit int) ([]LogMark, error)
	// LogGetMany reads some of the owner's logs, in no order; a log that there is
	// not is left out.
	LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]*job.Log, error)
}

// JobMark is what of a job changes, as clients see it.
type JobMark struct {
	Number                                      int64
	ID                                          uuid.UUID
	State                                       job.State
	InsertedAt, ScheduledAt, DueAt, AttemptedAt time.Time
	Size                                        int // see JobSize
}

// LogMark names a log.
type LogMark struct {
	ID   uuid.UUID
	Job  int64
	Size int // see LogSize
}

// EndedLook is how many jobs JobMarksEnded looks at.
const EndedLook = 2000

package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Marks reads the few small columns by which clients notice new and changed
// records. Their size does not depend on the size of the records.
type Marks interface {
	// JobMarks returns the marks of up to limit of the owner's jobs, newest first.
	JobMarks(ctx context.Context, owner job.Owner, limit int) ([]JobMark, error)
	// JobMarksOf returns the marks of the given jobs of the owner, in no particular
	// order, without those that don't exist.
	JobMarksOf(ctx context.Context, owner job.Owner, ids []job.Ref) ([]JobMark, error)
	// JobMarksEnded returns the marks of up to limit of the owner's jobs that have
	// become final since a time, latest first. It reads at most EndedLook jobs of
	// all owners, so it may miss some.
	JobMarksEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]JobMark, error)
	// LogMarks returns the marks of up to limit of the owner's visible logs, newest
	// first.
	LogMarks(ctx context.Context, owner job.Owner, limit int) ([]LogMark, error)
	// LogGetMany returns the given logs of the owner, in no particular order,
	// without those that don't exist.
	LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]*job.Log, error)
}

// JobMark holds the fields of a job that change, as clients see them.
type JobMark struct {
	Number                                      int64
	ID                                          uuid.UUID
	State                                       job.State
	InsertedAt, ScheduledAt, DueAt, AttemptedAt time.Time
	Size                                        int // see JobSize
}

// LogMark identifies a log.
type LogMark struct {
	ID   uuid.UUID
	Job  int64
	Size int // see LogSize
}

// EndedLook is how many jobs JobMarksEnded reads at most.
const EndedLook = 2000

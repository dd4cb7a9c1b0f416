package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Versions reads the few small columns by which clients notice new and changed
// records. Their size does not depend on the size of the records.
type Versions interface {
	// JobVersions returns the versions of up to limit of the owner's jobs, newest first.
	JobVersions(ctx context.Context, owner job.Owner, limit int) ([]JobVersion, error)
	// JobVersionsOf returns the versions of the given jobs of the owner, in no particular
	// order, without those that don't exist.
	JobVersionsOf(ctx context.Context, owner job.Owner, ids []job.Ref) ([]JobVersion, error)
	// JobVersionsEnded returns the versions of up to limit of the owner's jobs that have
	// become final since a time, latest first. It reads at most EndedLook jobs of
	// all owners, so it may miss some.
	JobVersionsEnded(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]JobVersion, error)
	// LogVersions returns the versions of up to limit of the owner's visible logs, newest
	// first.
	LogVersions(ctx context.Context, owner job.Owner, limit int) ([]LogVersion, error)
	// LogGetMany returns the given logs of the owner, in no particular order,
	// without those that don't exist.
	LogGetMany(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]*job.Log, error)
}

// JobVersion holds the fields of a job that change, as clients see them.
type JobVersion struct {
	Number                                      int64
	ID                                          uuid.UUID
	State                                       job.State
	InsertedAt, ScheduledAt, DueAt, AttemptedAt time.Time
	Size                                        int // see JobSize
}

// LogVersion identifies a log.
type LogVersion struct {
	ID   uuid.UUID
	Job  int64
	Size int // see LogSize
}

// EndedLook is how many jobs JobVersionsEnded reads at most.
const EndedLook = 2000

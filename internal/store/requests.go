package store

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Requests remembers what creates with a request_id were answered with.
type Requests interface {
	// JobRequested returns what is remembered of requests of an owner: an Inserted with
	// Repeated for each that was answered and has not expired, without the Args of its
	// job, and one that is zero for any other.
	JobRequested(ctx context.Context, owner job.Owner, ids []uuid.UUID) ([]Inserted, error)
	// RequestPrune deletes up to limit requests that have expired by a time.
	RequestPrune(ctx context.Context, expired time.Time, limit int) (int, error)
}

// RequestSize is about how many bytes a remembered request takes up.
const RequestSize = 128

// NewRequest is the request_id of a create. While it is remembered, a create with the
// same one stores nothing.
type NewRequest struct {
	ID     uuid.UUID // see job.RequestKey
	Digest []byte    // of the request
	Until  time.Time
	// Answered reports whether the request is answered with a job rather than refused:
	// only then it is remembered. Nil is every job. It must not block.
	Answered func(*Inserted) bool
}

// Answers reports whether a result is remembered.
func (r *NewRequest) Answers(i *Inserted) bool {
	return i.Job != nil && (r.Answered == nil || r.Answered(i))
}

// Request is a remembered request.
type Request struct {
	Account   int64
	ID        uuid.UUID
	Digest    []byte
	Job       uuid.UUID
	ExpiresAt time.Time
}

// Same reports whether the result is of the same request as another with its id.
func (i *Inserted) Same(r *NewRequest) bool { return bytes.Equal(i.Digest, r.Digest) }

// Repeat returns the result of a request that repeats one of the same call.
func (i Inserted) Repeat(first *NewRequest) Inserted {
	if !first.Answers(&i) {
		if i.Job != nil {
			i.Conflict = true
		}
		return i
	}
	shown := *i.Job
	return Inserted{Job: &shown, Conflict: true, Repeated: true, Digest: first.Digest}
}

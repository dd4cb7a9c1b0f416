package store

import (
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// MaxHeld bounds the size of the jobs that hold the keys of a batch, which the
// transaction reads and the response shows. A key of a few bytes can name a job of a
// megabyte. It is twice the largest batch, so that a batch that is sent again is
// answered with the jobs it created.
const MaxHeld = 16 << 20

// TooMuchHeld returns the fault for a batch whose keys are held by more than MaxHeld.
func TooMuchHeld() error {
	return fault.Refuse([]fault.Problem{{Pointer: "#",
		Detail: "has keys that jobs of more than 16 MiB together hold, each counted for every item that names it; " +
			"nothing was stored: send the batch with the header Prefer: return=minimal, or fewer items at a time"}})
}

// KeyHolders are the pending jobs with an idempotency key, as the transaction
// sees them.
type KeyHolders struct {
	Now time.Time // by the store's clock
	// Job holds the key. It is as stored: available or retryable even while
	// claimed. It may be final if it is the latest job of a schedule.
	Job   *job.Job
	Claim *ClaimInfo // the claim on its queue item; nil if there is none
	// Follower waits until Job has ended; nil if none does.
	Follower *job.Job
}

// Size returns the size of the jobs.
func (h *KeyHolders) Size() int {
	size := job.Size(h.Job)
	if h.Follower != nil {
		size += job.Size(h.Follower)
	}
	return size
}

// Resolve decides what a new job whose key is held becomes. It returns the job to
// store, and what to add to its history: a changed copy of Job or of Follower with
// the same ID and Follows, or a copy of the new job that follows Job. Nil stores
// nothing. Only Job and Revisions may be set. It must not block, and may be called
// again if the transaction is retried.
type Resolve func(h *KeyHolders, created *job.Job) *Changes

package store

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

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

// Resolve decides what a new job whose key is held becomes. It returns the job to
// store, and what to add to its history: a changed copy of Job or of Follower with
// the same ID and Follows, or a copy of the new job that follows Job. Nil stores
// nothing. Only Job and Revisions may be set. It must not block, and may be called
// again if the transaction is retried.
type Resolve func(h *KeyHolders, created *job.Job) *Changes

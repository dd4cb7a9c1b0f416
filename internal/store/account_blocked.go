package store

import (
	"context"
	"time"
)

// Blocking suspends accounts and reports those whose queue items must not start.
type Blocking interface {
	// AccountSuspend suspends an account at the given time, for a reason that its
	// owner can see; the zero time resumes it. Suspending it again keeps the time
	// and replaces the reason. It returns a NotFound fault if there is no such
	// account.
	AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error
	// AccountsBlocked returns the numbers, in ascending order, of suspended
	// accounts and of deleted accounts that are not purged yet.
	AccountsBlocked(ctx context.Context) ([]int64, error)
}

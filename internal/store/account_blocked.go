package store

import (
	"context"
	"time"
)

// Blocking suspends accounts and reports those whose runs must not start.
type Blocking interface {
	// AccountSuspend suspends an account at a time, for a reason that its owner
	// is shown; the zero time resumes it. A NotFound fault when there is no such
	// account. Suspending it again keeps the time and replaces the reason.
	AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error
	// AccountsBlocked returns the numbers, in ascending order, of suspended
	// accounts and of deleted accounts that are not purged yet.
	AccountsBlocked(ctx context.Context) ([]int64, error)
}

package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// Caps limit what a create may add to; 0 is unlimited.
type Caps struct {
	Pending   int64 // unfinished one-off jobs of the account
	Schedules int64 // schedules of the account, disabled ones included
	Full      bool  // the account stores too many bytes: only duplicates are returned
}

// Quota names a limit of an account.
type Quota string

// The limits of an account.
const (
	QuotaNone      Quota = ""
	QuotaPending   Quota = "pending"
	QuotaSchedules Quota = "schedules"
	QuotaStored    Quota = "stored"
)

// Use is an account's usage of its limits.
type Use struct {
	Pending   int64 // unfinished one-off jobs
	Schedules int64 // schedules, disabled ones included
}

// ByteCursor is a position among the records of an account, for AccountBytes. The
// zero position is before the first.
type ByteCursor struct {
	Part   int       // 0: jobs with their deliveries, 1: schedules, 2: logs, 3: requests
	State  job.State // of the last job counted
	Number int64     // of the last job counted
	ID     uuid.UUID // of the last schedule, log or request counted
}

// ByteParts is how many parts the records of an account have.
const ByteParts = 4

// Quotas stores the limits of accounts and measures their usage.
type Quotas interface {
	// AccountLimit replaces all limits of an account. It returns a NotFound fault
	// if there is no such account.
	AccountLimit(ctx context.Context, account int64, limits identity.Overrides) error
	// AccountUse returns an account's usage, each count up to limit.
	AccountUse(ctx context.Context, account, limit int64) (Use, error)
	// AccountBytes returns the sum of the bytes of up to rows records of an account
	// after a position. Next is the position to continue after; nil at the end. Concurrent
	// changes may or may not be counted.
	AccountBytes(ctx context.Context, account int64, from ByteCursor, rows int) (bytes int64, next *ByteCursor, err error)
}

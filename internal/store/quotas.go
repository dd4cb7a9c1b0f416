package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Overrides are the limits of one account in place of the service's; nil: the
// service's limit holds. 0 is unlimited.
type Overrides struct {
	Pending   *int64   // unfinished one-off jobs
	Schedules *int64   // schedules, disabled ones included
	Stored    *int64   // bytes of records
	Rate      *float64 // API calls a second
}

// Caps limit what a create may add to; 0 is unlimited.
type Caps struct {
	Pending   int64 // unfinished one-off jobs of the account
	Schedules int64 // schedules of the account, disabled ones included
	Full      bool  // the account holds too many bytes: only duplicates are answered
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

// Use is how much of its limits an account uses.
type Use struct {
	Pending   int64 // unfinished one-off jobs
	Schedules int64 // schedules, disabled ones included
}

// ByteMark is a place among the records of an account, for AccountBytes. The
// zero mark is the beginning.
type ByteMark struct {
	Part   int       // 0: jobs with their deliveries, 1: schedules, 2: logs
	State  job.State // of the last job added up
	Number int64     // of the last job added up
	ID     uuid.UUID // of the last schedule or log added up
}

// ByteParts is how many parts the records of an account have.
const ByteParts = 3

// Quotas keeps the limits of accounts and measures what they hold. The
// functions that change an account return a NotFound fault when there is no
// such account.
type Quotas interface {
	// AccountLimit sets the limits of one account, all of them.
	AccountLimit(ctx context.Context, account int64, limits Overrides) error
	// AccountUse counts what an account holds, each up to limit.
	AccountUse(ctx context.Context, account, limit int64) (Use, error)
	// AccountBytes adds up the bytes of up to rows records of an account behind
	// a mark. Next is the mark to continue behind; nil at the end. Concurrent
	// changes may be counted or not.
	AccountBytes(ctx context.Context, account int64, from ByteMark, rows int) (bytes int64, next *ByteMark, err error)
}

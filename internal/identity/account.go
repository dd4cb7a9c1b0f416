package identity

import (
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Account owns records.
type Account struct {
	job.Owner
	Email     string
	CreatedAt time.Time
	Secrets   []Secret // newest first, without expired ones
	// TokenKeys are the keys that sign tokens for receivers of the QStash API: the
	// current and the next one, separated by a space, or encrypted. "" until they are
	// needed; still encrypted if package secret could not decrypt them.
	TokenKeys string
	Operator  bool
	Origin    Origin
	DeletedAt time.Time // a deleted account's row remains, so that its number and ID are not reused
	Limits    Overrides // its own limits
	// SuspendedAt is when the account was suspended, SuspendedFor the reason its
	// owner can see. They are zero and "" while it is not suspended.
	SuspendedAt  time.Time
	SuspendedFor string
}

// Origin is how an account was made. It is stored.
type Origin int

// The origins of accounts.
const (
	OriginUnknown Origin = 0 // stored before origins were
	OriginKnown   Origin = 1 // by an operator, by invite, or as the first
	OriginOpen    Origin = 2 // through open sign-up, by anyone
	OriginShared  Origin = 3 // of the public key: nobody signs in, so it has no owner
)

// Secret is a signing secret of an account.
type Secret struct {
	Value     string // "whsec_…", or encrypted; "" if package secret could not decrypt it
	CreatedAt time.Time
	ExpiresAt time.Time // zero: until it is rotated
}

// MaxSecrets is the maximum number of signing secrets of an account.
const MaxSecrets = 10

// Overrides are an account's own limits. Nil means the service's limit, 0
// unlimited.
type Overrides struct {
	Pending   *int64   // unfinished one-off jobs
	Schedules *int64   // schedules, disabled ones included
	Stored    *int64   // bytes of records
	Rate      *float64 // API calls a second
}

// RecordCounts counts the records of an account.
type RecordCounts struct {
	Pending, Final, Schedules, Logs int64
}

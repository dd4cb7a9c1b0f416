package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Account owns records.
type Account struct {
	job.Owner
	Email     string
	CreatedAt time.Time
	Secrets   []Secret // newest first; without those past their time
	Password  string   // the password's hash, as auth writes it; "" when nobody can sign in
	Operator  bool
	DeletedAt time.Time // what is left of a deleted account keeps its number and id from being given again
	TOTP      *TOTP     // the second factor; nil when there is none
	Limits    Overrides // its own limits
	// SuspendedAt is when the account was suspended, and SuspendedFor the reason
	// its owner is shown; zero and "" while it is not.
	SuspendedAt  time.Time
	SuspendedFor string
}

// Secret is a signing secret of an account.
type Secret struct {
	Value     string // "whsec_…"
	CreatedAt time.Time
	ExpiresAt time.Time // zero: until it is rotated
}

// Key is an API key. The key itself is not kept, only its hash.
type Key struct {
	ID         uuid.UUID
	Account    int64
	Name       string
	Prefix     string // the first characters, to recognise it by
	Hash       []byte // SHA-256 of the key
	CreatedAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
	Scope      Scope
	ExpiresAt  time.Time // zero: never
	CIDRs      []string  // the networks it can be used from, in canonical form; nil: any
}

// Scope is what a key permits. Each scope includes those before it.
type Scope string

// The scopes of keys.
const (
	ScopeRead  Scope = "read"  // reading jobs, schedules, logs and statistics
	ScopeJobs  Scope = "jobs"  // creating and changing jobs and schedules
	ScopeAdmin Scope = "admin" // the account itself: keys, signing secrets, audit log
)

// MaxSecrets is how many signing secrets an account has at most.
const MaxSecrets = 10

// MaxKeysEnded is how many revoked keys of an account stay listed, the latest.
const MaxKeysEnded = 200

// Accounts keeps accounts, their keys and secrets.
type Accounts interface {
	// AccountInsert stores an account with its secrets and gives it its
	// number; an Invalid fault when the email is taken.
	AccountInsert(ctx context.Context, a *Account) error
	// AccountGet reads an account by email; a NotFound fault when there is none.
	AccountGet(ctx context.Context, email string) (*Account, error)
	// AccountOf reads an account by its number.
	AccountOf(ctx context.Context, number int64) (*Account, error)
	// AccountList reads all accounts in the order they were made, what is left of
	// deleted ones among them.
	AccountList(ctx context.Context) ([]*Account, error)
	// SecretAdd stores a new secret and lets the others end at a time. It deletes
	// those that have ended, and all but the latest MaxSecrets: each signs every
	// request.
	SecretAdd(ctx context.Context, account int64, s Secret, othersEnd time.Time) error

	// KeyInsert stores a key, and deletes the account's revoked keys but the
	// latest MaxKeysEnded.
	KeyInsert(ctx context.Context, k *Key) error
	// KeyFind reads an unrevoked key by its hash; a NotFound fault when there is none.
	KeyFind(ctx context.Context, hash []byte) (*Key, error)
	// KeyGet reads a key by its ID, revoked or not; a NotFound fault when there is none.
	KeyGet(ctx context.Context, id uuid.UUID) (*Key, error)
	KeyList(ctx context.Context, account int64) ([]*Key, error)
	// KeyRevoke ends a key; a NotFound fault when there is none. A second call
	// keeps the first time.
	KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error
	// KeyUsed notes when keys were last used.
	KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error
}

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
	Secrets   []Secret // newest first, without expired ones
	Password  string   // the password's hash, as auth writes it; "" when nobody can sign in
	Operator  bool
	DeletedAt time.Time // a deleted account's row remains, so that its number and ID are not reused
	TOTP      *TOTP     // the second factor; nil when there is none
	Limits    Overrides // its own limits
	// SuspendedAt is when the account was suspended, SuspendedFor the reason its
	// owner can see. They are zero and "" while it is not suspended.
	SuspendedAt  time.Time
	SuspendedFor string
}

// Secret is a signing secret of an account.
type Secret struct {
	Value     string // "whsec_…", or encrypted; "" if package secret could not decrypt it
	CreatedAt time.Time
	ExpiresAt time.Time // zero: until it is rotated
}

// Key is an API key. Only the key's hash is stored.
type Key struct {
	ID         uuid.UUID
	Account    int64
	Name       string
	Prefix     string // the first characters, for display
	Hash       []byte // SHA-256 of the key
	CreatedAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
	Scope      Scope
	ExpiresAt  time.Time // zero: never
	CIDRs      []string  // the networks that may use it, in canonical form; nil: any
}

// Scope is what a key permits. Each scope includes those before it.
type Scope string

// The scopes of keys.
const (
	ScopeRead  Scope = "read"  // reading jobs, schedules, logs and statistics
	ScopeJobs  Scope = "jobs"  // creating and changing jobs and schedules
	ScopeAdmin Scope = "admin" // the account itself: keys, signing secrets, audit log
)

// MaxSecrets is the maximum number of signing secrets of an account.
const MaxSecrets = 10

// MaxKeysEnded is how many revoked and expired keys of an account are kept.
const MaxKeysEnded = 200

// Accounts stores accounts, their keys and secrets.
type Accounts interface {
	// AccountInsert stores an account with its secrets and sets its number. It
	// returns an Invalid fault if the email is taken.
	AccountInsert(ctx context.Context, a *Account) error
	// AccountGet returns the account with an email, or a NotFound fault.
	AccountGet(ctx context.Context, email string) (*Account, error)
	// AccountOf returns the account with a number, or a NotFound fault.
	AccountOf(ctx context.Context, number int64) (*Account, error)
	// AccountList returns all accounts in order of creation, including deleted
	// ones. It is not bounded.
	AccountList(ctx context.Context) ([]*Account, error)
	// SecretAdd stores a new secret and makes the others expire at othersEnd at
	// the latest. It deletes expired secrets and all but the latest MaxSecrets,
	// because every request is signed with each of them.
	SecretAdd(ctx context.Context, account int64, s Secret, othersEnd time.Time) error

	// KeyInsert stores a key, and deletes the account's revoked and expired keys
	// except the latest MaxKeysEnded.
	KeyInsert(ctx context.Context, k *Key) error
	// KeyFind returns the unrevoked key with a hash, expired or not, or a NotFound
	// fault.
	KeyFind(ctx context.Context, hash []byte) (*Key, error)
	// KeyGet returns the key with an ID, revoked or not, or a NotFound fault.
	KeyGet(ctx context.Context, id uuid.UUID) (*Key, error)
	// KeyList returns an account's keys, revoked ones included, in order of
	// creation.
	KeyList(ctx context.Context, account int64) ([]*Key, error)
	// KeyRevoke revokes a key at the given time, or returns a NotFound fault.
	// Revoking it again keeps the first time.
	KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error
	// KeyUsed records when keys were last used. It ignores keys that don't exist.
	KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error
}

package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// AccountIDs finds accounts by what strangers know of them.
type AccountIDs interface {
	// AccountWithID returns the account with an ID that is not deleted, or a NotFound fault.
	AccountWithID(ctx context.Context, id uuid.UUID) (*identity.Account, error)
}

// Accounts stores accounts, their keys and secrets.
type Accounts interface {
	// AccountInsert stores an account with its secrets and sets its number. It
	// returns an Invalid fault if the email is taken.
	AccountInsert(ctx context.Context, a *identity.Account) error
	// AccountGet returns the account with an email, or a NotFound fault.
	AccountGet(ctx context.Context, email string) (*identity.Account, error)
	// AccountOf returns the account with a number, or a NotFound fault.
	AccountOf(ctx context.Context, number int64) (*identity.Account, error)
	// AccountList returns all accounts in order of creation, including deleted
	// ones. It is not bounded.
	AccountList(ctx context.Context) ([]*identity.Account, error)
	// SecretAdd stores a new secret and makes the others expire at othersEnd at
	// the latest. It deletes expired secrets and all but the latest MaxSecrets,
	// because every request is signed with each of them.
	SecretAdd(ctx context.Context, account int64, s identity.Secret, othersEnd time.Time) error

	// AccountTokenKeys replaces the token keys of an account that has the given ones,
	// and reports whether it has.
	AccountTokenKeys(ctx context.Context, account int64, before, keys string) (replaced bool, err error)

	// KeyInsert stores a key, and deletes the account's revoked and expired keys
	// except the latest MaxKeysEnded.
	KeyInsert(ctx context.Context, k *identity.Key) error
	// KeyFind returns the unrevoked key with a hash, expired or not, or a NotFound
	// fault.
	KeyFind(ctx context.Context, hash []byte) (*identity.Key, error)
	// KeyGet returns the key with an ID, revoked or not, or a NotFound fault.
	KeyGet(ctx context.Context, id uuid.UUID) (*identity.Key, error)
	// KeyList returns an account's keys, revoked ones included, in order of
	// creation.
	KeyList(ctx context.Context, account int64) ([]*identity.Key, error)
	// KeyRevoke revokes a key at the given time, or returns a NotFound fault.
	// Revoking it again keeps the first time.
	KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error
	// KeyUsed records when keys were last used. It ignores keys that don't exist.
	KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error
}

package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// SigningKeys stores the keys of accounts and of the issuer of tokens. Deleting an
// account deletes its keys.
type SigningKeys interface {
	// SigningKeys returns the keys of an account that have not ended, the one with
	// the highest number first.
	SigningKeys(ctx context.Context, account int64) ([]identity.SigningKey, error)
	// SigningKeyAdd stores a key, unless its account has one with that number, and
	// reports whether it did. Then the account's other keys end at othersEnd at the
	// latest; zero leaves them. It deletes keys of the account that have ended, and
	// those of signing secrets that are gone.
	SigningKeyAdd(ctx context.Context, k *identity.SigningKey, othersEnd time.Time) (added bool, err error)
	// SigningKeyPage returns up to limit keys of all accounts, the issuer's and ended
	// ones included, after one, in order of account and number.
	SigningKeyPage(ctx context.Context, account, number int64, limit int) ([]identity.SigningKey, error)
	// SigningKeyReplace replaces the private key of k by private, unless it has
	// changed since k was read.
	SigningKeyReplace(ctx context.Context, k *identity.SigningKey, private string) error
}

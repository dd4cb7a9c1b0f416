package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// TooManySecrets is the message for exceeding identity.MaxHeaderSecrets.
const TooManySecrets = "the account has 100 secrets, which is the limit; delete one that is not used"

// Encrypted is a stored value that is encrypted, or should be: a header secret,
// which has a name, the token keys of an account, or a signing secret.
type Encrypted struct {
	Account   job.Owner
	Name      string
	Hosts     []string  // of a header secret
	HTTP      bool      // of a header secret
	Tokens    bool      // it is the token keys; see identity.Account
	CreatedAt time.Time // of a signing secret
	Value     string
}

// Reencrypted replaces the value of Encrypted by New.
type Reencrypted struct {
	Encrypted
	New string
}

// HeaderSecrets stores header secrets and which unfinished jobs use them. The
// methods that store jobs record the uses: see job.SecretNames.
type HeaderSecrets interface {
	// SecretPut stores a header secret or replaces the one with its name, whose
	// CreatedAt it keeps and returns in s. It reports whether the secret is new,
	// and returns an Invalid fault if the account would have more than
	// identity.MaxHeaderSecrets, and the fault of putIf.Check if the
	// condition does not hold.
	SecretPut(ctx context.Context, s *identity.HeaderSecret, putIf PutIf) (created bool, err error)
	// SecretsNamed returns the header secrets of an account with the given names,
	// in no order, without those that don't exist.
	SecretsNamed(ctx context.Context, account int64, names []string) ([]*identity.HeaderSecret, error)
	// SecretList returns the header secrets of an account, ordered by the bytes of
	// their names.
	SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error)
	// SecretDelete deletes a header secret unless unfinished jobs use it. It
	// returns how many do, up to limit, or a NotFound fault if there is no such
	// secret.
	SecretDelete(ctx context.Context, account int64, name string, limit int) (uses int, err error)

	// EncryptedSigning returns up to limit signing secrets, of all accounts and
	// expired ones included, after one, in order of account, creation and value.
	EncryptedSigning(ctx context.Context, after Encrypted, limit int) ([]Encrypted, error)
	// EncryptedHeaders returns up to limit header secrets of all accounts after
	// one, in order of account and name.
	EncryptedHeaders(ctx context.Context, after Encrypted, limit int) ([]Encrypted, error)
	// EncryptedTokens returns the token keys of up to limit accounts after one, in order
	// of account, with the Value "" for accounts that have none.
	EncryptedTokens(ctx context.Context, after Encrypted, limit int) ([]Encrypted, error)
	// EncryptedReplace replaces values that have not changed since they were read.
	EncryptedReplace(ctx context.Context, values []Reencrypted) error
}

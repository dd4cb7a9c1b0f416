package identity

import (
	"time"

	"github.com/google/uuid"
)

// Session is a signed-in user's session. Only its token's hash is stored.
type Session struct {
	Hash      []byte // SHA-256 of the token
	Account   int64  // the account that the person looks at
	Person    uuid.UUID
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	Address   string // the client's network address when the session began
	Agent     string // the client's User-Agent then, shortened
	// Provider is where the person signed in; zero for a password.
	Provider ProviderSession
	// Pending is set after the password was correct, until the second factor is
	// given.
	Pending bool
}

// MaxSessions is how many sessions a person may have at once.
const MaxSessions = 100

// TOTP is a person's second factor (RFC 6238).
type TOTP struct {
	Secret      []byte
	CreatedAt   time.Time
	ConfirmedAt time.Time // zero until a code has confirmed it; sign-in asks for codes only then
	LastStep    int64     // the latest time step whose code was accepted
	Recovery    [][]byte  // SHA-256 hashes of the unused recovery codes; nil for none
}

// DecideTOTP replaces a person's second factor inside a transaction. Current
// is nil if there is none; a nil result removes it, an error leaves it as it is.
// DecideTOTP must not block, and may be called again if the transaction is
// retried.
type DecideTOTP func(current *TOTP) (*TOTP, error)

// PasswordChange sets a person's password hash, ends their sessions and may revoke
// the keys of an account.
type PasswordChange struct {
	Person     uuid.UUID
	Password   string    // the hash
	Keep       []byte    // the hash of the session that stays; nil for none
	RevokeKeys time.Time // when the keys of Account are revoked; zero leaves them alone
	Account    int64
}

// Invite lets one person sign up. Only its code's hash is stored.
type Invite struct {
	Hash      []byte // SHA-256 of the code
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Registration is an account to create, with the person whose email it has as its
// owner, under conditions that are checked in the same transaction.
type Registration struct {
	Account  *Account
	Password string // the hash of the person's password
	// EmailState is that of the person's email.
	EmailState EmailState
	// Identity is how an OpenID provider knows the person; nil for none. Its Person is set.
	Identity *Identity
	// Uncounted is the email of an account that does not count as the first.
	Uncounted string
	// FirstOnly returns a Forbidden fault if there is an account already; else
	// the new account becomes an operator's.
	FirstOnly bool
	// Invite is the hash of an invite, which the registration uses up: a NotFound
	// fault if there is no such invite that is unused and has not expired. Nil if
	// no invite is required.
	Invite []byte
}

package identity

import "time"

// Session is a signed-in user's session. Only its token's hash is stored.
type Session struct {
	Hash      []byte // SHA-256 of the token
	Account   int64
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	Address   string // the client's network address when the session began
	Agent     string // the client's User-Agent then, shortened
	// Pending is set after the password was correct, until the second factor is
	// given.
	Pending bool
}

// MaxSessions is how many sessions an account may have at once.
const MaxSessions = 100

// TOTP is an account's second factor (RFC 6238).
type TOTP struct {
	Secret      []byte
	CreatedAt   time.Time
	ConfirmedAt time.Time // zero until a code has confirmed it; sign-in asks for codes only then
	LastStep    int64     // the latest time step whose code was accepted
	Recovery    [][]byte  // SHA-256 hashes of the unused recovery codes; nil for none
}

// DecideTOTP replaces an account's second factor inside a transaction. Current
// is nil if there is none; a nil result removes it, an error leaves it as it is.
// DecideTOTP must not block, and may be called again if the transaction is
// retried.
type DecideTOTP func(current *TOTP) (*TOTP, error)

// PasswordChange sets an account's password hash, ends its sessions and may
// revoke its keys.
type PasswordChange struct {
	Account    int64
	Password   string    // the hash
	Keep       []byte    // the hash of the session that stays; nil for none
	RevokeKeys time.Time // when the account's keys are revoked; zero leaves them alone
}

// Invite lets one person sign up. Only its code's hash is stored.
type Invite struct {
	Hash      []byte // SHA-256 of the code
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Registration is an account to create under conditions, which are checked in
// the same transaction.
type Registration struct {
	Account *Account
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

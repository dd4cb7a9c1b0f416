package store

import (
	"context"
	"time"
)

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

// Size counts the records of an account.
type Size struct {
	Pending, Final, Schedules, Logs int64
}

// Node is a process that runs jobs.
type Node struct {
	Number int64
	// StartedAt and HeartbeatAt, the time of its last heartbeat, are zero on a
	// store for one process.
	StartedAt, HeartbeatAt time.Time
}

// People stores sign-ups, passwords, sessions and invites.
type People interface {
	// AccountRegister stores an account with its secrets and sets its number. It
	// returns an Invalid fault if the email is taken, and the faults that
	// Registration describes; the invite stays unused then.
	AccountRegister(ctx context.Context, r *Registration) error
	// AccountPassword changes a password in one transaction. It returns a NotFound
	// fault if there is no such account.
	AccountPassword(ctx context.Context, change PasswordChange) error
	// AccountTOTP changes an account's second factor. It returns a NotFound fault
	// if there is no such account, and otherwise the error of decide.
	AccountTOTP(ctx context.Context, account int64, decide DecideTOTP) error
	// AccountOperator sets whether an account is an operator's. It returns a
	// NotFound fault if there is no such account.
	AccountOperator(ctx context.Context, account int64, operator bool) error
	// AccountDelete deletes an account with its sessions, keys and secrets. Its
	// email becomes free and is replaced by one that nobody can have. AccountPurge
	// deletes its records. It returns a NotFound fault if there is no such account.
	AccountDelete(ctx context.Context, account int64, at time.Time) error
	// AccountPurge deletes about limit records of a deleted account and returns
	// how many; 0 if no deleted account has any left. An account deleted before
	// settled is marked as purged once it has no records, and is skipped from then
	// on.
	AccountPurge(ctx context.Context, settled time.Time, limit int) (int, error)

	// AccountPage returns up to limit accounts after a number, in order of
	// creation, without their secrets and without deleted accounts.
	AccountPage(ctx context.Context, after int64, limit int) ([]*Account, error)
	// AccountSize counts the records of an account, each kind up to limit.
	AccountSize(ctx context.Context, account int64, limit int) (Size, error)
	// NodeList returns the nodes that are alive.
	NodeList(ctx context.Context) ([]Node, error)

	// SessionInsert stores a session, and deletes the account's sessions except
	// the latest MaxSessions. Pending sessions have a limit of their own, so that
	// someone who knows only the password can't displace the others.
	SessionInsert(ctx context.Context, s *Session) error
	// SessionList returns the sessions of an account that are not pending and have
	// not expired at a time, latest first.
	SessionList(ctx context.Context, account int64, at time.Time) ([]*Session, error)
	// SessionEndOthers deletes the sessions of an account except keep, which may
	// be nil.
	SessionEndOthers(ctx context.Context, account int64, keep []byte) error
	// SessionFind returns a session that has not expired at a time, or a NotFound
	// fault.
	SessionFind(ctx context.Context, hash []byte, at time.Time) (*Session, error)
	// SessionSeen records when a session was last used and sets when it expires.
	SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error
	// SessionDelete deletes a session. A missing session is not an error.
	SessionDelete(ctx context.Context, hash []byte) error
	// SessionPrune deletes up to limit sessions and up to limit invites that
	// expired before a time, and returns how many it deleted.
	SessionPrune(ctx context.Context, before time.Time, limit int) (int, error)

	// InviteInsert stores an invite.
	InviteInsert(ctx context.Context, i *Invite) error
	// InviteFind returns an invite that is unused and has not expired at a time,
	// or a NotFound fault.
	InviteFind(ctx context.Context, hash []byte, at time.Time) (*Invite, error)
}

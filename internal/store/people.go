package store

import (
	"context"
	"time"
)

// Session is a person's being signed in. Its token is not kept, only its hash.
type Session struct {
	Hash      []byte // SHA-256 of the token
	Account   int64
	CreatedAt time.Time
	SeenAt    time.Time
	ExpiresAt time.Time
	Address   string // the client's network address when the session began
	Agent     string // what the client called itself then, shortened
	// Pending: the password was right and the second factor has not been given.
	Pending bool
}

// MaxSessions is how many sessions an account may have at once.
const MaxSessions = 100

// TOTP is an account's second factor (RFC 6238).
type TOTP struct {
	Secret      []byte
	CreatedAt   time.Time
	ConfirmedAt time.Time // zero while no code has confirmed it: sign-in does not ask for one yet
	LastStep    int64     // the latest time step of which a code was accepted
	Recovery    [][]byte  // SHA-256 hashes of the recovery codes that are unused; nil for none
}

// DecideTOTP decides about an account's second factor, nil for none, inside a
// transaction: it returns what takes its place, nil to remove it. An error
// leaves it as it is. It may be called again and must not block.
type DecideTOTP func(current *TOTP) (*TOTP, error)

// PasswordChange sets an account's password hash and ends what knew the old one.
type PasswordChange struct {
	Account    int64
	Password   string    // the hash
	Keep       []byte    // the hash of the session that stays; nil for none
	RevokeKeys time.Time // when the account's keys are revoked; zero leaves them alone
}

// Invite lets one person sign up. Its code is not kept, only its hash.
type Invite struct {
	Hash      []byte // SHA-256 of the code
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Registration is an account to be made under conditions that hold while it is
// stored. An account that may only be the first becomes the operator's.
type Registration struct {
	Account *Account
	// Uncounted is the email of an account that does not count as the first.
	Uncounted string
	// FirstOnly refuses when there is an account, a Forbidden fault; else the
	// account becomes the operator's.
	FirstOnly bool
	// Invite is the hash of an invite, which is used up with this; a NotFound
	// fault when there is no such invite that is unused and not expired. Nil:
	// none is asked for.
	Invite []byte
}

// Size is how much an account has.
type Size struct {
	Pending, Final, Schedules, Logs int64
}

// Node is a process that runs jobs.
type Node struct {
	Number int64
	// StartedAt and BeatAt, when it last said that it lives, are zero on a store
	// for one process.
	StartedAt, BeatAt time.Time
}

// People keeps who may sign in, and who has.
type People interface {
	// AccountRegister stores an account with its secrets, gives it its number
	// and marks one that may only be the first as the operator's; an Invalid fault when the email is
	// taken, which leaves the invite as it is.
	AccountRegister(ctx context.Context, r *Registration) error
	// AccountPassword changes a password in one transaction; a NotFound fault
	// when there is no such account.
	AccountPassword(ctx context.Context, change PasswordChange) error
	// AccountTOTP changes an account's second factor; a NotFound fault when there
	// is no such account, and else the error of decide.
	AccountTOTP(ctx context.Context, account int64, decide DecideTOTP) error
	// AccountOperator says whether an account is an operator's.
	AccountOperator(ctx context.Context, account int64, operator bool) error
	// AccountDelete ends an account: its sessions, keys and secrets are gone, its
	// email is free and is replaced by one that nobody can have. Its records are
	// removed by AccountPurge. A NotFound fault when there is no such account.
	AccountDelete(ctx context.Context, account int64, at time.Time) error
	// AccountPurge removes up to about limit records of a deleted account and
	// tells how many; 0 when nothing is left of any. Accounts deleted before a
	// time of which nothing is left are not looked at again.
	AccountPurge(ctx context.Context, settled time.Time, limit int) (int, error)

	// AccountPage reads up to limit accounts that exist behind a number, in the
	// order they were made, without their secrets.
	AccountPage(ctx context.Context, after int64, limit int) ([]*Account, error)
	// AccountSize counts what an account has, each up to a limit.
	AccountSize(ctx context.Context, account int64, limit int) (Size, error)
	// NodeList reads the nodes that live.
	NodeList(ctx context.Context) ([]Node, error)

	// SessionInsert stores a session, and deletes the account's sessions but the
	// latest MaxSessions. Pending ones are counted apart: who knows the password
	// only can't displace the others.
	SessionInsert(ctx context.Context, s *Session) error
	// SessionList reads the sessions of an account that have not expired at a
	// time and are not pending, the latest first.
	SessionList(ctx context.Context, account int64, at time.Time) ([]*Session, error)
	// SessionEndOthers ends the sessions of an account but one, which may be nil.
	SessionEndOthers(ctx context.Context, account int64, keep []byte) error
	// SessionFind reads a session that has not expired at a time; a NotFound
	// fault when there is none.
	SessionFind(ctx context.Context, hash []byte, at time.Time) (*Session, error)
	// SessionSeen notes that a session was seen and until when it lasts now.
	SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error
	// SessionDelete ends a session; no fault when there is none.
	SessionDelete(ctx context.Context, hash []byte) error
	// SessionPrune deletes up to limit sessions, and as many invites, that
	// expired before a time.
	SessionPrune(ctx context.Context, before time.Time, limit int) (int, error)

	InviteInsert(ctx context.Context, i *Invite) error
	// InviteFind reads an invite that is unused and has not expired at a time; a
	// NotFound fault when there is none.
	InviteFind(ctx context.Context, hash []byte, at time.Time) (*Invite, error)
}

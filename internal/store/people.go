package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
)

// People stores sign-ups, passwords and what becomes of accounts.
type People interface {
	// AccountRegister stores an account with its secrets and sets its number. It
	// returns an Invalid fault if the email is taken, and the faults that
	// Registration describes; the invite stays unused then.
	AccountRegister(ctx context.Context, r *identity.Registration) error
	// AccountPassword changes a password in one transaction. It returns a NotFound
	// fault if there is no such account.
	AccountPassword(ctx context.Context, change identity.PasswordChange) error
	// AccountTOTP changes an account's second factor. It returns a NotFound fault
	// if there is no such account, and otherwise the error of decide.
	AccountTOTP(ctx context.Context, account int64, decide identity.DecideTOTP) error
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
	AccountPage(ctx context.Context, after int64, limit int) ([]*identity.Account, error)
	// AccountSize counts the records of an account, each kind up to limit.
	AccountSize(ctx context.Context, account int64, limit int) (identity.RecordCounts, error)
	// NodeList returns the nodes that are alive.
	NodeList(ctx context.Context) ([]operator.Node, error)
}

// Sessions stores sessions and invites.
type Sessions interface {
	// SessionInsert stores a session, and deletes the account's sessions except
	// the latest MaxSessions. Pending sessions have a limit of their own, so that
	// someone who knows only the password can't displace the others.
	SessionInsert(ctx context.Context, s *identity.Session) error
	// SessionList returns the sessions of an account that are not pending and have
	// not expired at a time, latest first.
	SessionList(ctx context.Context, account int64, at time.Time) ([]*identity.Session, error)
	// SessionEndOthers deletes the sessions of an account except keep, which may
	// be nil.
	SessionEndOthers(ctx context.Context, account int64, keep []byte) error
	// SessionFind returns a session that has not expired at a time, or a NotFound
	// fault.
	SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error)
	// SessionSeen records when a session was last used and sets when it expires.
	SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error
	// SessionDelete deletes a session. A missing session is not an error.
	SessionDelete(ctx context.Context, hash []byte) error
	// SessionPrune deletes up to limit sessions and up to limit invites that
	// expired before a time, and returns how many it deleted.
	SessionPrune(ctx context.Context, before time.Time, limit int) (int, error)

	// InviteInsert stores an invite.
	InviteInsert(ctx context.Context, i *identity.Invite) error
	// InviteFind returns an invite that is unused and has not expired at a time,
	// or a NotFound fault.
	InviteFind(ctx context.Context, hash []byte, at time.Time) (*identity.Invite, error)
}

package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
)

// People stores sign-ups, passwords and what becomes of accounts.
type People interface {
	// AccountRegister stores an account with its secrets and its owner, and sets its
	// number. It returns an Invalid fault if the email is an account's or a person's,
	// and the faults that Registration describes; the invite stays unused then.
	AccountRegister(ctx context.Context, r *identity.Registration) error
	// AccountsAdopt stores the owners of accounts that have none: nodes of versions
	// without people may have made them. It skips the account with one email.
	AccountsAdopt(ctx context.Context, except string) error
	// PersonPassword changes a password in one transaction. It returns a NotFound
	// fault if there is no such person.
	PersonPassword(ctx context.Context, change identity.PasswordChange) error
	// PersonTOTP changes a person's second factor. It returns a NotFound fault if
	// there is no such person, and otherwise the error of decide.
	PersonTOTP(ctx context.Context, person uuid.UUID, decide identity.DecideTOTP) error
	// PersonGet returns the person with an email, or a NotFound fault.
	PersonGet(ctx context.Context, email string) (*identity.Person, error)
	// PersonOf returns the person with an ID, or a NotFound fault.
	PersonOf(ctx context.Context, id uuid.UUID) (*identity.Person, error)
	// AccountOperator sets whether an account is an operator's. It returns a
	// NotFound fault if there is no such account.
	AccountOperator(ctx context.Context, account int64, operator bool) error
	// AccountDelete deletes an account with its members, sessions, keys and secrets,
	// and the persons who belong to no other account. Its email becomes free and is replaced by one that nobody can have. AccountPurge
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

// Sessions stores sessions and invites to sign up.
type Sessions interface {
	// SessionInsert stores a session, and deletes the person's sessions except the
	// latest MaxSessions. It returns a NotFound fault if the person does not belong
	// to the account. Pending sessions have a limit of their own, so that
	// someone who knows only the password can't displace the others.
	SessionInsert(ctx context.Context, s *identity.Session) error
	// SessionList returns the sessions of a person that are not pending and have
	// not expired at a time, latest first.
	SessionList(ctx context.Context, person uuid.UUID, at time.Time) ([]*identity.Session, error)
	// SessionEndOthers deletes the sessions of a person except keep, which may be
	// nil.
	SessionEndOthers(ctx context.Context, person uuid.UUID, keep []byte) error
	// SessionFind returns a session that has not expired at a time, or a NotFound
	// fault.
	SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error)
	// SessionSeen records when a session was last used and sets when it expires.
	SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error
	// SessionSwitch has a session show another account of its person. It returns a
	// NotFound fault if the person does not belong to it.
	SessionSwitch(ctx context.Context, hash []byte, account int64) error
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

package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// Members stores who belongs to which account.
type Members interface {
	// MemberList returns the persons and invitations of an account, in order of their
	// emails.
	MemberList(ctx context.Context, account int64) ([]*identity.Member, error)
	// MembershipList returns the accounts that a person belongs to, the oldest first,
	// without deleted ones.
	MembershipList(ctx context.Context, person uuid.UUID) ([]*identity.Membership, error)
	// MemberRole returns the role of a person in an account, "" for none.
	MemberRole(ctx context.Context, account int64, person uuid.UUID) (identity.Role, error)
	// MemberChange calls decide for the member of an account with an ID or, if that is
	// uuid.Nil, with an email, and applies what it returns. No other change of the
	// account's members overlaps. A person who is deleted loses the sessions in the
	// account, and exists no more if it was their last. It returns a NotFound fault if
	// there is no such account, and otherwise the error of decide.
	MemberChange(ctx context.Context, account int64, id uuid.UUID, email string, decide identity.DecideMember) error
	// MemberInvited returns the invitation with the hash of a code that has not expired
	// at a time, or a NotFound fault.
	MemberInvited(ctx context.Context, hash []byte, at time.Time) (*identity.Member, error)
	// MemberAccept makes a person a member by an invitation. It returns a NotFound
	// fault if there is none that has not expired, a Forbidden fault if it is for
	// another email, an Invalid fault if a new person's email is taken, and a Conflict
	// fault if the person belongs to too many accounts.
	MemberAccept(ctx context.Context, a *identity.Acceptance) (*identity.Member, error)
}

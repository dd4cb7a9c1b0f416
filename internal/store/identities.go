package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// Identities stores how OpenID providers know people, and what follows from that.
type Identities interface {
	// IdentityFind returns the person with an identity, or a NotFound fault.
	IdentityFind(ctx context.Context, issuer, subject string) (*identity.Person, error)
	// IdentityInsert stores an identity of a person. It returns a NotFound fault if there
	// is no such person, and a Conflict fault if the person has another identity of the
	// issuer, or the identity is another person's.
	IdentityInsert(ctx context.Context, i *identity.Identity) error
	// IdentityForget deletes an identity of a person and ends its sessions. It returns a
	// NotFound fault if there is none.
	IdentityForget(ctx context.Context, i *identity.Identity) error
	// PersonConfirm records that a person's email is confirmed. It returns a NotFound
	// fault if there is no such person.
	PersonConfirm(ctx context.Context, person uuid.UUID) error
	// PersonEmail sets the email that a person signs in with, which is then confirmed, and
	// renames the accounts of which the person is an owner and that have the old one. It
	// deletes the links that were sent to the old one. It returns a NotFound fault if there is
	// no such person, and an Invalid fault if another person or account has the email.
	PersonEmail(ctx context.Context, person uuid.UUID, email string) error
	// MemberJoin makes a person a member of an account and returns the membership, also
	// one that exists. An invitation of the person is used up. It returns a NotFound fault
	// if there is no such account, and a Conflict fault if the account has too many
	// members, the person too many accounts, or somebody has just signed up with the same
	// email or identity.
	MemberJoin(ctx context.Context, j *identity.Joining) (*identity.Member, error)
	// SessionLogout ends the sessions that a logout token names and returns how many. It
	// returns a Conflict fault if the token was used before.
	SessionLogout(ctx context.Context, l *identity.Logout) (int, error)
}

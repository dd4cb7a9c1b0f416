package store

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// MailTokens stores the links that people get by e-mail.
type MailTokens interface {
	// MailTokenPut stores a token, in place of the one that the person has for the same
	// purpose. It returns a NotFound fault if there is no such person.
	MailTokenPut(ctx context.Context, m *identity.MailToken) error
	// MailTokenFind returns a token that was sent for a purpose and has not expired at a
	// time, or a NotFound fault.
	MailTokenFind(ctx context.Context, hash []byte, purpose identity.Purpose, at time.Time) (*identity.MailToken, error)
	// MailTokenUse deletes all tokens of the person whom a token was sent to, records that
	// the email is confirmed, and may set a password and end all sessions, or set the email
	// as PersonEmail does. It returns a NotFound fault if there is no such token that has not
	// expired, and an Invalid fault if another person or account has the email.
	MailTokenUse(ctx context.Context, use *identity.MailTokenUse) error
}

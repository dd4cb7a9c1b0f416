package identity

import (
	"time"

	"github.com/google/uuid"
)

// Purpose is what a link that a person gets by e-mail is for. It is stored.
type Purpose string

// The purposes of links.
const (
	ForConfirmation Purpose = "confirm" // to confirm that the person owns the email
	ForReset        Purpose = "reset"   // to set a password without the old one
	ForChange       Purpose = "change"  // to sign in with the email that the link was sent to, in place of the old one
	ForNotice       Purpose = "notice"  // to tell the old email that it was replaced; no token is stored
)

// MailToken is a link that was sent to a person. Only its token's hash is stored.
type MailToken struct {
	Person    uuid.UUID
	Purpose   Purpose
	Email     string // the new one, of a link ForChange; else ""
	Hash      []byte // SHA-256 of the token
	ExpiresAt time.Time
}

// MailTokenUse uses a link up. One ForChange sets the person's email.
type MailTokenUse struct {
	Hash     []byte // of the token
	Purpose  Purpose
	At       time.Time
	Password string // the hash of a new password, whose setting ends all sessions; "" for none
}

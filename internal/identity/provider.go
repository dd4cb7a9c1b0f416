package identity

import (
	"time"

	"github.com/google/uuid"
)

// Identity is how an OpenID provider knows a person: its issuer and subject (OpenID
// Connect Core 1.0, section 5.7). An e-mail address may change, and may go to somebody
// else; an identity does neither.
type Identity struct {
	Issuer    string
	Subject   string // up to MaxSubject bytes
	Person    uuid.UUID
	CreatedAt time.Time
}

// MaxSubject is how many bytes a subject, or the ID of a provider's session, may have.
const MaxSubject = 255

// ProviderSession is the session at an OpenID provider that a session came from.
type ProviderSession struct {
	Issuer  string // "" for a session that a password began
	Subject string
	SID     string // the provider's ID of its session; "" if it names none
}

// Joining makes a person a member of an account without an invitation.
type Joining struct {
	Account int64
	Person  *Person
	New     bool // the person isn't stored yet
	// Identity is stored with the person; nil for none.
	Identity *Identity
	Role     Role
	// Invited prefers the role of an invitation for the person's email, if there is one.
	Invited bool
	At      time.Time
}

// Logout ends the sessions that a logout token of an OpenID provider names.
type Logout struct {
	Issuer  string
	Subject string // "" if only SID is known
	SID     string // ""  for all sessions of the subject
	// Token is the hash of the token's ID, which works once until Expires.
	Token   []byte
	Expires time.Time
	// Before limits it to sessions that began until then.
	Before time.Time
}

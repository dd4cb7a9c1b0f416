package identity

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
)

// Role is what a person may do in an account. Each role includes those before it.
type Role string

// The roles of persons.
const (
	RoleViewer Role = "viewer" // see jobs, schedules, logs and statistics
	RoleEditor Role = "editor" // create and change jobs and schedules
	RoleAdmin  Role = "admin"  // keys, secrets, the audit log and people
	RoleOwner  Role = "owner"  // owners, and the account itself
)

// Roles are the roles of persons. Each includes those before it.
var Roles = []Role{RoleViewer, RoleEditor, RoleAdmin, RoleOwner}

// Includes reports whether a role permits what another does. An unknown role permits
// nothing, and nothing permits what needs one.
func (r Role) Includes(needed Role) bool {
	have, need := slices.Index(Roles, r), slices.Index(Roles, needed)
	return need >= 0 && have >= need
}

// Person signs in. A person exists as long as they belong to an account.
type Person struct {
	ID        uuid.UUID
	Email     string
	CreatedAt time.Time
	Password  string // the password's hash, as auth writes it; "" when there is none
	TOTP      *TOTP  // the second factor; nil when there is none
	// EmailState is what is known of the email.
	EmailState EmailState
	// Identities are how OpenID providers know the person.
	Identities []Identity
	// Home is the person's oldest account. Its audit log has what concerns the
	// person's credentials. Zero if they belong to none any more.
	Home job.Owner
}

// EmailState is what is known of a person's email. It is stored.
type EmailState int

// The states of emails.
const (
	EmailUnknown   EmailState = 0 // nobody has confirmed it, and nobody has to
	EmailPending   EmailState = 1 // it must be confirmed before the person signs in
	EmailConfirmed EmailState = 2 // by a link that was sent there, or by an OpenID provider
)

// Member is a person in an account, or an invitation to become one.
type Member struct {
	ID        uuid.UUID
	Account   int64
	Person    uuid.UUID // uuid.Nil until the invitation is accepted
	Email     string
	Role      Role
	CreatedAt time.Time
	// Hash is the SHA-256 of the code in the link of an invitation, and ExpiresAt when
	// it stops working; nil and zero for a person.
	Hash      []byte
	ExpiresAt time.Time
}

// Invited reports whether nobody has accepted the invitation yet.
func (m *Member) Invited() bool { return m.Person == uuid.Nil }

const (
	// MaxMembers is how many persons and invitations an account may have.
	MaxMembers = 200
	// MaxMemberships is how many accounts a person may belong to.
	MaxMemberships = 100
)

// Membership is an account of a person.
type Membership struct {
	Account job.Owner
	Email   string // the account's
	Role    Role
}

// MemberState is the input of a DecideMember.
type MemberState struct {
	// Member has the ID or, for an invitation, the email that the call names; nil if
	// there is none.
	Member *Member
	Owners int // the owners, without invitations
	All    int // persons and invitations
}

// DecideMember decides what becomes of a member inside a transaction: a Member to
// store, or nil to delete it. An error leaves everything as it is. It must not block,
// and may be called again if the transaction is retried.
type DecideMember func(*MemberState) (*Member, error)

// Acceptance is the acceptance of an invitation.
type Acceptance struct {
	Hash []byte // of the code
	// Person accepts; one that isn't stored yet is stored if New is set.
	Person *Person
	New    bool
	// Identity is stored with a new person; nil for none.
	Identity *Identity
	At       time.Time
}

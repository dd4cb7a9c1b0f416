package identity

import (
	"time"

	"github.com/google/uuid"
)

// Key is an API key. Only the key's hash is stored.
type Key struct {
	ID         uuid.UUID
	Account    int64
	Name       string
	Prefix     string // the first characters, for display
	Hash       []byte // SHA-256 of the key
	CreatedAt  time.Time
	LastUsedAt time.Time
	RevokedAt  time.Time
	Scope      Scope
	ExpiresAt  time.Time // zero: never
	CIDRs      []string  // the networks that may use it, in canonical form; nil: any
	// MadeBy is who made the key: a person's email, or the prefix of another key; ""
	// for the command line, and if it isn't known.
	MadeBy string
	// Ceiling is the role of who made the key: it permits no more. "" for an owner's.
	Ceiling Role
}

// Role returns what a key permits, as the role of a person.
func (k *Key) Role() Role {
	switch {
	case k.Scope == ScopeRead:
		return RoleViewer
	case k.Scope == ScopeJobs:
		return RoleEditor
	case k.Scope != ScopeAdmin:
		return ""
	case k.Ceiling == "":
		return RoleOwner
	}
	return k.Ceiling
}

// Scope is what a key permits. Each scope includes those before it.
type Scope string

// The scopes of keys.
const (
	ScopeRead  Scope = "read"  // reading jobs, schedules, logs and statistics
	ScopeJobs  Scope = "jobs"  // creating and changing jobs and schedules
	ScopeAdmin Scope = "admin" // the account itself: keys, signing secrets, audit log
)

// MaxKeysEnded is how many revoked and expired keys of an account are kept.
const MaxKeysEnded = 200

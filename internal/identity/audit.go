package identity

import (
	"time"

	"github.com/google/uuid"
)

// AuditEntry is an entry of the audit log: a change of who may do what, an attempt
// at one, or an edit.
type AuditEntry struct {
	ID         uuid.UUID // time-ordered
	Account    int64     // the number of the account; 0 for the service as a whole
	InsertedAt time.Time
	LastAt     time.Time // of the latest repetition
	Event      string
	ActorKind  string // see package audit
	ActorName  string
	Address    string // the client's network address; "" when there is none
	Detail     string
	Count      int64 // how often it happened, 1 or more
	// Slot identifies repetitions; "" for entries that are never merged. An entry
	// with the slot of an earlier one increments that one's Count and replaces its
	// Detail and Address. Entries with a slot have a limit of their own, so that
	// they can't displace the others.
	Slot string
	// Edit is set for edits of the account's records. They have a limit of their own
	// and no slot.
	Edit bool
	// Seq numbers the entries of an account, each class separately. The store assigns
	// it; copies keep it.
	Seq int64
}

const (
	// MaxAudits is how many entries without a slot are kept for an account, edits
	// aside.
	MaxAudits = 10_000
	// MaxAuditSlots is how many entries with a slot are kept for an account.
	MaxAuditSlots = 1000
	// MaxAuditEdits is how many edits are kept for an account.
	MaxAuditEdits = 2000
)

// auditEdits is the class of edits.
const auditEdits = 2

// Class returns 2 for an edit, 1 for an entry with a slot and 0 for others, and how
// many entries of that class are kept for an account.
func (a *AuditEntry) Class() (class, bound int) {
	switch {
	case a.Edit:
		return auditEdits, MaxAuditEdits
	case a.Slot != "":
		return 1, MaxAuditSlots
	}
	return 0, MaxAudits
}

// SetClass sets what a stored class says about an entry.
func (a *AuditEntry) SetClass(class int64) { a.Edit = class == auditEdits }

// AuditSize returns the size of an entry of the audit log.
func AuditSize(a *AuditEntry) int { return len(a.ActorName) + len(a.Address) + len(a.Detail) }

// Position returns where the page after an entry begins; see job.ReadPage.
func (a *AuditEntry) Position() (number int64, id uuid.UUID) { return 0, a.ID }

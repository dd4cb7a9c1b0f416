package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Audit is an entry of the audit log: something that changed who may do what,
// or tried to.
type Audit struct {
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
	// Slot, when it is not "", is what repetitions have in common: an entry with
	// the slot of an earlier one is counted there, and takes over its Detail and
	// Address. Entries with a slot are bounded apart from the others, so that they
	// can't displace them.
	Slot string
	// Seq numbers the entries of an account with a slot, and those without. The
	// store gives it; copies keep it.
	Seq int64
}

const (
	// MaxAudits is how many entries without a slot an account keeps, the latest.
	MaxAudits = 10_000
	// MaxAuditSlots is how many entries with a slot an account keeps.
	MaxAuditSlots = 1000
)

// Class returns how stores tell entries with a slot (1) from those without (0),
// and how many of them an account keeps.
func (a *Audit) Class() (class, bound int) {
	if a.Slot != "" {
		return 1, MaxAuditSlots
	}
	return 0, MaxAudits
}

// Audits keeps the audit log.
type Audits interface {
	// AuditInsert stores an entry, or counts it in the one that has its slot, and
	// deletes what exceeds MaxAudits and MaxAuditSlots. An account that is gone
	// gets no entry.
	AuditInsert(ctx context.Context, a *Audit) error
	// AuditList reads up to limit entries of an account behind an ID, the latest
	// first; uuid.Nil is the beginning. Event "" selects all.
	AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*Audit, error)
	// AuditPrune deletes up to limit entries last repeated before a time.
	AuditPrune(ctx context.Context, before time.Time, limit int) (int, error)
}

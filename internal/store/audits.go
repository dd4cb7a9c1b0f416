package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// Audits stores the audit log.
type Audits interface {
	// AuditInsert stores an entry, or merges it into the one with its slot, and
	// deletes the oldest entries beyond MaxAudits, MaxAuditSlots and MaxAuditEdits. It does
	// nothing if the account is gone.
	AuditInsert(ctx context.Context, a *identity.AuditEntry) error
	// AuditList returns up to limit entries of an account that follow the entry
	// after, latest first; uuid.Nil starts with the latest. Event "" selects all.
	AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*identity.AuditEntry, error)
	// AuditPrune deletes up to limit entries last repeated before a time, and
	// returns how many it deleted.
	AuditPrune(ctx context.Context, before time.Time, limit int) (int, error)
}

package sqlite

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/identity"
)

// AuditInsert implements store.Audits.
func (s *Store) AuditInsert(ctx context.Context, a *identity.AuditEntry) error {
	class, bound := a.Class()
	return s.write(ctx, func(t *tx) error {
		if a.Slot != "" {
			err := t.exec(`UPDATE audits SET count = count + ?, last_at = max(last_at, ?), address = ?, detail = ? WHERE account = ? AND slot = ?`,
				a.Count, a.LastAt, a.Address, a.Detail, a.Account, a.Slot)
			if err != nil {
				return fmt.Errorf("updating an entry of the audit log: %w", err)
			}
			if t.changed() > 0 {
				return nil
			}
		}
		err := t.exec(`INSERT INTO audits (account, class, seq, id, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at)
			SELECT ?1, ?2, coalesce((SELECT max(seq) FROM audits WHERE account = ?1 AND class = ?2), 0) + 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12
			WHERE ?1 = 0 OR EXISTS (SELECT 1 FROM accounts WHERE number = ?1 AND deleted_at IS NULL)`,
			a.Account, class, a.ID, orNull(a.Slot), a.Event, a.ActorKind, a.ActorName, a.Address, a.Detail, a.Count, a.InsertedAt, a.LastAt)
		if err != nil {
			return fmt.Errorf("inserting an entry of the audit log: %w", err)
		}
		err = t.exec(`DELETE FROM audits WHERE account = ?1 AND class = ?2 AND seq <= (SELECT max(seq) FROM audits WHERE account = ?1 AND class = ?2) - ?3`,
			a.Account, class, bound)
		if err != nil {
			return fmt.Errorf("deleting surplus entries of the audit log: %w", err)
		}
		return nil
	})
}

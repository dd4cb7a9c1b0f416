package postgres

import (
	"context"
	"fmt"

	"github.com/punctual-dev/punctual/internal/identity"
)

// AuditInsert implements store.Audits. Incrementing the account's counter locks
// it, so numbers are unique.
func (s *Store) AuditInsert(ctx context.Context, a *identity.AuditEntry) error {
	class, bound := a.Class()
	err := s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `WITH u AS (
					UPDATE audits SET count = count + $11, last_at = greatest(last_at, $13), address = $8, detail = $10
					WHERE account = (SELECT $1::bigint) AND slot = $4 RETURNING 1),
				n AS (
					INSERT INTO audit_counts (account, class, last) SELECT $1, $2, 1
					WHERE NOT EXISTS (SELECT FROM u) AND ($1 = 0 OR EXISTS (SELECT FROM accounts WHERE number = $1 AND deleted_at IS NULL))
					ON CONFLICT (account, class) DO UPDATE SET last = audit_counts.last + 1 RETURNING last),
				i AS (
					INSERT INTO audits (account, class, seq, id, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at)
					SELECT $1, $2, n.last, $3, $4, $5, $6, $7, $8, $10, $11, $12, $13 FROM n
					ON CONFLICT (account, slot) WHERE slot IS NOT NULL DO UPDATE
					SET count = audits.count + excluded.count, last_at = greatest(audits.last_at, excluded.last_at),
						address = excluded.address, detail = excluded.detail)
				DELETE FROM audits d WHERE d.account = (SELECT $1::bigint) AND d.class = $2 AND d.seq <= (SELECT n.last - $9 FROM n)`,
			args: []any{a.Account, class, a.ID, orNull(text(a.Slot)), text(a.Event), text(a.ActorKind), text(a.ActorName), text(a.Address),
				int64(bound),
				text(a.Detail), a.Count, a.InsertedAt.UnixMicro(), a.LastAt.UnixMicro()},
		})
	})
	if err != nil {
		return fmt.Errorf("inserting an entry of the audit log: %w", err)
	}
	return nil
}

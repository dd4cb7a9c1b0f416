package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

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
			args: []any{a.Account, class, a.ID, orNull(text(a.Slot)), text(a.Event), text(a.ActorKind), text(a.ActorName), text(a.Address), int64(bound),
				text(a.Detail), a.Count, a.InsertedAt.UnixMicro(), a.LastAt.UnixMicro()},
		})
	})
	if err != nil {
		return fmt.Errorf("inserting an entry of the audit log: %w", err)
	}
	return nil
}

// AuditList implements store.Audits.
func (s *Store) AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	return s.auditsWhere(ctx, pages, `account = (SELECT $1::bigint) AND ($2::uuid IS NULL OR id < $2) AND ($3 = '' OR event = $3) ORDER BY id DESC LIMIT $4`,
		account, id(after), event, limit)
}

func (s *Store) auditsWhere(ctx context.Context, of class, where string, args ...any) (entries []*identity.AuditEntry, err error) {
	err = s.readAs(ctx, of, query{
		sql: `SELECT id, account, coalesce(slot, ''), event, actor_kind, actor_name, address, detail, count, inserted_at, last_at, seq, class
			FROM audits WHERE ` + where,
		args: args, start: func() { entries = nil },
		row: func(rows pgx.Rows) error {
			a := &identity.AuditEntry{}
			entries = append(entries, a)
			var class int64
			defer func() { a.SetClass(class) }()
			return rows.Scan(idOf{&a.ID}, &a.Account, &a.Slot, &a.Event, &a.ActorKind, &a.ActorName, &a.Address, &a.Detail, &a.Count,
				timeOf{&a.InsertedAt}, timeOf{&a.LastAt}, &a.Seq, &class)
		},
	})
	return entries, err
}

// AuditPage implements store.Copyable.
func (s *Store) AuditPage(ctx context.Context, account int64, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	return s.auditsWhere(ctx, engine, `(account, id) > ($1, $2::uuid) ORDER BY account, id LIMIT $3`, account, after, limit)
}

func copyAudits(audits []*identity.AuditEntry) []query {
	var queries []query
	for _, a := range audits {
		class, _ := a.Class()
		queries = append(queries, query{
			sql: `INSERT INTO audits (account, class, seq, id, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING`,
			args: []any{a.Account, class, a.Seq, a.ID, orNull(text(a.Slot)), text(a.Event), text(a.ActorKind), text(a.ActorName), text(a.Address),
				text(a.Detail), a.Count, a.InsertedAt.UnixMicro(), a.LastAt.UnixMicro()},
		})
	}
	return queries
}

// AuditPrune implements store.Audits.
func (s *Store) AuditPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.prune(ctx, `DELETE FROM audits d USING (SELECT account, class, seq FROM audits WHERE last_at < $1 ORDER BY last_at LIMIT $2 FOR UPDATE SKIP LOCKED) o
		WHERE d.account = o.account AND d.class = o.class AND d.seq = o.seq RETURNING 1`, before.UnixMicro(), limit)
}

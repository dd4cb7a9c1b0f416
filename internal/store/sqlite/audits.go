package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
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

// AuditList implements store.Audits.
func (s *Store) AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	where, args := `account = ?`, []any{account}
	if after != uuid.Nil {
		where, args = where+` AND id < ?`, append(args, after)
	}
	if event != "" {
		where, args = where+` AND event = ?`, append(args, event)
	}
	return s.auditsWhere(ctx, pages, where+` ORDER BY id DESC LIMIT ?`, append(args, limit)...)
}

func (s *Store) auditsWhere(ctx context.Context, of class, where string, args ...any) (entries []*identity.AuditEntry, err error) {
	err = s.readAs(ctx, of, func(t *tx) error {
		return t.query(`SELECT id, account, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at, seq, class
			FROM audits INDEXED BY audits_list WHERE `+where, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			a := &identity.AuditEntry{
				ID: c.uuid(), Account: c.int64(), Slot: c.text(), Event: c.text(), ActorKind: c.text(), ActorName: c.text(),
				Address: c.text(), Detail: c.text(), Count: c.int64(), InsertedAt: c.time(), LastAt: c.time(), Seq: c.int64(),
			}
			a.SetClass(c.int64())
			entries = append(entries, a)
			return nil
		}, args...)
	})
	return entries, err
}

// AuditPage implements store.Copyable.
func (s *Store) AuditPage(ctx context.Context, account int64, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	return s.auditsWhere(ctx, background, `(account, id) > (?, ?) ORDER BY account, id LIMIT ?`, account, after[:], limit)
}

func (t *tx) copyAudits(r *store.Records) error {
	for _, a := range r.Audits {
		class, _ := a.Class()
		err := t.exec(`INSERT INTO audits (account, class, seq, id, slot, event, actor_kind, actor_name, address, detail, count, inserted_at, last_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			a.Account, class, a.Seq, a.ID, orNull(a.Slot), a.Event, a.ActorKind, a.ActorName, a.Address, a.Detail, a.Count, a.InsertedAt, a.LastAt)
		if err != nil {
			return err
		}
	}
	return nil
}

// AuditPrune implements store.Audits.
func (s *Store) AuditPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM audits WHERE (account, class, seq) IN (SELECT account, class, seq FROM audits WHERE last_at < ? ORDER BY last_at LIMIT ?)`, before, limit)
		if err != nil {
			return fmt.Errorf("deleting old entries of the audit log: %w", err)
		}
		n = t.changed()
		return nil
	})
	return n, err
}

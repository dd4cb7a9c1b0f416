package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/operator"
)

// TargetBlock implements store.Targets.
func (s *Store) TargetBlock(ctx context.Context, b *operator.TargetBlock) error {
	return s.write(ctx, func(t *tx) error {
		full := false
		err := t.query(`SELECT count(*) >= ? FROM blocked_targets WHERE target <> ?`, func(stmt *sqlite.Stmt) error {
			full = stmt.ColumnBool(0)
			return nil
		}, operator.MaxTargetBlocks, b.Target)
		if err != nil {
			return fmt.Errorf("counting blocked targets: %w", err)
		}
		if full {
			return fault.New(fault.Invalid, operator.TooManyBlocks)
		}
		return t.query(`INSERT INTO blocked_targets (target, reason, blocked_at) VALUES (?, ?, ?)
			ON CONFLICT (target) DO UPDATE SET reason = coalesce(nullif(excluded.reason, ''), reason) RETURNING reason, blocked_at`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			b.Reason, b.BlockedAt = c.text(), c.time()
			return nil
		}, b.Target, b.Reason, b.BlockedAt)
	})
}

// TargetUnblock implements store.Targets.
func (s *Store) TargetUnblock(ctx context.Context, target string) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`DELETE FROM blocked_targets WHERE target = ?`, target); err != nil {
			return fmt.Errorf("unblocking a target: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("blocked target")
		}
		return nil
	})
}

// TargetBlocks implements store.Targets.
func (s *Store) TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error) {
	var blocked []operator.TargetBlock
	err := s.read(ctx, func(t *tx) error {
		return t.query(`SELECT target, reason, blocked_at FROM blocked_targets ORDER BY target`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			blocked = append(blocked, operator.TargetBlock{Target: c.text(), Reason: c.text(), BlockedAt: c.time()})
			return nil
		})
	})
	return blocked, err
}

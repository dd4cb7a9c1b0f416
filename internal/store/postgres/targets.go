package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/operator"
)

// TargetBlock implements store.Targets.
func (s *Store) TargetBlock(ctx context.Context, b *operator.TargetBlock) error {
	return s.write(ctx, func(t *tx) error {
		var full bool
		err := t.run(
			query{sql: `LOCK TABLE blocked_targets IN EXCLUSIVE MODE`}, // so that the count stays valid until the commit
			query{
				sql:  `SELECT count(*) >= $1 FROM blocked_targets WHERE target <> $2`,
				args: []any{operator.MaxTargetBlocks, text(b.Target)},
				row:  func(rows pgx.Rows) error { return rows.Scan(&full) },
			},
		)
		if err != nil {
			return err
		}
		if full {
			return fault.New(fault.Invalid, operator.TooManyBlocks)
		}
		return t.commit(query{
			sql: `INSERT INTO blocked_targets (target, reason, blocked_at) VALUES ($1, $2, $3)
				ON CONFLICT (target) DO UPDATE SET reason = coalesce(nullif(excluded.reason, ''), blocked_targets.reason) RETURNING reason, blocked_at`,
			args: []any{text(b.Target), text(b.Reason), b.BlockedAt.UnixMicro()},
			row:  func(rows pgx.Rows) error { return rows.Scan(&b.Reason, timeOf{&b.BlockedAt}) },
		})
	})
}

// TargetUnblock implements store.Targets.
func (s *Store) TargetUnblock(ctx context.Context, target string) error {
	found := false
	err := s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `DELETE FROM blocked_targets WHERE target = $1 RETURNING target`, args: []any{text(target)},
			row: func(pgx.Rows) error {
				found = true
				return nil
			},
		})
	})
	if err == nil && !found {
		return fault.NoSuch("blocked target")
	}
	return err
}

// TargetBlocks implements store.Targets.
func (s *Store) TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error) {
	var blocked []operator.TargetBlock
	err := s.read(ctx, query{
		sql:   `SELECT target, reason, blocked_at FROM blocked_targets ORDER BY target COLLATE "C"`,
		start: func() { blocked = nil },
		row: func(rows pgx.Rows) error {
			var b operator.TargetBlock
			err := rows.Scan(&b.Target, &b.Reason, timeOf{&b.BlockedAt})
			blocked = append(blocked, b)
			return err
		},
	})
	return blocked, err
}

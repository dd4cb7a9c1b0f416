package records

import (
	"context"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/operator"
)

var blockedTargets = Table[operator.TargetBlock]{
	Name: "blocked_targets", Key: []string{"target"},
	Columns: []Column[operator.TargetBlock]{
		{"target", func(b *operator.TargetBlock) any { return &b.Target }},
		{"reason", func(b *operator.TargetBlock) any { return &b.Reason }},
		{"blocked_at", func(b *operator.TargetBlock) any { return &b.BlockedAt }},
	},
}

// TargetBlock implements store.Targets.
func (r *Records) TargetBlock(ctx context.Context, b *operator.TargetBlock) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		full := false
		err := t.Run(
			Query{SQL: `LOCK TABLE blocked_targets IN EXCLUSIVE MODE`, Lock: true}, // so that the count stays valid until the commit
			Query{
				SQL: `SELECT count(*) >= $1 FROM blocked_targets WHERE target <> $2`, Args: []any{operator.MaxTargetBlocks, b.Target},
				Row: into(&full),
			},
		)
		if err != nil {
			return nil, err
		}
		if full {
			return nil, fault.New(fault.Invalid, operator.TooManyBlocks)
		}
		block := blockedTargets.Insert(b)
		block.SQL += ` ON CONFLICT (target) DO UPDATE
			SET reason = coalesce(nullif(excluded.reason, ''), blocked_targets.reason) RETURNING reason, blocked_at`
		block.Row = into(&b.Reason, &b.BlockedAt)
		return []Query{block}, nil
	})
}

// TargetUnblock implements store.Targets.
func (r *Records) TargetUnblock(ctx context.Context, target string) error {
	return r.write(ctx, Query{SQL: `DELETE FROM blocked_targets WHERE target = $1`, Args: []any{target},
		None: fault.NoSuch("blocked target")})
}

// TargetBlocks implements store.Targets.
func (r *Records) TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error) {
	var found []*operator.TargetBlock
	if err := r.engine.Read(ctx, Single, blockedTargets.Select(&found, nil, `ORDER BY target COLLATE "C"`)); err != nil {
		return nil, err
	}
	blocked := make([]operator.TargetBlock, len(found))
	for i, b := range found {
		blocked[i] = *b
	}
	return blocked, nil
}

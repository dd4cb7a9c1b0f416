package store

import (
	"context"

	"github.com/punctual-dev/punctual/internal/operator"
)

// Targets stores the targets that operators have blocked for all accounts.
type Targets interface {
	// TargetBlock blocks a target. If it is blocked already, TargetBlock keeps the
	// time, replaces the reason unless b has none, and sets both in b. It returns an
	// Invalid fault if MaxTargetBlocks other targets are blocked.
	TargetBlock(ctx context.Context, b *operator.TargetBlock) error
	// TargetUnblock removes a block, or returns a NotFound fault.
	TargetUnblock(ctx context.Context, target string) error
	// TargetBlocks returns all blocks, at most MaxTargetBlocks, in the order of
	// their targets' bytes.
	TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error)
}

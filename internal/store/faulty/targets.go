package faulty

import (
	"context"

	"github.com/punctual-dev/punctual/internal/operator"
)

// TargetBlock implements store.Store.
func (s *Store) TargetBlock(ctx context.Context, b *operator.TargetBlock) error {
	return do(ctx, s, "TargetBlock", func() error { return s.Store.TargetBlock(ctx, b) })
}

// TargetUnblock implements store.Store.
func (s *Store) TargetUnblock(ctx context.Context, target string) error {
	return do(ctx, s, "TargetUnblock", func() error { return s.Store.TargetUnblock(ctx, target) })
}

// TargetBlocks implements store.Store.
func (s *Store) TargetBlocks(ctx context.Context) ([]operator.TargetBlock, error) {
	return get(ctx, s, "TargetBlocks", func() ([]operator.TargetBlock, error) { return s.Store.TargetBlocks(ctx) })
}

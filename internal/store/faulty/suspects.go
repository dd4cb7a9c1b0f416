package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// RunMove implements store.Store.
func (s *Store) RunMove(ctx context.Context, refs []store.Ref, by time.Duration) error {
	return do(ctx, s, "RunMove", func() error { return s.Store.RunMove(ctx, refs, by) })
}

// RunNote implements store.Store.
func (s *Store) RunNote(ctx context.Context, node int64, refs []store.Ref) error {
	return do(ctx, s, "RunNote", func() error { return s.Store.RunNote(ctx, node, refs) })
}

// RunCleared implements store.Store.
func (s *Store) RunCleared(ctx context.Context, refs []store.Ref) error {
	return do(ctx, s, "RunCleared", func() error { return s.Store.RunCleared(ctx, refs) })
}

// RunSuspects implements store.Store.
func (s *Store) RunSuspects(ctx context.Context, node int64, limit int) (suspects []store.Suspect, unclean bool, err error) {
	err = do(ctx, s, "RunSuspects", func() (err error) {
		suspects, unclean, err = s.Store.RunSuspects(ctx, node, limit)
		return err
	})
	return suspects, unclean, err
}

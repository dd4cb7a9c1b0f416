package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// QueueMove implements store.Store.
func (s *Store) QueueMove(ctx context.Context, refs []store.QueueKey, by time.Duration) error {
	return do(ctx, s, "QueueMove", func() error { return s.Store.QueueMove(ctx, refs, by) })
}

// SuspectNote implements store.Store.
func (s *Store) SuspectNote(ctx context.Context, node int64, refs []store.QueueKey, alone bool) error {
	return do(ctx, s, "SuspectNote", func() error { return s.Store.SuspectNote(ctx, node, refs, alone) })
}

// SuspectClear implements store.Store.
func (s *Store) SuspectClear(ctx context.Context, refs []store.QueueKey) error {
	return do(ctx, s, "SuspectClear", func() error { return s.Store.SuspectClear(ctx, refs) })
}

// SuspectList implements store.Store.
func (s *Store) SuspectList(ctx context.Context, node int64, limit int) (suspects []store.Suspect, unclean bool, err error) {
	err = do(ctx, s, "SuspectList", func() (err error) {
		suspects, unclean, err = s.Store.SuspectList(ctx, node, limit)
		return err
	})
	return suspects, unclean, err
}

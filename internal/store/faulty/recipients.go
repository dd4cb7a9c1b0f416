package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// RecipientGet implements store.Store.
func (s *Store) RecipientGet(ctx context.Context, account int64, address, mailbox string) (r *store.Recipient, refused bool, err error) {
	r, err = get(ctx, s, "RecipientGet", func() (found *store.Recipient, err error) {
		found, refused, err = s.Store.RecipientGet(ctx, account, address, mailbox)
		return found, err
	})
	return r, refused, err
}

// RecipientFind implements store.Store.
func (s *Store) RecipientFind(ctx context.Context, token []byte) (*store.Recipient, error) {
	return get(ctx, s, "RecipientFind", func() (*store.Recipient, error) { return s.Store.RecipientFind(ctx, token) })
}

// RecipientList implements store.Store.
func (s *Store) RecipientList(ctx context.Context, account int64, after string, limit int) ([]*store.Recipient, error) {
	return get(ctx, s, "RecipientList", func() ([]*store.Recipient, error) { return s.Store.RecipientList(ctx, account, after, limit) })
}

// RecipientChange implements store.Store.
func (s *Store) RecipientChange(ctx context.Context, account int64, address, mailbox string, since time.Time, decide store.RecipientDecide) error {
	return do(ctx, s, "RecipientChange", func() error { return s.Store.RecipientChange(ctx, account, address, mailbox, since, decide) })
}

// RecipientPrune implements store.Store.
func (s *Store) RecipientPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, s, "RecipientPrune", func() (int, error) { return s.Store.RecipientPrune(ctx, before, limit) })
}

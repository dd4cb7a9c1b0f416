package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// AccountLimit implements store.Store.
func (s *Store) AccountLimit(ctx context.Context, account int64, limits identity.Overrides) error {
	return do(ctx, s, "AccountLimit", func() error { return s.Store.AccountLimit(ctx, account, limits) })
}

// AccountUse implements store.Store.
func (s *Store) AccountUse(ctx context.Context, account, limit int64) (store.Use, error) {
	return get(ctx, s, "AccountUse", func() (store.Use, error) { return s.Store.AccountUse(ctx, account, limit) })
}

// AccountBytes implements store.Store.
func (s *Store) AccountBytes(ctx context.Context, account int64, from store.ByteMark, rows int) (bytes int64, next *store.ByteMark, err error) {
	bytes, err = get(ctx, s, "AccountBytes", func() (n int64, err error) {
		n, next, err = s.Store.AccountBytes(ctx, account, from, rows)
		return n, err
	})
	return bytes, next, err
}

// AccountSuspend implements store.Store.
func (s *Store) AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error {
	return do(ctx, s, "AccountSuspend", func() error { return s.Store.AccountSuspend(ctx, account, at, reason) })
}

// AccountsBlocked implements store.Store.
func (s *Store) AccountsBlocked(ctx context.Context) ([]int64, error) {
	return get(ctx, s, "AccountsBlocked", func() ([]int64, error) { return s.Store.AccountsBlocked(ctx) })
}

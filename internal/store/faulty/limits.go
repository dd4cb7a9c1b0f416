package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitPut implements store.Store.
func (s *Store) LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (bool, error) {
	return get(ctx, s, "LimitPut", func() (bool, error) { return s.Store.LimitPut(ctx, owner, l, putIf) })
}

// LimitGet implements store.Store.
func (s *Store) LimitGet(ctx context.Context, owner job.Owner, key string) (*store.LimitUse, error) {
	return get(ctx, s, "LimitGet", func() (*store.LimitUse, error) { return s.Store.LimitGet(ctx, owner, key) })
}

// LimitList implements store.Store.
func (s *Store) LimitList(ctx context.Context, owner job.Owner, after string, limit int) ([]store.Limit, error) {
	return get(ctx, s, "LimitList", func() ([]store.Limit, error) { return s.Store.LimitList(ctx, owner, after, limit) })
}

// LimitsWaiting implements store.Store.
func (s *Store) LimitsWaiting(ctx context.Context, owner job.Owner, limit, most int) ([]store.LimitLine, error) {
	return get(ctx, s, "LimitsWaiting", func() ([]store.LimitLine, error) { return s.Store.LimitsWaiting(ctx, owner, limit, most) })
}

// LimitDelete implements store.Store.
func (s *Store) LimitDelete(ctx context.Context, owner job.Owner, key string) (int, error) {
	return get(ctx, s, "LimitDelete", func() (int, error) { return s.Store.LimitDelete(ctx, owner, key) })
}

// LimitsOf implements store.Store.
func (s *Store) LimitsOf(ctx context.Context, owner job.Owner, keys []string) ([]string, error) {
	return get(ctx, s, "LimitsOf", func() ([]string, error) { return s.Store.LimitsOf(ctx, owner, keys) })
}

// LimitsHolding implements store.Store.
func (s *Store) LimitsHolding(ctx context.Context, owner job.Owner, j *job.Job) ([]string, error) {
	return get(ctx, s, "LimitsHolding", func() ([]string, error) { return s.Store.LimitsHolding(ctx, owner, j) })
}

// LimitWaiting implements store.Store.
func (s *Store) LimitWaiting(ctx context.Context) (int, error) {
	return get(ctx, s, "LimitWaiting", func() (int, error) { return s.Store.LimitWaiting(ctx) })
}

// LimitWakes implements store.Store.
func (s *Store) LimitWakes(ctx context.Context, until time.Time, limit int) ([]store.LimitWake, error) {
	return get(ctx, s, "LimitWakes", func() ([]store.LimitWake, error) { return s.Store.LimitWakes(ctx, until, limit) })
}

// LimitPass implements store.Store.
func (s *Store) LimitPass(ctx context.Context, p store.LimitPass) (store.LimitPassed, error) {
	return get(ctx, s, "LimitPass", func() (store.LimitPassed, error) { return s.Store.LimitPass(ctx, p) })
}

// LimitExpire implements store.Store.
func (s *Store) LimitExpire(ctx context.Context, limit int) (time.Time, error) {
	return get(ctx, s, "LimitExpire", func() (time.Time, error) { return s.Store.LimitExpire(ctx, limit) })
}

// LimitHold implements store.Store.
func (s *Store) LimitHold(ctx context.Context, items []store.HeldItem) error {
	return do(ctx, s, "LimitHold", func() error { return s.Store.LimitHold(ctx, items) })
}

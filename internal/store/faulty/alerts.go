package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// AlertPut implements store.Store.
func (s *Store) AlertPut(ctx context.Context, a *store.Alert, putIf store.PutIf) (bool, error) {
	return get(ctx, s, "AlertPut", func() (bool, error) { return s.Store.AlertPut(ctx, a, putIf) })
}

// AlertGet implements store.Store.
func (s *Store) AlertGet(ctx context.Context, owner job.Owner, name string) (*store.Alert, error) {
	return get(ctx, s, "AlertGet", func() (*store.Alert, error) { return s.Store.AlertGet(ctx, owner, name) })
}

// AlertList implements store.Store.
func (s *Store) AlertList(ctx context.Context, owner job.Owner) ([]*store.Alert, error) {
	return get(ctx, s, "AlertList", func() ([]*store.Alert, error) { return s.Store.AlertList(ctx, owner) })
}

// AlertStates implements store.Store.
func (s *Store) AlertStates(ctx context.Context, owner job.Owner, limit int) ([]store.AlertState, error) {
	return get(ctx, s, "AlertStates", func() ([]store.AlertState, error) { return s.Store.AlertStates(ctx, owner, limit) })
}

// AlertDelete implements store.Store.
func (s *Store) AlertDelete(ctx context.Context, owner job.Owner, name string) error {
	return do(ctx, s, "AlertDelete", func() error { return s.Store.AlertDelete(ctx, owner, name) })
}

// AlertAccounts implements store.Store.
func (s *Store) AlertAccounts(ctx context.Context, known int64) (revision int64, accounts map[int64]store.LateRange, err error) {
	accounts, err = get(ctx, s, "AlertAccounts", func() (found map[int64]store.LateRange, err error) {
		revision, found, err = s.Store.AlertAccounts(ctx, known)
		return found, err
	})
	return revision, accounts, err
}

// AlertsPending implements store.Store.
func (s *Store) AlertsPending(ctx context.Context, limit int) (accounts []int64, next time.Time, err error) {
	accounts, err = get(ctx, s, "AlertsPending", func() (found []int64, err error) {
		found, next, err = s.Store.AlertsPending(ctx, limit)
		return found, err
	})
	return accounts, next, err
}

// AlertTrack implements store.Store.
func (s *Store) AlertTrack(ctx context.Context, account int64, late []store.QueueKey, decide store.AlertDecide) (bool, error) {
	return get(ctx, s, "AlertTrack", func() (bool, error) { return s.Store.AlertTrack(ctx, account, late, decide) })
}

// AlertStatePrune implements store.Store.
func (s *Store) AlertStatePrune(ctx context.Context, limit int) (int, error) {
	return get(ctx, s, "AlertStatePrune", func() (int, error) { return s.Store.AlertStatePrune(ctx, limit) })
}

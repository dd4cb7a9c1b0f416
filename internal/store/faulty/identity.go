package faulty

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// KeyGet implements store.Store.
func (s *Store) KeyGet(ctx context.Context, id uuid.UUID) (*identity.Key, error) {
	return get(ctx, s, "KeyGet", func() (*identity.Key, error) { return s.Store.KeyGet(ctx, id) })
}

// AccountTOTP implements store.Store.
func (s *Store) AccountTOTP(ctx context.Context, account int64, decide identity.DecideTOTP) error {
	return do(ctx, s, "AccountTOTP", func() error { return s.Store.AccountTOTP(ctx, account, decide) })
}

// SessionList implements store.Store.
func (s *Store) SessionList(ctx context.Context, account int64, at time.Time) ([]*identity.Session, error) {
	return get(ctx, s, "SessionList", func() ([]*identity.Session, error) { return s.Store.SessionList(ctx, account, at) })
}

// SessionEndOthers implements store.Store.
func (s *Store) SessionEndOthers(ctx context.Context, account int64, keep []byte) error {
	return do(ctx, s, "SessionEndOthers", func() error { return s.Store.SessionEndOthers(ctx, account, keep) })
}

// AuditInsert implements store.Store.
func (s *Store) AuditInsert(ctx context.Context, a *identity.AuditEntry) error {
	return do(ctx, s, "AuditInsert", func() error { return s.Store.AuditInsert(ctx, a) })
}

// AuditList implements store.Store.
func (s *Store) AuditList(ctx context.Context, account int64, event string, after uuid.UUID, limit int) ([]*identity.AuditEntry, error) {
	return get(ctx, s, "AuditList", func() ([]*identity.AuditEntry, error) { return s.Store.AuditList(ctx, account, event, after, limit) })
}

// AuditPrune implements store.Store.
func (s *Store) AuditPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, s, "AuditPrune", func() (int, error) { return s.Store.AuditPrune(ctx, before, limit) })
}

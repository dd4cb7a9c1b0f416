package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store"
)

// AccountRegister implements store.Store.
func (s *Store) AccountRegister(ctx context.Context, r *identity.Registration) error {
	return do(ctx, s, "AccountRegister", func() error { return s.Store.AccountRegister(ctx, r) })
}

// AccountPassword implements store.Store.
func (s *Store) AccountPassword(ctx context.Context, change identity.PasswordChange) error {
	return do(ctx, s, "AccountPassword", func() error { return s.Store.AccountPassword(ctx, change) })
}

// AccountOperator implements store.Store.
func (s *Store) AccountOperator(ctx context.Context, account int64, operator bool) error {
	return do(ctx, s, "AccountOperator", func() error { return s.Store.AccountOperator(ctx, account, operator) })
}

// AccountDelete implements store.Store.
func (s *Store) AccountDelete(ctx context.Context, account int64, at time.Time) error {
	return do(ctx, s, "AccountDelete", func() error { return s.Store.AccountDelete(ctx, account, at) })
}

// AccountPurge implements store.Store.
func (s *Store) AccountPurge(ctx context.Context, settled time.Time, limit int) (int, error) {
	return get(ctx, s, "AccountPurge", func() (int, error) { return s.Store.AccountPurge(ctx, settled, limit) })
}

// SessionInsert implements store.Store.
func (s *Store) SessionInsert(ctx context.Context, session *identity.Session) error {
	return do(ctx, s, "SessionInsert", func() error { return s.Store.SessionInsert(ctx, session) })
}

// SessionFind implements store.Store.
func (s *Store) SessionFind(ctx context.Context, hash []byte, at time.Time) (*identity.Session, error) {
	return get(ctx, s, "SessionFind", func() (*identity.Session, error) { return s.Store.SessionFind(ctx, hash, at) })
}

// SessionSeen implements store.Store.
func (s *Store) SessionSeen(ctx context.Context, hash []byte, at, expires time.Time) error {
	return do(ctx, s, "SessionSeen", func() error { return s.Store.SessionSeen(ctx, hash, at, expires) })
}

// SessionDelete implements store.Store.
func (s *Store) SessionDelete(ctx context.Context, hash []byte) error {
	return do(ctx, s, "SessionDelete", func() error { return s.Store.SessionDelete(ctx, hash) })
}

// SessionPrune implements store.Store.
func (s *Store) SessionPrune(ctx context.Context, before time.Time, limit int) (int, error) {
	return get(ctx, s, "SessionPrune", func() (int, error) { return s.Store.SessionPrune(ctx, before, limit) })
}

// InviteInsert implements store.Store.
func (s *Store) InviteInsert(ctx context.Context, i *identity.Invite) error {
	return do(ctx, s, "InviteInsert", func() error { return s.Store.InviteInsert(ctx, i) })
}

// InviteFind implements store.Store.
func (s *Store) InviteFind(ctx context.Context, hash []byte, at time.Time) (*identity.Invite, error) {
	return get(ctx, s, "InviteFind", func() (*identity.Invite, error) { return s.Store.InviteFind(ctx, hash, at) })
}

// StatsWrite implements store.Store.
func (s *Store) StatsWrite(ctx context.Context, stats []store.Stat) error {
	return do(ctx, s, "StatsWrite", func() error { return s.Store.StatsWrite(ctx, stats) })
}

// StatsRead implements store.Store.
func (s *Store) StatsRead(ctx context.Context, account, from, to int64) ([]store.Stat, error) {
	return get(ctx, s, "StatsRead", func() ([]store.Stat, error) { return s.Store.StatsRead(ctx, account, from, to) })
}

// StatsPrune implements store.Store.
func (s *Store) StatsPrune(ctx context.Context, before int64, limit int) (int, error) {
	return get(ctx, s, "StatsPrune", func() (int, error) { return s.Store.StatsPrune(ctx, before, limit) })
}

// AccountPage implements store.Store.
func (s *Store) AccountPage(ctx context.Context, after int64, limit int) ([]*identity.Account, error) {
	return get(ctx, s, "AccountPage", func() ([]*identity.Account, error) { return s.Store.AccountPage(ctx, after, limit) })
}

// AccountSize implements store.Store.
func (s *Store) AccountSize(ctx context.Context, account int64, limit int) (identity.RecordCounts, error) {
	return get(ctx, s, "AccountSize", func() (identity.RecordCounts, error) { return s.Store.AccountSize(ctx, account, limit) })
}

// NodeList implements store.Store.
func (s *Store) NodeList(ctx context.Context) ([]operator.Node, error) {
	return get(ctx, s, "NodeList", func() ([]operator.Node, error) { return s.Store.NodeList(ctx) })
}

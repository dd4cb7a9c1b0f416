package faulty

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

// SigningKeys implements store.Store.
func (s *Store) SigningKeys(ctx context.Context, account int64) ([]identity.SigningKey, error) {
	return get(ctx, s, "SigningKeys", func() ([]identity.SigningKey, error) { return s.Store.SigningKeys(ctx, account) })
}

// SigningKeyAdd implements store.Store.
func (s *Store) SigningKeyAdd(ctx context.Context, k *identity.SigningKey, othersEnd time.Time) (bool, error) {
	return get(ctx, s, "SigningKeyAdd", func() (bool, error) { return s.Store.SigningKeyAdd(ctx, k, othersEnd) })
}

// SigningKeyPage implements store.Store.
func (s *Store) SigningKeyPage(ctx context.Context, account, number int64, limit int) ([]identity.SigningKey, error) {
	return get(ctx, s, "SigningKeyPage", func() ([]identity.SigningKey, error) { return s.Store.SigningKeyPage(ctx, account, number, limit) })
}

// SigningKeyReplace implements store.Store.
func (s *Store) SigningKeyReplace(ctx context.Context, k *identity.SigningKey, private string) error {
	return do(ctx, s, "SigningKeyReplace", func() error { return s.Store.SigningKeyReplace(ctx, k, private) })
}

package faulty

import (
	"context"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

// SecretPut implements store.Store.
func (s *Store) SecretPut(ctx context.Context, h *identity.HeaderSecret, putIf store.PutIf) (bool, error) {
	return get(ctx, s, "SecretPut", func() (bool, error) { return s.Store.SecretPut(ctx, h, putIf) })
}

// SecretsNamed implements store.Store.
func (s *Store) SecretsNamed(ctx context.Context, account int64, names []string) ([]*identity.HeaderSecret, error) {
	return get(ctx, s, "SecretsNamed", func() ([]*identity.HeaderSecret, error) { return s.Store.SecretsNamed(ctx, account, names) })
}

// SecretList implements store.Store.
func (s *Store) SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error) {
	return get(ctx, s, "SecretList", func() ([]*identity.HeaderSecret, error) { return s.Store.SecretList(ctx, account) })
}

// SecretDelete implements store.Store.
func (s *Store) SecretDelete(ctx context.Context, account int64, name string, limit int) (int, error) {
	return get(ctx, s, "SecretDelete", func() (int, error) { return s.Store.SecretDelete(ctx, account, name, limit) })
}

// EncryptedSigning implements store.Store.
func (s *Store) EncryptedSigning(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error) {
	return get(ctx, s, "EncryptedSigning", func() ([]store.Encrypted, error) { return s.Store.EncryptedSigning(ctx, after, limit) })
}

// EncryptedHeaders implements store.Store.
func (s *Store) EncryptedHeaders(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error) {
	return get(ctx, s, "EncryptedHeaders", func() ([]store.Encrypted, error) { return s.Store.EncryptedHeaders(ctx, after, limit) })
}

// EncryptedReplace implements store.Store.
func (s *Store) EncryptedReplace(ctx context.Context, values []store.Reencrypted) error {
	return do(ctx, s, "EncryptedReplace", func() error { return s.Store.EncryptedReplace(ctx, values) })
}

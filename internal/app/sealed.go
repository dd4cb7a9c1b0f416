package app

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
)

// sealedStore encrypts signing secrets and keys that are stored in the wrapped store, and
// decrypts those that are read. One that can't be decrypted has the value "".
// Without keys it stores them as they are.
type sealedStore struct {
	store.Store
	keys *secret.Keyring
}

// sealed returns an account with its secrets encrypted.
func (s *sealedStore) sealed(a *identity.Account) (*identity.Account, error) {
	b := *a
	b.Secrets = make([]identity.Secret, len(a.Secrets))
	for i, v := range a.Secrets {
		var err error
		if b.Secrets[i], err = s.keys.SealSigning(a.ID, v); err != nil {
			return nil, err
		}
	}
	return &b, nil
}

// AccountInsert implements store.Accounts.
func (s *sealedStore) AccountInsert(ctx context.Context, a *identity.Account) error {
	b, err := s.sealed(a)
	if err != nil {
		return err
	}
	err = s.Store.AccountInsert(ctx, b)
	a.Number = b.Number
	return err
}

// AccountRegister implements store.People.
func (s *sealedStore) AccountRegister(ctx context.Context, r *identity.Registration) error {
	b, err := s.sealed(r.Account)
	if err != nil {
		return err
	}
	stored := *r
	stored.Account = b
	err = s.Store.AccountRegister(ctx, &stored)
	r.Account.Number, r.Account.Operator = b.Number, b.Operator
	return err
}

// SecretAdd implements store.Accounts.
func (s *sealedStore) SecretAdd(ctx context.Context, account int64, v identity.Secret, othersEnd time.Time) error {
	a, err := s.Store.AccountOf(ctx, account)
	if err != nil {
		return err
	}
	if v, err = s.keys.SealSigning(a.ID, v); err != nil {
		return err
	}
	return s.Store.SecretAdd(ctx, account, v, othersEnd)
}

// AccountGet implements store.Accounts.
func (s *sealedStore) AccountGet(ctx context.Context, email string) (*identity.Account, error) {
	a, err := s.Store.AccountGet(ctx, email)
	s.keys.OpenSigning(a)
	return a, err
}

// AccountOf implements store.Accounts.
func (s *sealedStore) AccountOf(ctx context.Context, number int64) (*identity.Account, error) {
	a, err := s.Store.AccountOf(ctx, number)
	s.keys.OpenSigning(a)
	return a, err
}

// AccountList implements store.Accounts.
func (s *sealedStore) AccountList(ctx context.Context) ([]*identity.Account, error) {
	accounts, err := s.Store.AccountList(ctx)
	for _, a := range accounts {
		s.keys.OpenSigning(a)
	}
	return accounts, err
}

// AccountTokenKeys implements store.Accounts.
func (s *sealedStore) AccountTokenKeys(ctx context.Context, account int64, before, keys string) (bool, error) {
	raw, err := s.Store.AccountOf(ctx, account)
	if err != nil {
		return false, err
	}
	opened := *raw
	if s.keys.OpenSigning(&opened); opened.TokenKeys != before {
		return false, nil // they have changed
	}
	if keys, err = s.keys.SealTokenKeys(raw.ID, keys); err != nil {
		return false, err
	}
	return s.Store.AccountTokenKeys(ctx, account, raw.TokenKeys, keys)
}

// SigningKeyAdd implements store.SigningKeys.
func (s *sealedStore) SigningKeyAdd(ctx context.Context, k *identity.SigningKey, othersEnd time.Time) (bool, error) {
	sealed, err := s.keys.SealKey(*k)
	if err != nil {
		return false, err
	}
	return s.Store.SigningKeyAdd(ctx, &sealed, othersEnd)
}

// SigningKeys implements store.SigningKeys.
func (s *sealedStore) SigningKeys(ctx context.Context, account int64) ([]identity.SigningKey, error) {
	keys, err := s.Store.SigningKeys(ctx, account)
	s.keys.OpenKeys(keys)
	return keys, err
}

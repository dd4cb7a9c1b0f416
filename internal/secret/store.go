package secret

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/store"
)

// Store encrypts signing secrets that are stored in the wrapped store, and
// decrypts those that are read. One that can't be decrypted has the value "".
// With a nil Keyring it stores them as they are.
type Store struct {
	store.Store
	keys *Keyring
}

var _ store.Store = (*Store)(nil)

// NewStore returns a Store that wraps another one.
func NewStore(s store.Store, keys *Keyring) *Store { return &Store{s, keys} }

func (s *Store) seal(account uuid.UUID, v store.Secret) (store.Secret, error) {
	if s.keys == nil {
		return v, nil
	}
	var err error
	v.Value, err = s.keys.Seal(signingRecord(account, v.CreatedAt.UnixMicro()), v.Value)
	return v, err
}

// sealed returns an account with its secrets encrypted.
func (s *Store) sealed(a *store.Account) (*store.Account, error) {
	b := *a
	b.Secrets = make([]store.Secret, len(a.Secrets))
	for i, v := range a.Secrets {
		var err error
		if b.Secrets[i], err = s.seal(a.ID, v); err != nil {
			return nil, err
		}
	}
	return &b, nil
}

// opened decrypts the secrets of an account that was read.
func (s *Store) opened(a *store.Account, err error) (*store.Account, error) {
	if err != nil {
		return nil, err
	}
	for i := range a.Secrets {
		v := &a.Secrets[i]
		if isSealed(v.Value) {
			v.Value, _ = s.keys.Open(signingRecord(a.ID, v.CreatedAt.UnixMicro()), v.Value)
		}
	}
	return a, nil
}

// AccountInsert implements store.Accounts.
func (s *Store) AccountInsert(ctx context.Context, a *store.Account) error {
	b, err := s.sealed(a)
	if err != nil {
		return err
	}
	err = s.Store.AccountInsert(ctx, b)
	a.Number = b.Number
	return err
}

// AccountRegister implements store.People.
func (s *Store) AccountRegister(ctx context.Context, r *store.Registration) error {
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
func (s *Store) SecretAdd(ctx context.Context, account int64, v store.Secret, othersEnd time.Time) error {
	a, err := s.Store.AccountOf(ctx, account)
	if err != nil {
		return err
	}
	if v, err = s.seal(a.ID, v); err != nil {
		return err
	}
	return s.Store.SecretAdd(ctx, account, v, othersEnd)
}

// AccountGet implements store.Accounts.
func (s *Store) AccountGet(ctx context.Context, email string) (*store.Account, error) {
	return s.opened(s.Store.AccountGet(ctx, email))
}

// AccountOf implements store.Accounts.
func (s *Store) AccountOf(ctx context.Context, number int64) (*store.Account, error) {
	return s.opened(s.Store.AccountOf(ctx, number))
}

// AccountList implements store.Accounts.
func (s *Store) AccountList(ctx context.Context) ([]*store.Account, error) {
	accounts, err := s.Store.AccountList(ctx)
	for _, a := range accounts {
		_, _ = s.opened(a, nil)
	}
	return accounts, err
}

package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// SigningSecrets returns the secrets and keys that sign an account's requests, newest
// first, a NotFound fault if the account was deleted, or execute.ErrSealed if no
// secret or no key can be decrypted.
func (a *Authenticator) SigningSecrets(ctx context.Context, account int64) (execute.Signing, error) {
	return a.signing.get(account, a.Now(), func() (execute.Signing, error) {
		found, err := a.Store.AccountOf(ctx, account)
		if err != nil {
			return execute.Signing{}, err
		}
		if !found.DeletedAt.IsZero() {
			return execute.Signing{}, fault.NoSuch("account")
		}
		secrets := make([]execute.Secret, 0, len(found.Secrets))
		for _, s := range found.Secrets {
			if s.Value == "" {
				continue // it can't be decrypted
			}
			secret, err := execute.DecodeSecret(s.Value)
			if err != nil {
				return execute.Signing{}, fmt.Errorf("reading a secret of account %d: %w", account, err)
			}
			secrets = append(secrets, secret)
		}
		keys, err := a.signingKeys(ctx, found)
		if err == nil && len(found.Secrets) > 0 && (len(secrets) == 0 || len(keys) == 0) {
			err = execute.ErrSealed
		}
		return execute.Signing{Secrets: secrets, Keys: keys}, err
	})
}

// PublicKeys returns the public keys of the keys that sign an account's requests,
// newest first.
func (a *Authenticator) PublicKeys(ctx context.Context, account *identity.Account) ([]string, error) {
	keys, err := a.signingKeys(ctx, account)
	public := make([]string, len(keys))
	for i := range keys {
		public[i] = keys[i].Public()
	}
	return public, err
}

// signingKeys returns the keys of an account that can be decrypted: one for each of
// its secrets, newest first. It makes those that are missing: of an account or a
// secret that was made by a version which knew no keys, or just now.
func (a *Authenticator) signingKeys(ctx context.Context, account *identity.Account) ([]execute.Key, error) {
	stored, err := a.storedKeys(ctx, account.Number)
	if err != nil {
		return nil, err
	}
	missing := false
	for _, s := range account.Secrets {
		if _, ok := stored[s.CreatedAt.UnixMicro()]; !ok {
			missing = true
			if err := a.addSigningKey(ctx, account.Number, s); err != nil {
				return nil, err
			}
		}
	}
	if missing { // another node may have been first
		if stored, err = a.storedKeys(ctx, account.Number); err != nil {
			return nil, err
		}
	}
	keys := make([]execute.Key, 0, len(account.Secrets))
	for _, s := range account.Secrets {
		text := stored[s.CreatedAt.UnixMicro()]
		if text == "" {
			continue // it can't be decrypted, or was deleted meanwhile
		}
		key, err := execute.DecodeKey(text)
		if err != nil {
			return nil, fmt.Errorf("reading a signing key of account %d: %w", account.Number, err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// storedKeys returns the private keys of an account by their numbers.
func (a *Authenticator) storedKeys(ctx context.Context, account int64) (map[int64]string, error) {
	found, err := a.Store.SigningKeys(ctx, account)
	if err != nil {
		return nil, fmt.Errorf("reading the signing keys of account %d: %w", account, err)
	}
	stored := make(map[int64]string, len(found))
	for _, k := range found {
		stored[k.Number] = k.Private
	}
	return stored, nil
}

// addSigningKey stores a new key beside a signing secret, unless there is one.
func (a *Authenticator) addSigningKey(ctx context.Context, account int64, s identity.Secret) error {
	key, err := execute.NewKey()
	if err != nil {
		return fmt.Errorf("making a signing key: %w", err)
	}
	now := a.Now()
	_, err = a.Store.SigningKeyAdd(ctx, &identity.SigningKey{
		Account: account, Number: s.CreatedAt.UnixMicro(), Private: key.Encode(), CreatedAt: now, SignsAt: now,
	}, time.Time{})
	if err != nil {
		return fmt.Errorf("storing a signing key of account %d: %w", account, err)
	}
	return nil
}

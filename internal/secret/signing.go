package secret

import (
	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/identity"
)

// SealSigning encrypts a signing secret of an account. With a nil Keyring it
// stays as it is.
func (k *Keyring) SealSigning(account uuid.UUID, s identity.Secret) (identity.Secret, error) {
	if k == nil {
		return s, nil
	}
	var err error
	s.Value, err = k.Seal(signingRecord(account, s.CreatedAt.UnixMicro()), s.Value)
	return s, err
}

// OpenSigning decrypts the signing secrets and the token keys of an account, which may be
// nil. A secret that can't be decrypted gets the value ""; token keys stay encrypted, so
// that they can be told from none.
func (k *Keyring) OpenSigning(a *identity.Account) {
	if a == nil {
		return
	}
	if isSealed(a.TokenKeys) {
		if keys, err := k.Open(tokenRecord(a.ID), a.TokenKeys); err == nil {
			a.TokenKeys = keys
		}
	}
	for i := range a.Secrets {
		s := &a.Secrets[i]
		if isSealed(s.Value) {
			s.Value, _ = k.Open(signingRecord(a.ID, s.CreatedAt.UnixMicro()), s.Value)
		}
	}
}

// SealTokenKeys encrypts the token keys of an account. With a nil Keyring they stay as
// they are.
func (k *Keyring) SealTokenKeys(account uuid.UUID, keys string) (string, error) {
	if k == nil || keys == "" {
		return keys, nil
	}
	return k.Seal(tokenRecord(account), keys)
}

// SealKey encrypts a private key. With a nil Keyring it stays as it is.
func (k *Keyring) SealKey(s identity.SigningKey) (identity.SigningKey, error) {
	if k == nil {
		return s, nil
	}
	var err error
	s.Private, err = k.Seal(keyRecord(&s), s.Private)
	return s, err
}

// OpenKeys decrypts private keys. One that can't be decrypted gets the value "".
func (k *Keyring) OpenKeys(keys []identity.SigningKey) {
	for i := range keys {
		if s := &keys[i]; isSealed(s.Private) {
			s.Private, _ = k.Open(keyRecord(s), s.Private)
		}
	}
}

package auth

import (
	"context"
	"strings"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// tokenKeyPrefix begins the keys that sign tokens.
const tokenKeyPrefix = "sig_"

// TokenKeys are the keys that sign tokens for receivers of the QStash API. Receivers
// accept both, so that a rotation, which makes the next key the current one, never
// invalidates a request.
type TokenKeys struct{ Current, Next string }

func tokenKeysOf(stored string) (TokenKeys, bool) {
	current, next, ok := strings.Cut(stored, " ")
	return TokenKeys{current, next}, ok
}

func (k TokenKeys) String() string { return "the token keys" }

// tokenTries is how often a change of token keys is tried if others change them at the
// same time.
const tokenTries = 5

// ReadTokenKeys returns the token keys of an account, and makes them if it has none.
func ReadTokenKeys(ctx context.Context, s store.Accounts, account int64) (TokenKeys, error) {
	return changeTokenKeys(ctx, s, account, func(k TokenKeys, have bool) (TokenKeys, bool) {
		return TokenKeys{newToken(tokenKeyPrefix), newToken(tokenKeyPrefix)}, !have
	})
}

// changeTokenKeys stores what change returns of an account's token keys, unless that is
// false, and returns them as they are then.
func changeTokenKeys(ctx context.Context, s store.Accounts, account int64,
	change func(k TokenKeys, have bool) (TokenKeys, bool)) (TokenKeys, error) {
	for range tokenTries {
		a, err := s.AccountOf(ctx, account)
		if err != nil {
			return TokenKeys{}, err
		}
		if !a.DeletedAt.IsZero() {
			return TokenKeys{}, fault.NoSuch("account")
		}
		have, ok := tokenKeysOf(a.TokenKeys)
		changed, replace := change(have, ok)
		if !replace {
			return have, nil
		}
		replaced, err := s.AccountTokenKeys(ctx, account, a.TokenKeys, changed.Current+" "+changed.Next)
		if err != nil {
			return TokenKeys{}, err
		}
		if replaced {
			return changed, nil
		}
	}
	return TokenKeys{}, fault.New(fault.Conflict, "other calls are changing the signing keys at the same time; nothing was changed, try again")
}

// TokenKeys returns the keys that sign tokens for an account. It returns a NotFound
// fault if the account was deleted, and execute.ErrSealed if they can't be decrypted.
func (a *Authenticator) TokenKeys(ctx context.Context, account int64) (TokenKeys, error) {
	return a.tokens.get(account, a.Now(), func() (TokenKeys, error) { return ReadTokenKeys(ctx, a.Store, account) })
}

// TokenKey returns the key that signs tokens for an account; see TokenKeys.
func (a *Authenticator) TokenKey(ctx context.Context, account int64) (execute.Secret, error) {
	keys, err := a.TokenKeys(ctx, account)
	return execute.Secret(keys.Current), err
}

// RotateTokenKeys makes the next token key of an account the current one, and makes
// another next one.
func (a *Authenticator) RotateTokenKeys(ctx context.Context, owner job.Owner, by audit.Actor) (TokenKeys, error) {
	if err := access.Allow(ctx, "auth.Authenticator.RotateTokenKeys"); err != nil {
		return TokenKeys{}, err
	}
	keys, err := changeTokenKeys(ctx, a.Store, owner.Number, func(k TokenKeys, have bool) (TokenKeys, bool) {
		if !have {
			k.Next = newToken(tokenKeyPrefix)
		}
		return TokenKeys{k.Next, newToken(tokenKeyPrefix)}, true
	})
	if err != nil {
		return TokenKeys{}, err
	}
	a.Forget()
	a.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.TokenKeysRotated})
	return keys, nil
}

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

// errTokenKeysSealed is returned for token keys that can't be decrypted.
var errTokenKeysSealed = &fault.Error{
	Code: fault.Conflict, Cause: execute.ErrSealed,
	Message: "the signing keys are encrypted with a key that the file of --secrets-key-file does not have; " +
		"add it to the file, or rotate the signing keys",
}

// ReadTokenKeys returns the token keys of an account, and makes them if it has none. Its
// error is execute.ErrSealed if they can't be decrypted.
func ReadTokenKeys(ctx context.Context, s store.Accounts, account int64) (TokenKeys, error) {
	return tokenKeys(ctx, s, account, false)
}

// tokenKeys returns the token keys of an account after it has rotated them, if rotate is
// true, or has made them if there are none. A rotation replaces keys that can't be
// decrypted.
func tokenKeys(ctx context.Context, s store.Accounts, account int64, rotate bool) (TokenKeys, error) {
	for range tokenTries {
		a, err := s.AccountOf(ctx, account)
		if err != nil {
			return TokenKeys{}, err
		}
		if !a.DeletedAt.IsZero() {
			return TokenKeys{}, fault.NoSuch("account")
		}
		have, ok := tokenKeysOf(a.TokenKeys)
		switch {
		case ok && !rotate:
			return have, nil
		case !ok && !rotate && a.TokenKeys != "":
			return TokenKeys{}, errTokenKeysSealed
		case !ok:
			have.Next = newToken(tokenKeyPrefix)
		}
		changed := TokenKeys{have.Next, newToken(tokenKeyPrefix)}
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
	keys, err := tokenKeys(ctx, a.Store, owner.Number, true)
	if err != nil {
		return TokenKeys{}, err
	}
	a.Forget()
	a.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.TokenKeysRotated})
	return keys, nil
}

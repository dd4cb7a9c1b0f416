package auth

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// MaxKeys is how many keys that work an account may have.
const MaxKeys = 100

// maxKeyName is how many characters a key's name may have.
const maxKeyName = 255

// AddKey makes a key for an account's owner and gives it with its record; an
// Invalid fault when the name won't do or there are too many keys.
func AddKey(ctx context.Context, s store.Accounts, account int64, name string, now time.Time) (string, *store.Key, error) {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxKeyName || strings.ContainsFunc(name, odd) {
		return "", nil, fault.Refuse([]fault.Problem{{Pointer: "#/name", Detail: fmt.Sprintf("must be at most %d printable characters", maxKeyName)}})
	}
	keys, err := s.KeyList(ctx, account)
	if err != nil {
		return "", nil, err
	}
	working := 0
	for _, k := range keys {
		if k.RevokedAt.IsZero() {
			working++
		}
	}
	if working >= MaxKeys {
		return "", nil, fault.Refuse([]fault.Problem{{Pointer: "#", Detail: fmt.Sprintf("can't be accepted: the account has %d keys, as many as there may be; revoke one that is not used", MaxKeys)}})
	}
	a := &store.Account{}
	a.Number = account
	return CreateKey(ctx, s, a, name, now)
}

// RevokeKey ends one of an account's keys; a NotFound fault when it has no such
// key, an Invalid fault when it is the one in use.
func (a *Authenticator) RevokeKey(ctx context.Context, account int64, id, inUse uuid.UUID) error {
	keys, err := a.Store.KeyList(ctx, account)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		if id == inUse {
			return fault.New(fault.Invalid, "this call was made with that very key; revoke it with another one")
		}
		if err := a.Store.KeyRevoke(ctx, id, a.Now()); err != nil {
			return err
		}
		a.Forget()
		return nil
	}
	return fault.NoSuch("key")
}

// Rotate makes a new signing secret for an account and gives the account with
// all that sign, newest first.
func (a *Authenticator) Rotate(ctx context.Context, account int64) (*store.Account, error) {
	found, err := a.Store.AccountOf(ctx, account)
	if err != nil {
		return nil, err
	}
	if err := RotateSecret(ctx, a.Store, found, a.Now()); err != nil {
		return nil, err
	}
	a.Forget()
	return a.Store.AccountOf(ctx, account)
}

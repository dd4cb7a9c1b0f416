package auth

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// Account returns an account by its number, from a cache of at most one second,
// or a NotFound fault. The caller must not modify it.
func (a *Authenticator) Account(ctx context.Context, number int64) (*identity.Account, error) {
	return a.accounts.get(number, a.Now(), func() (*identity.Account, error) { return a.Store.AccountOf(ctx, number) })
}

// AccountWithID returns an account that is not deleted by its ID, as it is stored, or a
// NotFound fault.
func (a *Authenticator) AccountWithID(ctx context.Context, id uuid.UUID) (*identity.Account, error) {
	return a.Store.AccountWithID(ctx, id)
}

// CurrentAccount returns an account by its number, as it is stored, or a NotFound
// fault.
func (a *Authenticator) CurrentAccount(ctx context.Context, number int64) (*identity.Account, error) {
	return a.Store.AccountOf(ctx, number)
}

// Keys returns an account's keys, revoked and expired ones included, in order of
// creation.
func (a *Authenticator) Keys(ctx context.Context, account int64) ([]*identity.Key, error) {
	return a.Store.KeyList(ctx, account)
}

// Knows reports whether the key in an Authorization header was valid at its last
// look-up, however long ago. Such a key is not a guess.
func (a *Authenticator) Knows(header string) bool {
	_, key, _ := strings.Cut(header, " ")
	hash := hashKey(strings.TrimSpace(key))
	return a.public != nil && equal(hash, a.publicHash) || a.known.Has([32]byte(hash))
}

// maxReason is how many characters the reason for a suspension may have.
const maxReason = 200

// CheckReason returns an Invalid fault if a text is not valid as the reason for
// suspending an account.
func CheckReason(reason string) error {
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(reason) || utf8.RuneCountInString(reason) > maxReason || strings.ContainsFunc(reason, odd) {
		return fault.Refuse([]fault.Problem{{Pointer: "#/reason",
			Detail: fmt.Sprintf("must be at most %d printable characters", maxReason)}})
	}
	return nil
}

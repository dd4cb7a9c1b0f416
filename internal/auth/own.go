package auth

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/access"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
)

// MaxKeys is how many usable keys an account may have.
const MaxKeys = 100

// maxKeyName is how many characters a key's name may have.
const maxKeyName = 255

// Works reports whether a key can be used at the time now.
func Works(k *identity.Key, now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// AddKey creates a key for an account and returns it with its record, or an Invalid
// fault if the spec is invalid or the account has too many keys.
func (a *Authenticator) AddKey(ctx context.Context, owner job.Owner, spec KeySpec, by audit.Actor) (string, *identity.Key, error) {
	if err := access.Allow(ctx, "auth.Authenticator.AddKey"); err != nil {
		return "", nil, err
	}
	spec.madeBy = by.Name
	if role := access.Role(ctx); role != identity.RoleOwner {
		spec.ceiling = role
	}
	now := a.Now()
	keys, err := a.Store.KeyList(ctx, owner.Number)
	if err != nil {
		return "", nil, err
	}
	working := 0
	for _, k := range keys {
		if Works(k, now) {
			working++
		}
	}
	if working >= MaxKeys {
		return "", nil, fault.Refuse([]fault.Problem{{Pointer: "#",
			Detail: fmt.Sprintf("can't be accepted: the account has %d keys, which is the limit; revoke one that is not used", MaxKeys)}})
	}
	key, record, err := IssueKey(ctx, a.Store, owner.Number, spec, now)
	if err == nil {
		a.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.KeyCreated, Detail: DescribeKey(record)})
	}
	return key, record, err
}

// DescribeKey describes a key's prefix, name and restrictions for the audit log.
func DescribeKey(k *identity.Key) string {
	text := k.Prefix
	if k.Name != "" {
		text += fmt.Sprintf(" %q", k.Name)
	}
	text += ", scope " + string(k.Scope)
	if !k.ExpiresAt.IsZero() {
		text += ", expires " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	if len(k.CIDRs) > 0 {
		text += ", from " + strings.Join(k.CIDRs, ", ")
	}
	return text
}

// RevokeKey revokes one of an account's keys. It returns a NotFound fault if there
// is no such key, and an Invalid fault if it is the key that made the call.
func (a *Authenticator) RevokeKey(ctx context.Context, owner job.Owner, id, inUse uuid.UUID, by audit.Actor) error {
	if err := access.Allow(ctx, "auth.Authenticator.RevokeKey"); err != nil {
		return err
	}
	keys, err := a.Store.KeyList(ctx, owner.Number)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if k.ID != id {
			continue
		}
		if id == inUse {
			return fault.New(fault.Invalid, "this call was made with that same key; revoke it with another one")
		}
		if err := a.Store.KeyRevoke(ctx, id, a.Now()); err != nil {
			return err
		}
		a.Forget()
		if k.RevokedAt.IsZero() {
			a.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.KeyRevoked, Detail: DescribeKey(k)})
		}
		return nil
	}
	return fault.NoSuch("key")
}

// Rotate creates a signing secret for an account and returns the account with all
// secrets that sign, newest first.
func (a *Authenticator) Rotate(ctx context.Context, owner job.Owner, by audit.Actor) (*identity.Account, error) {
	if err := access.Allow(ctx, "auth.Authenticator.Rotate"); err != nil {
		return nil, err
	}
	found, err := a.Store.AccountOf(ctx, owner.Number)
	if err != nil {
		return nil, err
	}
	if err := RotateSecret(ctx, a.Store, found, a.Now()); err != nil {
		return nil, err
	}
	a.Forget()
	a.Audit.Audit(ctx, audit.Entry{Account: owner, Actor: by, Event: audit.SecretRotated})
	return a.Store.AccountOf(ctx, owner.Number)
}

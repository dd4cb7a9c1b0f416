package records

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

var keys = Table[identity.Key]{
	Name: "keys", Key: []string{"id"},
	Columns: []Column[identity.Key]{
		{"id", func(k *identity.Key) any { return &k.ID }},
		{"account", func(k *identity.Key) any { return &k.Account }},
		{"name", func(k *identity.Key) any { return &k.Name }},
		{"prefix", func(k *identity.Key) any { return &k.Prefix }},
		{"hash", func(k *identity.Key) any { return &k.Hash }},
		{"created_at", func(k *identity.Key) any { return &k.CreatedAt }},
		{"last_used_at", func(k *identity.Key) any { return &k.LastUsedAt }},
		{"revoked_at", func(k *identity.Key) any { return &k.RevokedAt }},
		{"scope", func(k *identity.Key) any { return (*string)(&k.Scope) }},
		{"expires_at", func(k *identity.Key) any { return &k.ExpiresAt }},
		{"cidrs", func(k *identity.Key) any { return &list{to: &k.CIDRs, nullable: true} }},
		{"made_by", func(k *identity.Key) any { return orNull{&k.MadeBy} }},
		{"ceiling", func(k *identity.Key) any { return orNull{(*string)(&k.Ceiling)} }},
	},
}

// surplus is how many rows beyond a maximum are deleted at once: there is one at most,
// unless the maximum was lowered.
const surplus = 1000

// KeyInsert implements store.Accounts.
func (r *Records) KeyInsert(ctx context.Context, k *identity.Key) error {
	return r.write(ctx, keys.Insert(k), Query{
		SQL: r.engine.Dialect().DeleteSome("keys", keys.Key, `WHERE account = $1 AND (revoked_at IS NOT NULL OR expires_at <= $2)
			ORDER BY coalesce(revoked_at, expires_at) DESC LIMIT $4 OFFSET $3`),
		Args: []any{k.Account, r.engine.Now(), identity.MaxKeysEnded, surplus},
	})
}

func (r *Records) keysWhere(ctx context.Context, where string, arg any) ([]*identity.Key, error) {
	return read(ctx, r, Access, &keys, `WHERE `+where, arg)
}

// KeyFind implements store.Accounts.
func (r *Records) KeyFind(ctx context.Context, hash []byte) (*identity.Key, error) {
	found, err := r.keysWhere(ctx, `hash = $1 AND revoked_at IS NULL`, hash)
	return first(found, err, "key")
}

// KeyGet implements store.Accounts.
func (r *Records) KeyGet(ctx context.Context, id uuid.UUID) (*identity.Key, error) {
	found, err := r.keysWhere(ctx, `id = $1`, id)
	return first(found, err, "key")
}

// KeyList implements store.Accounts.
func (r *Records) KeyList(ctx context.Context, account int64) ([]*identity.Key, error) {
	return r.keysWhere(ctx, `account = $1 ORDER BY created_at, id`, account)
}

// KeyRevoke implements store.Accounts.
func (r *Records) KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error {
	return r.write(ctx, Query{
		SQL: `UPDATE keys SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2`, Args: []any{at, id}, None: fault.NoSuch("key"),
	})
}

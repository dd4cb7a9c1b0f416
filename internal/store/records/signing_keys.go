package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/identity"
)

var signingKeys = Table[identity.SigningKey]{
	Name: "signing_keys", Key: []string{"account", "number"},
	Columns: []Column[identity.SigningKey]{
		{"account", func(k *identity.SigningKey) any { return &k.Account }},
		{"number", func(k *identity.SigningKey) any { return &k.Number }},
		{"private", func(k *identity.SigningKey) any { return &k.Private }},
		{"created_at", func(k *identity.SigningKey) any { return &k.CreatedAt }},
		{"signs_at", func(k *identity.SigningKey) any { return &k.SignsAt }},
		{"ends_at", func(k *identity.SigningKey) any { return &k.EndsAt }},
	},
}

// SigningKeys implements store.SigningKeys.
func (r *Records) SigningKeys(ctx context.Context, account int64) ([]identity.SigningKey, error) {
	return r.signingKeys(ctx, Access, `WHERE account = $1 AND (ends_at IS NULL OR ends_at > $2) ORDER BY number DESC`, account,
		r.engine.Now())
}

// SigningKeyPage implements store.SigningKeys.
func (r *Records) SigningKeyPage(ctx context.Context, account, number int64, limit int) ([]identity.SigningKey, error) {
	return r.signingKeys(ctx, Background, `WHERE (account, number) > ($1, $2) ORDER BY account, number LIMIT $3`, account, number, limit)
}

func (r *Records) signingKeys(ctx context.Context, class Class, rest string, args ...any) ([]identity.SigningKey, error) {
	var found []*identity.SigningKey
	if err := r.engine.Read(ctx, class, signingKeys.Select(&found, nil, rest, args...)); err != nil {
		return nil, err
	}
	keys := make([]identity.SigningKey, len(found))
	for i, k := range found {
		keys[i] = *k
	}
	return keys, nil
}

// SigningKeyAdd implements store.SigningKeys.
func (r *Records) SigningKeyAdd(ctx context.Context, k *identity.SigningKey, othersEnd time.Time) (added bool, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		n := 0
		insert := signingKeys.InsertNew(k)
		insert.Changed = &n
		if err := t.Run(insert); err != nil {
			return nil, err
		}
		var last []Query
		if added = n > 0; added && !othersEnd.IsZero() {
			last = append(last, Query{
				SQL:  `UPDATE signing_keys SET ends_at = least(coalesce(ends_at, $1::bigint), $1::bigint) WHERE account = $2 AND number <> $3`,
				Args: []any{othersEnd, k.Account, k.Number},
			})
		}
		return append(last, Query{
			SQL: `DELETE FROM signing_keys WHERE account = $1 AND (ends_at <= $2 OR account <> $3 AND NOT EXISTS (
				SELECT 1 FROM secrets s WHERE s.account = signing_keys.account AND s.created_at = signing_keys.number))`,
			Args: []any{k.Account, t.Now(), identity.IssuerAccount},
		}), nil
	})
	return added, err
}

// SigningKeyReplace implements store.SigningKeys. SQLite overwrites the old value in
// the file.
func (r *Records) SigningKeyReplace(ctx context.Context, k *identity.SigningKey, private string) error {
	return r.write(ctx, r.overwriting(Query{
		SQL:  `UPDATE signing_keys SET private = $1 WHERE account = $2 AND number = $3 AND private = $4`,
		Args: []any{private, k.Account, k.Number, k.Private},
	})...)
}

package records

import (
	"context"
	"slices"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/store"
)

var headerSecrets = Table[identity.HeaderSecret]{
	Name: "header_secrets", Key: []string{"account", "name"},
	Columns: []Column[identity.HeaderSecret]{
		{"account", func(h *identity.HeaderSecret) any { return &h.Account }},
		{"name", func(h *identity.HeaderSecret) any { return &h.Name }},
		{"hosts", func(h *identity.HeaderSecret) any { return &list{to: &h.Hosts} }},
		{"http", func(h *identity.HeaderSecret) any { return &h.HTTP }},
		{"value", func(h *identity.HeaderSecret) any { return &h.Value }},
		{"created_at", func(h *identity.HeaderSecret) any { return &h.CreatedAt }},
		{"updated_at", func(h *identity.HeaderSecret) any { return &h.UpdatedAt }},
	},
}

// lockAccount keeps other transactions from changing what an account has.
func lockAccount(account int64) Query {
	return Query{SQL: `SELECT number FROM accounts WHERE number = $1 FOR UPDATE`, Args: []any{account}, Lock: true}
}

// SecretPut implements store.HeaderSecrets.
func (r *Records) SecretPut(ctx context.Context, h *identity.HeaderSecret, putIf store.PutIf) (created bool, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var full, known bool
		err := t.Run(lockAccount(h.Account), Query{
			SQL:  `SELECT count(*) >= $1, count(*) FILTER (WHERE name = $2) > 0 FROM header_secrets WHERE account = $3`,
			Args: []any{identity.MaxHeaderSecrets, h.Name, h.Account}, Row: into(&full, &known),
		})
		if err != nil {
			return nil, err
		}
		if err := putIf.Check("secret", known); err != nil {
			return nil, err
		}
		if created = !known; created && full {
			return nil, fault.New(fault.Invalid, store.TooManySecrets)
		}
		put := headerSecrets.Put(h, "created_at", "updated_at")
		// Each change has a later time, also while the clock stands.
		put.SQL += `, updated_at = greatest(header_secrets.updated_at + 1, excluded.updated_at) RETURNING created_at, updated_at`
		put.Row = into(&h.CreatedAt, &h.UpdatedAt)
		return []Query{put}, nil
	})
	return created, err
}

// SecretsNamed implements store.HeaderSecrets.
func (r *Records) SecretsNamed(ctx context.Context, account int64, names []string) ([]*identity.HeaderSecret, error) {
	return read(ctx, r, Access, &headerSecrets, `WHERE account = $1 AND name = ANY($2)`, account, names)
}

// SecretList implements store.HeaderSecrets.
func (r *Records) SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error) {
	return read(ctx, r, Access, &headerSecrets, `WHERE account = $1 ORDER BY name LIMIT $2`, account, identity.MaxHeaderSecrets)
}

// SecretDelete implements store.HeaderSecrets.
func (r *Records) SecretDelete(ctx context.Context, account int64, name string, limit int) (uses int, err error) {
	found := false
	reads := func(most int) []Query {
		return []Query{Named(account, store.Name{Kind: store.NamesSecret, Name: name}, &found), {
			SQL:  `SELECT count(*) FROM (SELECT 1 FROM secret_uses WHERE account = $1 AND name = $2 LIMIT $3) u`,
			Args: []any{account, name, most}, Row: into(&uses),
		}}
	}
	count := func() error {
		err := r.engine.Read(ctx, Pages, reads(limit)...)
		if err == nil && !found {
			err = fault.NoSuch("secret")
		}
		return err
	}
	if err := count(); err != nil || uses > 0 {
		return uses, err
	}
	err = r.deleteNamed(ctx, account, func() []Query { return append([]Query{lockAccount(account)}, reads(1)...) },
		func(Tx) ([]Query, error) {
			switch {
			case !found:
				return nil, fault.NoSuch("secret")
			case uses > 0:
				return nil, nil
			}
			return []Query{{SQL: `DELETE FROM header_secrets WHERE account = $1 AND name = $2`, Args: []any{account, name}}}, nil
		})
	if err != nil || uses == 0 {
		return 0, err
	}
	err = count() // there was none a moment ago
	return max(uses, 1), err
}

// encrypted returns a query that adds encrypted values to found.
func encrypted(found *[]store.Encrypted, sql string, args []any, to func(*store.Encrypted) []any) Query {
	return Query{
		SQL: sql, Args: args, Start: func() { *found = nil },
		Row: func(row Row) error {
			var e store.Encrypted
			err := scan(row, append([]any{&e.Account.Number, &e.Account.ID, &e.Value}, to(&e)...)...)
			*found = append(*found, e)
			return err
		},
	}
}

// EncryptedSigning implements store.HeaderSecrets.
func (r *Records) EncryptedSigning(ctx context.Context, after store.Encrypted, limit int) (found []store.Encrypted, err error) {
	err = r.engine.Read(ctx, Background, encrypted(&found,
		`SELECT s.account, a.id, s.value, s.created_at FROM secrets s JOIN accounts a ON a.number = s.account
			WHERE (s.account, s.created_at, s.value) > ($1, $2, $3) ORDER BY s.account, s.created_at, s.value LIMIT $4`,
		[]any{after.Account.Number, Instant(after.CreatedAt), after.Value, limit},
		func(e *store.Encrypted) []any { return []any{&e.CreatedAt} }))
	return found, err
}

// EncryptedHeaders implements store.HeaderSecrets.
func (r *Records) EncryptedHeaders(ctx context.Context, after store.Encrypted, limit int) (found []store.Encrypted, err error) {
	err = r.engine.Read(ctx, Background, encrypted(&found,
		`SELECT h.account, a.id, h.value, h.name, h.hosts, h.http FROM header_secrets h JOIN accounts a ON a.number = h.account
			WHERE (h.account, h.name) > ($1, $2) ORDER BY h.account, h.name LIMIT $3`,
		[]any{after.Account.Number, after.Name, limit},
		func(e *store.Encrypted) []any { return []any{&e.Name, &list{to: &e.Hosts}, &e.HTTP} }))
	return found, err
}

// EncryptedTokens implements store.HeaderSecrets.
func (r *Records) EncryptedTokens(ctx context.Context, after store.Encrypted, limit int) (found []store.Encrypted, err error) {
	err = r.engine.Read(ctx, Background, encrypted(&found,
		`SELECT number, id, CASE WHEN deleted_at IS NULL THEN coalesce(token_keys, '') ELSE '' END FROM accounts
			WHERE number > $1 ORDER BY number LIMIT $2`,
		[]any{after.Account.Number, limit}, func(e *store.Encrypted) []any { e.Tokens = true; return nil }))
	return found, err
}

// EncryptedReplace implements store.HeaderSecrets. SQLite overwrites the old values in
// the file, some of which may not have been encrypted.
func (r *Records) EncryptedReplace(ctx context.Context, values []store.Reencrypted) error {
	queries := make([]Query, 0, len(values))
	for _, v := range values {
		if v.Name != "" {
			queries = append(queries, Query{
				SQL:  `UPDATE header_secrets SET value = $1 WHERE account = $2 AND name = $3 AND value = $4`,
				Args: []any{v.New, v.Account.Number, v.Name, v.Value},
			})
			continue
		}
		if v.Tokens {
			queries = append(queries, Query{
				SQL:  `UPDATE accounts SET token_keys = $1 WHERE number = $2 AND token_keys = $3`,
				Args: []any{v.New, v.Account.Number, v.Value},
			})
			continue
		}
		queries = append(queries, Query{
			SQL:  `UPDATE secrets SET value = $1 WHERE account = $2 AND created_at = $3 AND value = $4`,
			Args: []any{v.New, v.Account.Number, v.CreatedAt, v.Value},
		})
	}
	return r.write(ctx, r.overwriting(queries...)...)
}

// overwriting returns queries after which SQLite's file does not have the values that
// they replace.
func (r *Records) overwriting(queries ...Query) []Query {
	if r.engine.Dialect() != SQLite {
		return queries
	}
	return slices.Concat([]Query{{SQL: `PRAGMA secure_delete = ON`}}, queries, []Query{{SQL: `PRAGMA secure_delete = OFF`}})
}

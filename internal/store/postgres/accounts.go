package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// AccountInsert implements store.Accounts.
func (s *Store) AccountInsert(ctx context.Context, a *identity.Account) error {
	err := s.write(ctx, func(t *tx) error {
		secrets, err := t.insertAccount(a)
		if err != nil {
			return err
		}
		return t.commit(secrets...)
	})
	return taken(err, a)
}

// insertAccount stores an account and returns the queries that store its secrets.
func (t *tx) insertAccount(a *identity.Account) (secrets []query, err error) {
	err = t.run(query{
		sql:  `INSERT INTO accounts (id, email, created_at, password, operator, origin) VALUES ($1, $2, $3, $4, $5, $6) RETURNING number`,
		args: []any{a.ID, a.Email, a.CreatedAt.UnixMicro(), orNull(a.Password), a.Operator, int16(a.Origin)},
		row:  func(rows pgx.Rows) error { return rows.Scan(&a.Number) },
	})
	for _, secret := range a.Secrets {
		secrets = append(secrets, insertSecret(a.Number, secret))
	}
	return secrets, err
}

// taken turns the error for an email that is taken into a fault.
func taken(err error, a *identity.Account) error {
	if code(err) == "23505" {
		return fault.New(fault.Invalid, fmt.Sprintf("there is an account %s already", a.Email))
	}
	return err
}

// orNull returns a text, or nil for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func insertSecret(account int64, secret identity.Secret) query {
	return query{
		sql:  `INSERT INTO secrets (account, created_at, value, expires_at) VALUES ($1, $2, $3, $4)`,
		args: []any{account, secret.CreatedAt.UnixMicro(), secret.Value, micros(secret.ExpiresAt)},
	}
}

func (s *Store) accountsWhere(ctx context.Context, where string, args ...any) ([]*identity.Account, error) {
	var accounts []*identity.Account
	now := s.Now().UnixMicro()
	byNumber := map[int64]*identity.Account{}
	err := s.readAs(ctx, access,
		query{sql: `SELECT a.number, a.id, a.email, a.created_at, coalesce(a.password, ''), a.operator, a.deleted_at,
			a.max_pending, a.max_schedules, a.max_stored, a.max_rate, a.suspended_at, coalesce(a.suspended_for, ''), a.origin FROM accounts a WHERE ` + where + ` ORDER BY a.number`, args: args,
			start: func() { accounts = nil },
			row: func(rows pgx.Rows) error {
				a := &identity.Account{}
				err := rows.Scan(&a.Number, idOf{&a.ID}, &a.Email, timeOf{&a.CreatedAt}, &a.Password, &a.Operator, timeOf{&a.DeletedAt},
					&a.Limits.Pending, &a.Limits.Schedules, &a.Limits.Stored, &a.Limits.Rate, timeOf{&a.SuspendedAt}, &a.SuspendedFor, &a.Origin)
				accounts, byNumber[a.Number] = append(accounts, a), a
				return err
			}},
		query{sql: `SELECT s.account, s.value, s.created_at, s.expires_at FROM accounts a JOIN secrets s ON s.account = a.number
			WHERE ` + where + fmt.Sprintf(` AND (s.expires_at IS NULL OR s.expires_at > $%d) ORDER BY s.created_at DESC`, len(args)+1),
			args: append(slices.Clone(args), now),
			row: func(rows pgx.Rows) error {
				var number int64
				var secret identity.Secret
				err := rows.Scan(&number, &secret.Value, timeOf{&secret.CreatedAt}, timeOf{&secret.ExpiresAt})
				if a := byNumber[number]; a != nil {
					a.Secrets = append(a.Secrets, secret)
				}
				return err
			}},
		query{sql: `SELECT t.account, t.secret, t.created_at, t.confirmed_at, t.last_step, t.recovery
			FROM accounts a JOIN totps t ON t.account = a.number WHERE ` + where, args: args,
			row: func(rows pgx.Rows) error {
				number, totp, err := scanTOTP(rows)
				if a := byNumber[number]; a != nil {
					a.TOTP = totp
				}
				return err
			}})
	return accounts, err
}

func (s *Store) accountWhere(ctx context.Context, where string, arg any) (*identity.Account, error) {
	accounts, err := s.accountsWhere(ctx, where, arg)
	if err != nil {
		return nil, err
	}
	if len(accounts) == 0 {
		return nil, fault.NoSuch("account")
	}
	return accounts[0], nil
}

// AccountGet implements store.Accounts.
func (s *Store) AccountGet(ctx context.Context, email string) (*identity.Account, error) {
	return s.accountWhere(ctx, `a.email = $1`, text(email))
}

// AccountOf implements store.Accounts.
func (s *Store) AccountOf(ctx context.Context, number int64) (*identity.Account, error) {
	return s.accountWhere(ctx, `a.number = $1`, number)
}

// AccountList implements store.Accounts.
func (s *Store) AccountList(ctx context.Context) ([]*identity.Account, error) {
	return s.accountsWhere(ctx, `true`)
}

// SecretAdd implements store.Accounts.
func (s *Store) SecretAdd(ctx context.Context, account int64, secret identity.Secret, othersEnd time.Time) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql:  `UPDATE secrets SET expires_at = least(expires_at, $1) WHERE account = (SELECT $2::bigint)`,
			args: []any{othersEnd.UnixMicro(), account},
		}, insertSecret(account, secret), query{
			sql: `DELETE FROM secrets s WHERE s.account = (SELECT $1::bigint) AND (s.expires_at <= $2 OR (s.created_at, s.value) IN (
				SELECT o.created_at, o.value FROM secrets o WHERE o.account = (SELECT $1::bigint) ORDER BY o.created_at DESC, o.value OFFSET $3))`,
			args: []any{account, t.now.UnixMicro(), identity.MaxSecrets},
		})
	})
}

// KeyInsert implements store.Accounts.
func (s *Store) KeyInsert(ctx context.Context, k *identity.Key) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `INSERT INTO keys (id, account, name, prefix, hash, created_at, scope, expires_at, cidrs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			args: []any{k.ID, k.Account, text(k.Name), text(k.Prefix), k.Hash, k.CreatedAt.UnixMicro(),
				string(k.Scope), micros(k.ExpiresAt), orNull(strings.Join(k.CIDRs, ","))},
		}, query{
			sql: `DELETE FROM keys d USING (SELECT id FROM keys WHERE account = (SELECT $1::bigint) AND (revoked_at IS NOT NULL OR expires_at <= $2)
				ORDER BY coalesce(revoked_at, expires_at) DESC OFFSET $3) o WHERE d.id = o.id`,
			args: []any{k.Account, t.now.UnixMicro(), identity.MaxKeysEnded},
		})
	})
}

func (s *Store) keysWhere(ctx context.Context, where string, args ...any) ([]*identity.Key, error) {
	var keys []*identity.Key
	err := s.readAs(ctx, access, query{
		sql:  `SELECT id, account, name, prefix, hash, created_at, last_used_at, revoked_at, scope, expires_at, coalesce(cidrs, '') FROM keys WHERE ` + where,
		args: args, start: func() { keys = nil },
		row: func(rows pgx.Rows) error {
			k, cidrs := &identity.Key{}, ""
			err := rows.Scan(idOf{&k.ID}, &k.Account, &k.Name, &k.Prefix, &k.Hash, timeOf{&k.CreatedAt}, timeOf{&k.LastUsedAt}, timeOf{&k.RevokedAt},
				(*string)(&k.Scope), timeOf{&k.ExpiresAt}, &cidrs)
			if cidrs != "" {
				k.CIDRs = strings.Split(cidrs, ",")
			}
			keys = append(keys, k)
			return err
		},
	})
	return keys, err
}

// KeyFind implements store.Accounts.
func (s *Store) KeyFind(ctx context.Context, hash []byte) (*identity.Key, error) {
	return s.keyWhere(ctx, `hash = $1 AND revoked_at IS NULL`, hash)
}

// KeyGet implements store.Accounts.
func (s *Store) KeyGet(ctx context.Context, which uuid.UUID) (*identity.Key, error) {
	return s.keyWhere(ctx, `id = $1`, which)
}

func (s *Store) keyWhere(ctx context.Context, where string, arg any) (*identity.Key, error) {
	keys, err := s.keysWhere(ctx, where, arg)
	if err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, fault.NoSuch("key")
	}
	return keys[0], nil
}

// KeyList implements store.Accounts.
func (s *Store) KeyList(ctx context.Context, account int64) ([]*identity.Key, error) {
	return s.keysWhere(ctx, `account = (SELECT $1::bigint) ORDER BY created_at, id`, account)
}

// KeyRevoke implements store.Accounts.
func (s *Store) KeyRevoke(ctx context.Context, which uuid.UUID, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		found := false
		err := t.commit(query{
			sql: `UPDATE keys SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 RETURNING 1`, args: []any{at.UnixMicro(), which},
			row: func(pgx.Rows) error {
				found = true
				return nil
			},
		})
		if err == nil && !found {
			return fault.NoSuch("key")
		}
		return err
	})
}

// KeyUsed implements store.Accounts.
func (s *Store) KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error {
	var keys []uuid.UUID
	var times []int64
	for key, when := range at {
		keys, times = append(keys, key), append(times, when.UnixMicro())
	}
	return s.write(ctx, func(t *tx) error {
		// Nodes may update the same keys: the order avoids deadlocks, the later time wins.
		return t.commit(query{
			sql: `WITH u AS (SELECT k.id, u.at FROM unnest($1::uuid[], $2::bigint[]) AS u (id, at) JOIN keys k ON k.id = u.id ORDER BY k.id FOR UPDATE OF k)
				UPDATE keys k SET last_used_at = greatest(k.last_used_at, u.at) FROM u WHERE k.id = u.id`,
			args: []any{keys, times},
		})
	})
}

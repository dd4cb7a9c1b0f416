package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// AccountInsert implements store.Accounts.
func (s *Store) AccountInsert(ctx context.Context, a *identity.Account) error {
	return s.write(ctx, func(t *tx) error {
		return t.insertAccount(a)
	})
}

func (t *tx) insertAccount(a *identity.Account) error {
	err := t.exec(`INSERT INTO accounts (id, email, created_at, password, operator, origin) VALUES (?, ?, ?, ?, ?, ?)`,
		a.ID, a.Email, a.CreatedAt, orNull(a.Password), a.Operator, int(a.Origin))
	if sqlite.ErrCode(err) == sqlite.ResultConstraintUnique {
		return fault.New(fault.Invalid, fmt.Sprintf("there is an account %s already", a.Email))
	}
	if err != nil {
		return fmt.Errorf("inserting an account: %w", err)
	}
	a.Number = t.conn.LastInsertRowID()
	for _, secret := range a.Secrets {
		if err := t.insertSecret(a.Number, secret); err != nil {
			return err
		}
	}
	return nil
}

// orNull returns a text, or nil for "".
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// numberOrNull returns a number, or null for 0.
func numberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func (t *tx) insertSecret(account int64, secret identity.Secret) error {
	err := t.exec(`INSERT INTO secrets (account, created_at, value, expires_at) VALUES (?, ?, ?, ?)`,
		account, secret.CreatedAt, secret.Value, secret.ExpiresAt)
	if err != nil {
		return fmt.Errorf("inserting a secret: %w", err)
	}
	return nil
}

func (t *tx) accountsWhere(where string, args ...any) ([]*identity.Account, error) {
	var accounts []*identity.Account
	err := t.query(`SELECT number, id, email, created_at, password, operator, deleted_at,
		max_pending, max_schedules, max_stored, max_rate, suspended_at, suspended_for, origin FROM accounts `+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		a := &identity.Account{}
		a.Number, a.ID, a.Email, a.CreatedAt = c.int64(), c.uuid(), c.text(), c.time()
		a.Password, a.Operator, a.DeletedAt = c.text(), c.int() != 0, c.time()
		a.Limits = identity.Overrides{Pending: c.optionalInt64(), Schedules: c.optionalInt64(), Stored: c.optionalInt64(), Rate: c.optionalFloat64()}
		a.SuspendedAt, a.SuspendedFor, a.Origin = c.time(), c.text(), identity.Origin(c.int())
		accounts = append(accounts, a)
		return nil
	}, args...)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		err := t.query(`SELECT value, created_at, expires_at FROM secrets WHERE account = ? AND (expires_at IS NULL OR expires_at > ?)
			ORDER BY created_at DESC`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			a.Secrets = append(a.Secrets, identity.Secret{Value: c.text(), CreatedAt: c.time(), ExpiresAt: c.time()})
			return nil
		}, a.Number, t.now)
		if err == nil {
			a.TOTP, err = t.totp(a.Number)
		}
		if err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

func (s *Store) accountWhere(ctx context.Context, where string, arg any) (*identity.Account, error) {
	a, err := oneAs(ctx, s, access, func(t *tx) (*identity.Account, error) {
		accounts, err := t.accountsWhere(where, arg)
		if err != nil || len(accounts) == 0 {
			return nil, err
		}
		return accounts[0], nil
	})
	if err == nil && a == nil {
		return nil, fault.NoSuch("account")
	}
	return a, err
}

// AccountGet implements store.Accounts.
func (s *Store) AccountGet(ctx context.Context, email string) (*identity.Account, error) {
	return s.accountWhere(ctx, `WHERE email = ?`, email)
}

// AccountOf implements store.Accounts.
func (s *Store) AccountOf(ctx context.Context, number int64) (*identity.Account, error) {
	return s.accountWhere(ctx, `WHERE number = ?`, number)
}

// AccountList implements store.Accounts.
func (s *Store) AccountList(ctx context.Context) ([]*identity.Account, error) {
	var accounts []*identity.Account
	err := s.readAs(ctx, background, func(t *tx) (err error) {
		accounts, err = t.accountsWhere(`ORDER BY number`)
		return err
	})
	return accounts, err
}

// SecretAdd implements store.Accounts.
func (s *Store) SecretAdd(ctx context.Context, account int64, secret identity.Secret, othersEnd time.Time) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE secrets SET expires_at = min(coalesce(expires_at, ?1), ?1) WHERE account = ?2`, othersEnd, account); err != nil {
			return fmt.Errorf("ending secrets: %w", err)
		}
		if err := t.insertSecret(account, secret); err != nil {
			return err
		}
		err := t.exec(`DELETE FROM secrets WHERE account = ?1 AND (expires_at <= ?2 OR (created_at, value) IN (
			SELECT created_at, value FROM secrets WHERE account = ?1 ORDER BY created_at DESC, value LIMIT -1 OFFSET ?3))`, account, t.now, identity.MaxSecrets)
		if err != nil {
			return fmt.Errorf("deleting surplus secrets of an account: %w", err)
		}
		return nil
	})
}

// KeyInsert implements store.Accounts.
func (s *Store) KeyInsert(ctx context.Context, k *identity.Key) error {
	return s.write(ctx, func(t *tx) error {
		err := t.exec(`INSERT INTO keys (id, account, name, prefix, hash, created_at, scope, expires_at, cidrs) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			k.ID, k.Account, k.Name, k.Prefix, k.Hash, k.CreatedAt, string(k.Scope), k.ExpiresAt, orNull(strings.Join(k.CIDRs, ",")))
		if err != nil {
			return fmt.Errorf("inserting a key: %w", err)
		}
		err = t.exec(`DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE account = ?1 AND (revoked_at IS NOT NULL OR expires_at <= ?2)
			ORDER BY coalesce(revoked_at, expires_at) DESC LIMIT -1 OFFSET ?3)`, k.Account, t.now, identity.MaxKeysEnded)
		if err != nil {
			return fmt.Errorf("deleting surplus ended keys of an account: %w", err)
		}
		return nil
	})
}

func (t *tx) keysWhere(where string, args ...any) ([]*identity.Key, error) {
	var keys []*identity.Key
	err := t.query(`SELECT id, account, name, prefix, hash, created_at, last_used_at, revoked_at, scope, expires_at, cidrs FROM keys WHERE `+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		k := &identity.Key{}
		k.ID, k.Account, k.Name, k.Prefix, k.Hash = c.uuid(), c.int64(), c.text(), c.text(), c.blob()
		k.CreatedAt, k.LastUsedAt, k.RevokedAt = c.time(), c.time(), c.time()
		k.Scope, k.ExpiresAt = identity.Scope(c.text()), c.time()
		if cidrs := c.text(); cidrs != "" {
			k.CIDRs = strings.Split(cidrs, ",")
		}
		keys = append(keys, k)
		return nil
	}, args...)
	return keys, err
}

// KeyFind implements store.Accounts.
func (s *Store) KeyFind(ctx context.Context, hash []byte) (*identity.Key, error) {
	return s.keyWhere(ctx, `hash = ? AND revoked_at IS NULL`, hash)
}

// KeyGet implements store.Accounts.
func (s *Store) KeyGet(ctx context.Context, id uuid.UUID) (*identity.Key, error) {
	return s.keyWhere(ctx, `id = ?`, id)
}

func (s *Store) keyWhere(ctx context.Context, where string, arg any) (*identity.Key, error) {
	k, err := oneAs(ctx, s, access, func(t *tx) (*identity.Key, error) {
		keys, err := t.keysWhere(where, arg)
		if err != nil || len(keys) == 0 {
			return nil, err
		}
		return keys[0], nil
	})
	if err == nil && k == nil {
		return nil, fault.NoSuch("key")
	}
	return k, err
}

// KeyList implements store.Accounts.
func (s *Store) KeyList(ctx context.Context, account int64) ([]*identity.Key, error) {
	var keys []*identity.Key
	err := s.readAs(ctx, access, func(t *tx) (err error) {
		keys, err = t.keysWhere(`account = ? ORDER BY created_at, id`, account)
		return err
	})
	return keys, err
}

// KeyRevoke implements store.Accounts.
func (s *Store) KeyRevoke(ctx context.Context, id uuid.UUID, at time.Time) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?`, at, id); err != nil {
			return fmt.Errorf("revoking a key: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("key")
		}
		return nil
	})
}

// KeyUsed implements store.Accounts.
func (s *Store) KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error {
	return s.write(ctx, func(t *tx) error {
		for id, when := range at {
			if err := t.exec(`UPDATE keys SET last_used_at = ? WHERE id = ?`, when, id); err != nil {
				return fmt.Errorf("recording the use of a key: %w", err)
			}
		}
		return nil
	})
}

package sqlite

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

// totp returns an account's second factor; nil if there is none.
func (t *tx) totp(account int64) (found *identity.TOTP, err error) {
	err = t.query(`SELECT secret, created_at, confirmed_at, last_step, recovery FROM totps WHERE account = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		found = &identity.TOTP{Secret: c.blob(), CreatedAt: c.time(), ConfirmedAt: c.time(), LastStep: c.int64()}
		for hash := range slices.Chunk(c.blob(), sha256.Size) {
			found.Recovery = append(found.Recovery, hash)
		}
		return nil
	}, account)
	if err != nil {
		return nil, fmt.Errorf("reading the second factor of account %d: %w", account, err)
	}
	return found, nil
}

func (t *tx) setTOTP(account int64, v *identity.TOTP) error {
	if v == nil {
		return t.exec(`DELETE FROM totps WHERE account = ?`, account)
	}
	err := t.exec(`INSERT INTO totps (account, secret, created_at, confirmed_at, last_step, recovery) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at, confirmed_at = excluded.confirmed_at,
			last_step = excluded.last_step, recovery = excluded.recovery`,
		account, v.Secret, v.CreatedAt, v.ConfirmedAt, v.LastStep, notNil(bytes.Join(v.Recovery, nil)))
	if err != nil {
		return fmt.Errorf("storing a second factor: %w", err)
	}
	return nil
}

// AccountTOTP implements store.People.
func (s *Store) AccountTOTP(ctx context.Context, account int64, decide identity.DecideTOTP) error {
	return s.write(ctx, func(t *tx) error {
		there := false
		err := t.query(`SELECT 1 FROM accounts WHERE number = ? AND deleted_at IS NULL`, func(*sqlite.Stmt) error {
			there = true
			return nil
		}, account)
		if err != nil {
			return fmt.Errorf("looking for an account: %w", err)
		}
		if !there {
			return fault.NoSuch("account")
		}
		current, err := t.totp(account)
		if err != nil {
			return err
		}
		next, err := decide(current)
		if err != nil {
			return err
		}
		return t.setTOTP(account, next)
	})
}

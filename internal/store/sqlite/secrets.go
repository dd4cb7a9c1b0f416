package sqlite

import (
	"context"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// SecretPut implements store.HeaderSecrets.
func (s *Store) SecretPut(ctx context.Context, h *identity.HeaderSecret, putIf store.PutIf) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		full, known := false, false
		err := t.query(`SELECT count(*) >= ?, coalesce(max(name = ?), 0) FROM header_secrets WHERE account = ?`, func(stmt *sqlite.Stmt) error {
			full, known = stmt.ColumnBool(0), stmt.ColumnBool(1)
			return nil
		}, identity.MaxHeaderSecrets, h.Name, h.Account)
		if err != nil {
			return fmt.Errorf("counting the secrets of an account: %w", err)
		}
		if err := putIf.Check("secret", known); err != nil {
			return err
		}
		if created = !known; created && full {
			return fault.New(fault.Invalid, store.TooManySecrets)
		}
		err = t.query(`INSERT INTO header_secrets (account, name, hosts, http, value, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (account, name) DO UPDATE SET hosts = excluded.hosts, http = excluded.http, value = excluded.value, updated_at = max(updated_at + 1, excluded.updated_at)
			RETURNING created_at, updated_at`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			h.CreatedAt, h.UpdatedAt = c.time(), c.time()
			return nil
		}, h.Account, h.Name, strings.Join(h.Hosts, ","), h.HTTP, h.Value, h.CreatedAt, h.UpdatedAt)
		if err != nil {
			return fmt.Errorf("storing a secret: %w", err)
		}
		return nil
	})
	return created, err
}

// SecretsNamed implements store.HeaderSecrets.
func (s *Store) SecretsNamed(ctx context.Context, account int64, names []string) (found []*identity.HeaderSecret, err error) {
	err = s.readAs(ctx, access, func(t *tx) error {
		found = nil
		for _, name := range names {
			some, err := t.headerSecrets(`account = ? AND name = ?`, account, name)
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		return nil
	})
	return found, err
}

// SecretList implements store.HeaderSecrets.
func (s *Store) SecretList(ctx context.Context, account int64) (found []*identity.HeaderSecret, err error) {
	err = s.readAs(ctx, access, func(t *tx) (err error) {
		found, err = t.headerSecrets(`account = ? ORDER BY name LIMIT ?`, account, identity.MaxHeaderSecrets)
		return err
	})
	return found, err
}

func (t *tx) headerSecrets(where string, args ...any) (found []*identity.HeaderSecret, err error) {
	err = t.query(`SELECT account, name, hosts, http, value, created_at, updated_at FROM header_secrets WHERE `+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		found = append(found, &identity.HeaderSecret{
			Account: c.int64(), Name: c.text(), Hosts: strings.Split(c.text(), ","), HTTP: c.int() != 0, Value: c.text(), CreatedAt: c.time(), UpdatedAt: c.time(),
		})
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading secrets: %w", err)
	}
	return found, nil
}

// SecretDelete implements store.HeaderSecrets.
func (s *Store) SecretDelete(ctx context.Context, account int64, name string, limit int) (uses int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.query(`SELECT count(*) FROM (SELECT 1 FROM secret_uses WHERE account = ? AND name = ? LIMIT ?)`, func(stmt *sqlite.Stmt) error {
			uses = stmt.ColumnInt(0)
			return nil
		}, account, name, limit)
		if err != nil {
			return fmt.Errorf("counting the uses of a secret: %w", err)
		}
		known, err := t.headerSecrets(`account = ? AND name = ?`, account, name)
		switch {
		case err != nil:
			return err
		case len(known) == 0:
			return fault.NoSuch("secret")
		case uses > 0:
			return nil
		}
		return t.exec(`DELETE FROM header_secrets WHERE account = ? AND name = ?`, account, name)
	})
	return uses, err
}

// addSecretUses records the names of the secrets that an unfinished job uses.
func (t *tx) addSecretUses(j *job.Job, names []string) error {
	if j.State.Final() {
		return nil
	}
	for _, name := range names {
		if err := t.exec(`INSERT INTO secret_uses (account, name, job) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, j.Owner.Number, name, j.Number); err != nil {
			return fmt.Errorf("storing which secrets a job uses: %w", err)
		}
	}
	return nil
}

// removeSecretUses deletes what addSecretUses recorded.
func (t *tx) removeSecretUses(j *job.Job) error {
	if err := t.exec(`DELETE FROM secret_uses WHERE job = ?`, j.Number); err != nil {
		return fmt.Errorf("deleting which secrets a job uses: %w", err)
	}
	return nil
}

// EncryptedSigning implements store.HeaderSecrets.
func (s *Store) EncryptedSigning(ctx context.Context, after store.Encrypted, limit int) (found []store.Encrypted, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		found = nil
		return t.query(`SELECT s.account, a.id, s.created_at, s.value FROM secrets s JOIN accounts a ON a.number = s.account
			WHERE (s.account, s.created_at, s.value) > (?, ?, ?) ORDER BY s.account, s.created_at, s.value LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			found = append(found, store.Encrypted{Account: job.Owner{Number: c.int64(), ID: c.uuid()}, CreatedAt: c.time(), Value: c.text()})
			return nil
		}, after.Account.Number, instant(after.CreatedAt), after.Value, limit)
	})
	return found, err
}

// EncryptedHeaders implements store.HeaderSecrets.
func (s *Store) EncryptedHeaders(ctx context.Context, after store.Encrypted, limit int) (found []store.Encrypted, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		found = nil
		return t.query(`SELECT h.account, a.id, h.name, h.hosts, h.http, h.value FROM header_secrets h JOIN accounts a ON a.number = h.account
			WHERE (h.account, h.name) > (?, ?) ORDER BY h.account, h.name LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			found = append(found, store.Encrypted{
				Account: job.Owner{Number: c.int64(), ID: c.uuid()}, Name: c.text(), Hosts: strings.Split(c.text(), ","), HTTP: c.int() != 0, Value: c.text(),
			})
			return nil
		}, after.Account.Number, after.Name, limit)
	})
	return found, err
}

// EncryptedReplace implements store.HeaderSecrets. It overwrites the old values
// in the file, some of which may not have been encrypted.
func (s *Store) EncryptedReplace(ctx context.Context, values []store.Reencrypted) error {
	return s.write(ctx, func(t *tx) error {
		if err := t.exec(`PRAGMA secure_delete = ON`); err != nil {
			return err
		}
		for _, v := range values {
			err := error(nil)
			if v.Name != "" {
				err = t.exec(`UPDATE header_secrets SET value = ? WHERE account = ? AND name = ? AND value = ?`, v.New, v.Account.Number, v.Name, v.Value)
			} else {
				err = t.exec(`UPDATE secrets SET value = ? WHERE account = ? AND created_at = ? AND value = ?`, v.New, v.Account.Number, v.CreatedAt, v.Value)
			}
			if err != nil {
				return fmt.Errorf("replacing an encrypted value: %w", err)
			}
		}
		return t.exec(`PRAGMA secure_delete = OFF`)
	})
}

package postgres

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// lockAccount keeps other transactions from changing an account's secrets.
func lockAccount(account int64) query {
	return query{sql: `SELECT number FROM accounts WHERE number = $1 FOR UPDATE`, args: []any{account}}
}

// SecretPut implements store.HeaderSecrets.
func (s *Store) SecretPut(ctx context.Context, h *identity.HeaderSecret, putIf store.PutIf) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		var full, known bool
		err := t.run(lockAccount(h.Account), query{
			sql:  `SELECT count(*) >= $1, coalesce(bool_or(name = $2), false) FROM header_secrets WHERE account = (SELECT $3::bigint)`,
			args: []any{identity.MaxHeaderSecrets, h.Name, h.Account},
			row:  func(rows pgx.Rows) error { return rows.Scan(&full, &known) },
		})
		if err != nil {
			return err
		}
		if err := putIf.Check("secret", known); err != nil {
			return err
		}
		if created = !known; created && full {
			return fault.New(fault.Invalid, store.TooManySecrets)
		}
		return t.commit(query{
			sql: `INSERT INTO header_secrets AS h (account, name, hosts, http, value, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (account, name) DO UPDATE SET hosts = excluded.hosts, http = excluded.http, value = excluded.value, updated_at = greatest(h.updated_at + 1, excluded.updated_at)
				RETURNING created_at, updated_at`,
			args: []any{h.Account, h.Name, strings.Join(h.Hosts, ","), h.HTTP, h.Value, h.CreatedAt.UnixMicro(), h.UpdatedAt.UnixMicro()},
			row:  func(rows pgx.Rows) error { return rows.Scan(timeOf{&h.CreatedAt}, timeOf{&h.UpdatedAt}) },
		})
	})
	return created, err
}

// SecretsNamed implements store.HeaderSecrets.
func (s *Store) SecretsNamed(ctx context.Context, account int64, names []string) ([]*identity.HeaderSecret, error) {
	return s.headerSecrets(ctx, `account = (SELECT $1::bigint) AND name = ANY($2)`, account, names)
}

// SecretList implements store.HeaderSecrets.
func (s *Store) SecretList(ctx context.Context, account int64) ([]*identity.HeaderSecret, error) {
	return s.headerSecrets(ctx, `account = (SELECT $1::bigint) ORDER BY name LIMIT $2`, account, identity.MaxHeaderSecrets)
}

func (s *Store) headerSecrets(ctx context.Context, where string, args ...any) (found []*identity.HeaderSecret, err error) {
	err = s.readAs(ctx, access, query{
		sql: `SELECT account, name, hosts, http, value, created_at, updated_at FROM header_secrets WHERE ` + where, args: args,
		start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			h, hosts := &identity.HeaderSecret{}, ""
			err := rows.Scan(&h.Account, &h.Name, &hosts, &h.HTTP, &h.Value, timeOf{&h.CreatedAt}, timeOf{&h.UpdatedAt})
			h.Hosts = strings.Split(hosts, ",")
			found = append(found, h)
			return err
		},
	})
	return found, err
}

// SecretDelete implements store.HeaderSecrets.
func (s *Store) SecretDelete(ctx context.Context, account int64, name string, limit int) (uses int, err error) {
	err = s.write(ctx, func(t *tx) error {
		known := false
		err := t.run(lockAccount(account), query{
			sql:  `SELECT count(*) FROM (SELECT FROM secret_uses WHERE account = (SELECT $1::bigint) AND name = $2 LIMIT $3) u`,
			args: []any{account, name, limit},
			row:  func(rows pgx.Rows) error { return rows.Scan(&uses) },
		}, query{
			sql: `SELECT 1 FROM header_secrets WHERE account = (SELECT $1::bigint) AND name = $2`, args: []any{account, name},
			row: found(&known),
		})
		switch {
		case err != nil:
			return err
		case !known:
			return fault.NoSuch("secret")
		case uses > 0:
			return t.commit()
		}
		return t.commit(query{sql: `DELETE FROM header_secrets WHERE account = (SELECT $1::bigint) AND name = $2`, args: []any{account, name}})
	})
	return uses, err
}

// secretUse is a use of a secret by a job, whose number may not be known yet.
type secretUse struct {
	account int64
	name    string
	job     uuid.UUID
}

// insertSecretUses records which secrets unfinished jobs use. The jobs must have
// been stored by an earlier statement; it skips those that have not been.
func insertSecretUses[T any](jobs []T, of func(*T) *job.Job) []query {
	var uses []secretUse
	for i := range jobs {
		j := of(&jobs[i])
		for _, name := range job.SecretNames(j.Args) {
			uses = append(uses, secretUse{j.Owner.Number, name, j.ID})
		}
	}
	if len(uses) == 0 {
		return nil
	}
	return []query{{
		sql: `INSERT INTO secret_uses (account, name, job) SELECT u.account, u.name, j.number
			FROM unnest($1::bigint[], $2::text[], $3::uuid[]) AS u (account, name, id)
			JOIN jobs j ON j.account = u.account AND j.id = u.id AND j.state <= 2 ON CONFLICT DO NOTHING`,
		args: []any{
			column(uses, func(u *secretUse) int64 { return u.account }), column(uses, func(u *secretUse) string { return u.name }),
			column(uses, func(u *secretUse) uuid.UUID { return u.job }),
		},
	}}
}

func jobOfNew(n *store.NewJob) *job.Job { return n.Job }

// removeSecretUses deletes what insertSecretUses recorded for the jobs that
// which selects.
func removeSecretUses(jobs []*job.Job, which func(*job.Job) bool) []query {
	var accounts, numbers []int64
	for _, j := range jobs {
		if which(j) {
			accounts, numbers = append(accounts, j.Owner.Number), append(numbers, j.Number)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return []query{{
		sql: `DELETE FROM secret_uses d USING unnest($1::bigint[], $2::bigint[]) AS u (account, job)
			WHERE d.account = u.account AND d.job = u.job`,
		args: []any{accounts, numbers},
	}}
}

// endedWithSecrets reports whether a changed job may have uses to delete.
func endedWithSecrets(j *job.Job) bool { return j.State.Final() && job.MayUseSecrets(j.Args) }

func copyHeaderSecrets(secrets []*identity.HeaderSecret) []query {
	if len(secrets) == 0 {
		return nil
	}
	type row = *identity.HeaderSecret
	return []query{{
		sql: `INSERT INTO header_secrets (account, name, hosts, http, value, created_at, updated_at)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::bigint[], $7::bigint[]) ON CONFLICT DO NOTHING`,
		args: []any{
			column(secrets, func(h *row) int64 { return (*h).Account }), column(secrets, func(h *row) string { return (*h).Name }),
			column(secrets, func(h *row) string { return strings.Join((*h).Hosts, ",") }), column(secrets, func(h *row) bool { return (*h).HTTP }),
			column(secrets, func(h *row) string { return (*h).Value }),
			column(secrets, func(h *row) int64 { return (*h).CreatedAt.UnixMicro() }), column(secrets, func(h *row) int64 { return (*h).UpdatedAt.UnixMicro() }),
		},
	}}
}

// EncryptedSigning implements store.HeaderSecrets.
func (s *Store) EncryptedSigning(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error) {
	var all []store.Encrypted
	err := s.read(ctx, query{
		sql: `SELECT s.account, a.id, s.created_at, s.value FROM secrets s JOIN accounts a ON a.number = s.account
			WHERE (s.account, s.created_at, s.value) > ($1, $2, $3) ORDER BY s.account, s.created_at, s.value LIMIT $4`,
		args: []any{after.Account.Number, after.CreatedAt.UnixMicro(), after.Value, limit}, start: func() { all = nil },
		row: func(rows pgx.Rows) error {
			var e store.Encrypted
			err := rows.Scan(&e.Account.Number, idOf{&e.Account.ID}, timeOf{&e.CreatedAt}, &e.Value)
			all = append(all, e)
			return err
		},
	})
	return all, err
}

// EncryptedHeaders implements store.HeaderSecrets.
func (s *Store) EncryptedHeaders(ctx context.Context, after store.Encrypted, limit int) ([]store.Encrypted, error) {
	var all []store.Encrypted
	err := s.read(ctx, query{
		sql: `SELECT h.account, a.id, h.name, h.hosts, h.http, h.value FROM header_secrets h JOIN accounts a ON a.number = h.account
			WHERE (h.account, h.name) > ($1, $2) ORDER BY h.account, h.name LIMIT $3`,
		args: []any{after.Account.Number, after.Name, limit}, start: func() { all = nil },
		row: func(rows pgx.Rows) error {
			var e store.Encrypted
			hosts := ""
			err := rows.Scan(&e.Account.Number, idOf{&e.Account.ID}, &e.Name, &hosts, &e.HTTP, &e.Value)
			e.Hosts = strings.Split(hosts, ",")
			all = append(all, e)
			return err
		},
	})
	return all, err
}

// EncryptedReplace implements store.HeaderSecrets.
func (s *Store) EncryptedReplace(ctx context.Context, values []store.Reencrypted) error {
	return s.write(ctx, func(t *tx) error {
		queries := make([]query, 0, len(values))
		for _, v := range values {
			if v.Name != "" {
				queries = append(queries, query{
					sql:  `UPDATE header_secrets SET value = $1 WHERE account = (SELECT $2::bigint) AND name = $3 AND value = $4`,
					args: []any{v.New, v.Account.Number, v.Name, v.Value},
				})
				continue
			}
			queries = append(queries, query{
				sql:  `UPDATE secrets SET value = $1 WHERE account = (SELECT $2::bigint) AND created_at = $3 AND value = $4`,
				args: []any{v.New, v.Account.Number, v.CreatedAt.UnixMicro(), v.Value},
			})
		}
		return t.commit(queries...)
	})
}

package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/identity"
)

func scanTOTP(rows pgx.Rows) (account int64, v *identity.TOTP, err error) {
	v = &identity.TOTP{}
	var recovery []byte
	err = rows.Scan(&account, &v.Secret, timeOf{&v.CreatedAt}, timeOf{&v.ConfirmedAt}, &v.LastStep, &recovery)
	for hash := range slices.Chunk(recovery, sha256.Size) {
		v.Recovery = append(v.Recovery, hash)
	}
	return account, v, err
}

func setTOTP(account int64, v *identity.TOTP) query {
	if v == nil {
		return query{sql: `DELETE FROM totps WHERE account = (SELECT $1::bigint)`, args: []any{account}}
	}
	return query{
		sql: `INSERT INTO totps (account, secret, created_at, confirmed_at, last_step, recovery) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (account) DO UPDATE SET secret = excluded.secret, created_at = excluded.created_at, confirmed_at = excluded.confirmed_at,
				last_step = excluded.last_step, recovery = excluded.recovery`,
		args: []any{account, v.Secret, v.CreatedAt.UnixMicro(), micros(v.ConfirmedAt), v.LastStep, notNil(bytes.Join(v.Recovery, nil))},
	}
}

// AccountTOTP implements store.People. It locks the account's row, so that only
// one of several simultaneous uses of a code succeeds.
func (s *Store) AccountTOTP(ctx context.Context, account int64, decide identity.DecideTOTP) error {
	return s.write(ctx, func(t *tx) error {
		there := false
		var current *identity.TOTP
		err := t.run(
			query{sql: `SELECT 1 FROM accounts WHERE number = $1 AND deleted_at IS NULL FOR UPDATE`, args: []any{account}, row: found(&there)},
			query{
				sql: `SELECT account, secret, created_at, confirmed_at, last_step, recovery FROM totps WHERE account = (SELECT $1::bigint)`, args: []any{account},
				row: func(rows pgx.Rows) (err error) {
					_, current, err = scanTOTP(rows)
					return err
				},
			})
		if err != nil {
			return err
		}
		if !there {
			return fault.NoSuch("account")
		}
		next, err := decide(current)
		if err != nil {
			return err
		}
		return t.commit(setTOTP(account, next))
	})
}

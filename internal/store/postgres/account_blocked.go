package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// AccountSuspend implements store.Blocking.
func (s *Store) AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error {
	change := `UPDATE accounts SET suspended_at = coalesce(suspended_at, $1), suspended_for = $2 WHERE number = $3 AND deleted_at IS NULL RETURNING 1`
	if at.IsZero() {
		change = `UPDATE accounts SET suspended_at = $1, suspended_for = $2 WHERE number = $3 AND deleted_at IS NULL RETURNING 1`
	}
	return s.account(ctx, query{sql: change, args: []any{micros(at), orNull(text(reason)), account}})
}

// AccountsBlocked implements store.Blocking.
func (s *Store) AccountsBlocked(ctx context.Context) (numbers []int64, err error) {
	err = s.read(ctx, query{
		sql: `SELECT number FROM accounts WHERE suspended_at IS NOT NULL AND deleted_at IS NULL
			UNION SELECT number FROM accounts WHERE deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY number`,
		start: func() { numbers = nil },
		row: func(rows pgx.Rows) error {
			var number int64
			err := rows.Scan(&number)
			numbers = append(numbers, number)
			return err
		},
	})
	return numbers, err
}

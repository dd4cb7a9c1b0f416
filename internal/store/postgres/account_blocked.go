package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// AccountsBlocked implements store.Accounts.
func (s *Store) AccountsBlocked(ctx context.Context) (numbers []int64, err error) {
	err = s.read(ctx, query{
		sql:   `SELECT number FROM accounts WHERE deleted_at IS NOT NULL AND purged_at IS NULL`,
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

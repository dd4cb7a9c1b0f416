package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"
)

// AccountsBlocked implements store.Accounts.
func (s *Store) AccountsBlocked(ctx context.Context) (numbers []int64, err error) {
	err = s.read(ctx, func(t *tx) error {
		return t.query(`SELECT number FROM accounts INDEXED BY accounts_purge WHERE deleted_at IS NOT NULL AND purged_at IS NULL`, func(stmt *sqlite.Stmt) error {
			numbers = append(numbers, stmt.ColumnInt64(0))
			return nil
		})
	})
	return numbers, err
}

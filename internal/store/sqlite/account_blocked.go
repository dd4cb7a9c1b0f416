package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
)

// AccountSuspend implements store.Blocking.
func (s *Store) AccountSuspend(ctx context.Context, account int64, at time.Time, reason string) error {
	return s.write(ctx, func(t *tx) error {
		change := `UPDATE accounts SET suspended_at = coalesce(suspended_at, ?1), suspended_for = ?2 WHERE number = ?3 AND deleted_at IS NULL`
		if at.IsZero() {
			change = `UPDATE accounts SET suspended_at = ?1, suspended_for = ?2 WHERE number = ?3 AND deleted_at IS NULL`
		}
		if err := t.exec(change, at, orNull(reason), account); err != nil {
			return fmt.Errorf("suspending or resuming an account: %w", err)
		}
		if t.changed() == 0 {
			return fault.NoSuch("account")
		}
		return nil
	})
}

// AccountsBlocked implements store.Blocking.
func (s *Store) AccountsBlocked(ctx context.Context) (numbers []int64, err error) {
	err = s.readAs(ctx, access, func(t *tx) error {
		return t.query(`SELECT number FROM accounts INDEXED BY accounts_suspended WHERE suspended_at IS NOT NULL AND deleted_at IS NULL
			UNION SELECT number FROM accounts INDEXED BY accounts_purge WHERE deleted_at IS NOT NULL AND purged_at IS NULL
			ORDER BY number`, func(stmt *sqlite.Stmt) error {
			numbers = append(numbers, stmt.ColumnInt64(0))
			return nil
		})
	})
	return numbers, err
}

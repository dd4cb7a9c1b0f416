package sqlite

import (
	"context"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// over returns the limit that a new job would exceed.
func (t *tx) over(n store.NewJob) (store.Quota, error) {
	if n.Caps.Full {
		return store.QuotaStored, nil
	}
	needed := n.Caps.Pending
	if n.Schedule != nil {
		needed = n.Caps.Schedules
	}
	if needed == 0 {
		return store.QuotaNone, nil
	}
	use, err := t.use(n.Job.Owner.Number)
	switch {
	case err != nil:
		return store.QuotaNone, err
	case n.Schedule != nil && use.Schedules >= needed:
		return store.QuotaSchedules, nil
	case n.Schedule == nil && use.Pending >= needed:
		return store.QuotaPending, nil
	}
	return store.QuotaNone, nil
}

// Queries that count an account's usage, each up to a limit.
const (
	countPending   = `(SELECT count(*) FROM (SELECT 1 FROM jobs WHERE account = ?1 AND state <= 2 AND schedule_id IS NULL LIMIT ?2))`
	countSchedules = `(SELECT count(*) FROM (SELECT 1 FROM schedules WHERE account = ?1 LIMIT ?2))`
)

// use returns an account's usage in this transaction. It counts once and keeps
// the result in memory, because no other process stores or ends jobs.
func (t *tx) use(account int64) (store.Use, error) {
	use, known := t.store.uses.get(account)
	if !known {
		err := t.query(`SELECT `+countPending+`, `+countSchedules, func(stmt *sqlite.Stmt) error {
			use = store.Use{Pending: stmt.ColumnInt64(0), Schedules: stmt.ColumnInt64(1)}
			return nil
		}, account, -1)
		if err != nil {
			return use, fmt.Errorf("counting the usage of an account: %w", err)
		}
		t.store.uses.set(account, less(use, t.used[account]))
		return use, nil
	}
	return plus(use, t.used[account]), nil
}

// count adds to an account's usage; the numbers may be negative.
func (t *tx) count(account, pending, schedules int64) {
	if pending == 0 && schedules == 0 {
		return
	}
	if t.used == nil {
		t.used = map[int64]store.Use{}
	}
	t.used[account] = plus(t.used[account], store.Use{Pending: pending, Schedules: schedules})
}

func plus(a, b store.Use) store.Use {
	return store.Use{Pending: a.Pending + b.Pending, Schedules: a.Schedules + b.Schedules}
}

func less(a, b store.Use) store.Use {
	return store.Use{Pending: a.Pending - b.Pending, Schedules: a.Schedules - b.Schedules}
}

// uses caches the usage of accounts whose limits were checked.
type uses struct {
	mu       sync.Mutex
	accounts map[int64]store.Use
}

// maxUses bounds the number of cached accounts. Beyond it the cache is cleared.
const maxUses = 100_000

func (u *uses) get(account int64) (store.Use, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	use, known := u.accounts[account]
	return use, known
}

func (u *uses) set(account int64, use store.Use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.accounts == nil || len(u.accounts) >= maxUses {
		u.accounts = map[int64]store.Use{}
	}
	u.accounts[account] = use
}

// forget removes an account from the cache.
func (u *uses) forget(account int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.accounts, account)
}

// settle applies the changes of a transaction. If it failed, the cache is
// cleared.
func (u *uses) settle(changes map[int64]store.Use, failed error) {
	if failed == nil && len(changes) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if failed != nil {
		u.accounts = nil
		return
	}
	for account, change := range changes {
		if use, known := u.accounts[account]; known {
			u.accounts[account] = plus(use, change)
		}
	}
}

// AccountUse implements store.Quotas.
func (s *Store) AccountUse(ctx context.Context, account, limit int64) (use store.Use, err error) {
	if use, known := s.uses.get(account); known {
		return store.Use{Pending: min(use.Pending, limit), Schedules: min(use.Schedules, limit)}, nil
	}
	err = s.readAs(ctx, access, func(t *tx) error {
		return t.query(`SELECT `+countPending+`, `+countSchedules, func(stmt *sqlite.Stmt) error {
			use = store.Use{Pending: stmt.ColumnInt64(0), Schedules: stmt.ColumnInt64(1)}
			return nil
		}, account, limit)
	})
	return use, err
}

package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// NamesLock is the first key of the advisory locks of PostgreSQL under which accounts have
// their names; the second is the remainder of an account's number by NameLocks: few, so
// that a batch for many accounts needs few.
//
// A transaction that stores records with names takes the lock, shared with others that do,
// before it looks whether what they name is there. One that deletes such a record takes it
// alone, before it looks who names it. So one of the two sees the other. Transactions that
// wait for it do so before they lock any row, and deletions before all else. A transaction
// that has locked rows already tries to share it, and starts anew if it can't.
//
// Who waits for a lock alone holds up all who come to share it, of other accounts too. So a
// deletion first finds out without the lock that it may succeed, waits for the lock only
// briefly at a time, and one deletion of a process is under way at a time.
const (
	NamesLock = `1852796275`
	NameLocks = `64`
)

// deletionWithin is how long a deletion waits for the other deletions of its process.
const deletionWithin = 5 * time.Second

// deleteNamed is Write for a deletion of a record that others may name. It returns a fault
// if too many deletions are under way. check is run first, in the same transaction, while
// nothing is stored that names records of the account.
func (r *Records) deleteNamed(ctx context.Context, account int64, check func() []Query, last func(Tx) ([]Query, error)) error {
	waiting, cancel := context.WithTimeout(ctx, deletionWithin)
	defer cancel()
	select {
	case r.deletion <- struct{}{}:
		defer func() { <-r.deletion }()
	case <-waiting.Done():
		return fault.Busy(waiting.Err())
	}
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		if err := t.Run(append(lockNames(account), check()...)...); err != nil {
			return nil, err
		}
		return last(t)
	})
}

// lockNames keeps other transactions from storing records with names, and waits for those
// that do. The transaction is retried a few times if one takes longer.
func lockNames(account int64) []Query {
	return []Query{
		{SQL: `SELECT set_config('lock_timeout', '50ms', true)`, Lock: true},
		{SQL: `SELECT pg_advisory_xact_lock(` + NamesLock + `, ($1::bigint % ` + NameLocks + `)::integer)`, Args: []any{account}, Lock: true},
	}
}

// Named returns whether the record that a name of an account names is there, as found.
func Named(account int64, n store.Name, found *bool) Query {
	q := Query{Args: []any{account, n.Name}, Start: func() { *found = false }, Row: func(Row) error { *found = true; return nil }}
	switch n.Kind {
	case store.NamesGroup:
		q.SQL = `SELECT 1 FROM target_groups WHERE account = $1 AND name = $2`
	case store.NamesLimit:
		q.SQL = `SELECT 1 FROM limits WHERE account = $1 AND key = $2 AND NOT deleted`
	case store.NamesSecret:
		q.SQL = `SELECT 1 FROM header_secrets WHERE account = $1 AND name = $2`
	}
	return q
}

package records

import (
	"github.com/punctual-dev/punctual/internal/store"
)

// NamesLock is the first key of the advisory locks of PostgreSQL under which accounts have
// their names; the second is the remainder of an account's number by NameLocks: few, so
// that a batch for many accounts needs few.
//
// A transaction that stores records with names takes the lock, shared with others that do,
// before it looks whether what they name is there. One that deletes such a record takes it
// alone, before it counts who names it. So one of the two sees the other. Deletions take it
// before all else.
const (
	NamesLock = `1852796275`
	NameLocks = `64`
)

// lockNames keeps other transactions from storing records with names, and waits for those
// that do.
func lockNames(account int64) Query {
	return Query{SQL: `SELECT pg_advisory_xact_lock(` + NamesLock + `, ($1::bigint % ` + NameLocks + `)::integer)`,
		Args: []any{account}, Lock: true}
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

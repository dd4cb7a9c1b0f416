package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// naming collects the names of records to store.
type naming struct {
	accounts []int64
	kinds    []int16
	names    []string
	places   []int // of the records
}

func (n *naming) add(account int64, place int, names []store.Name) {
	for _, name := range names {
		n.accounts, n.kinds, n.names = append(n.accounts, account), append(n.kinds, int16(name.Kind)), append(n.names, text(name.Name))
		n.places = append(n.places, place)
	}
}

// missing returns the places of the records that name one that is not there. What the
// others name stays there until the transaction ends. It costs nothing without names.
//
// It waits for deletions if the transaction has locked nothing before. Else it returns
// errRetry if there are some: they might wait for what the transaction has locked.
func (n *naming) missing(t *tx, waits bool) (map[int]bool, error) {
	if len(n.places) == 0 {
		return nil, nil
	}
	gone := map[int]bool{}
	share := query{sql: shareNames, args: []any{n.accounts}}
	if !waits {
		share.sql, share.row = tryShareNames, func(rows pgx.Rows) error {
			var shared bool
			if err := rows.Scan(&shared); err != nil || shared {
				return err
			}
			return errRetry
		}
	}
	err := t.run(share, query{
		sql: namesMissing, args: []any{n.accounts, n.kinds, n.names},
		row: func(rows pgx.Rows) error {
			var i int
			err := rows.Scan(&i)
			gone[n.places[i-1]] = true
			return err
		},
	})
	return gone, err
}

// shareNames locks the names of accounts against deletions, see records.NamesLock. The
// lock comes first: a statement does not see what is committed while it waits.
const shareNames = `SELECT pg_advisory_xact_lock_shared(` + namesLocks

// tryShareNames is shareNames for a transaction that may not wait. A row is false for a
// lock that it did not get.
const tryShareNames = `SELECT pg_try_advisory_xact_lock_shared(` + namesLocks

const namesLocks = records.NamesLock + `, l.n) FROM (SELECT DISTINCT (a % ` + records.NameLocks + `)::integer AS n
	FROM unnest($1::bigint[]) AS a ORDER BY 1 OFFSET 0) l`

// namesMissing returns the ordinal numbers of the names that are not there.
const namesMissing = `SELECT u.i FROM unnest($1::bigint[], $2::smallint[], $3::text[]) WITH ORDINALITY AS u (account, kind, name, i) WHERE NOT CASE u.kind
	WHEN 0 THEN EXISTS (SELECT FROM target_groups g WHERE g.account = u.account AND g.name = u.name OFFSET 0)
	WHEN 1 THEN EXISTS (SELECT FROM limits l WHERE l.account = u.account AND l.key = u.name AND NOT l.deleted OFFSET 0)
	ELSE EXISTS (SELECT FROM header_secrets h WHERE h.account = u.account AND h.name = u.name OFFSET 0) END`

// goneFrom returns store.ErrNameGone if changes, which may be nil, name what is not there.
// The transaction has locked what they were decided from, so it does not wait.
func (t *tx) goneFrom(account int64, changes ...*store.Changes) error {
	var n naming
	for _, c := range changes {
		if c != nil {
			n.add(account, 0, c.NamesIn())
		}
	}
	gone, err := n.missing(t, false)
	if err == nil && len(gone) > 0 {
		err = store.ErrNameGone
	}
	return err
}

// missing returns which of the jobs without a result name what is not there.
func (c *creation) missing(t *tx, waits bool) (map[int]bool, error) {
	var n naming
	for i := range c.jobs {
		if len(c.jobs[i].Names) > 0 && !c.answered(i) && !c.settled[i] {
			n.add(c.jobs[i].Job.Owner.Number, i, c.jobs[i].Names)
		}
	}
	return n.missing(t, waits)
}

// present returns the open jobs whose names are there.
func (c *creation) present() []int {
	return slices.DeleteFunc(slices.Clone(c.open), func(i int) bool { return c.gone[i] })
}

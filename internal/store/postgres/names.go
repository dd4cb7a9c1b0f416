package postgres

import (
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
func (n *naming) missing(t *tx) (map[int]bool, error) {
	if len(n.places) == 0 {
		return nil, nil
	}
	gone := map[int]bool{}
	err := t.run(
		query{sql: shareNames, args: []any{n.accounts}},
		query{
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
const shareNames = `SELECT pg_advisory_xact_lock_shared(` + records.NamesLock + `, l.n) FROM (SELECT DISTINCT (a % ` + records.NameLocks + `)::integer AS n
	FROM unnest($1::bigint[]) AS a ORDER BY 1 OFFSET 0) l`

// namesMissing returns the ordinal numbers of the names that are not there.
const namesMissing = `SELECT u.i FROM unnest($1::bigint[], $2::smallint[], $3::text[]) WITH ORDINALITY AS u (account, kind, name, i) WHERE NOT CASE u.kind
	WHEN 0 THEN EXISTS (SELECT FROM target_groups g WHERE g.account = u.account AND g.name = u.name OFFSET 0)
	WHEN 1 THEN EXISTS (SELECT FROM limits l WHERE l.account = u.account AND l.key = u.name AND NOT l.deleted OFFSET 0)
	ELSE EXISTS (SELECT FROM header_secrets h WHERE h.account = u.account AND h.name = u.name OFFSET 0) END`

// goneFrom returns store.ErrNameGone if changes, which may be nil, name what is not there.
func (t *tx) goneFrom(account int64, changes ...*store.Changes) error {
	var n naming
	for _, c := range changes {
		if c != nil {
			n.add(account, 0, c.NamesIn())
		}
	}
	gone, err := n.missing(t)
	if err == nil && len(gone) > 0 {
		err = store.ErrNameGone
	}
	return err
}

// known returns those of the open jobs whose names are there, and sets which of all jobs
// name one that is gone.
func (c *creation) known(t *tx, open []int) ([]int, error) {
	var n naming
	for i := range c.jobs {
		if len(c.jobs[i].Names) > 0 && !c.answered(i) {
			n.add(c.jobs[i].Job.Owner.Number, i, c.jobs[i].Names)
		}
	}
	var err error
	if c.gone, err = n.missing(t); err != nil || len(c.gone) == 0 {
		return open, err
	}
	var known []int
	for _, i := range open {
		if !c.gone[i] {
			known = append(known, i)
		}
	}
	return known, nil
}

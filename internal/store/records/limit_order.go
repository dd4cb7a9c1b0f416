package records

import (
	"time"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitOrder is the order of the jobs of a limit.
type LimitOrder struct {
	first [5]limit.Place // by part of the query; only the numbers of counts are set
}

// The parts of the query for the order of a limit.
const (
	firstElsewhere = iota // the first item that waits in the order of another key
	firstHere             // the first one that waits in the order of the key
	firstKept             // the first one that keeps its place
	countKept
	countUnstarted
)

// Read returns a query that reads the order of an account's limit.
func (o *LimitOrder) Read(account int64, l *limit.Record) Query {
	const items, first = ` FROM limit_items WHERE account = $1 AND key = $2 AND `, ` ORDER BY due, number LIMIT 1`
	return Query{
		SQL: `SELECT 0, due, number FROM (SELECT due, number` + items + `state = 0 AND NOT kept` + first + `) e
			UNION ALL SELECT 1, due, number FROM (SELECT due, number` + items + `state = 1 AND NOT kept` + first + `) f
			UNION ALL SELECT 2, due, number FROM (SELECT due, number` + items + `kept AND state < 2` + first + `) k
			UNION ALL SELECT 3, 0, count(*) FROM (SELECT 1` + items + `kept AND state < 2 LIMIT $3) n
			UNION ALL SELECT 4, 0, count(*) FROM (SELECT 1` + items + `state = 2 LIMIT 1) u`,
		Args:  []any{account, l.Key, max(l.Parallel, 1)},
		Start: func() { o.first = [5]limit.Place{} },
		Row: func(row Row) error {
			var part int
			var due time.Time
			var number int64
			err := row.Scan(&part, &due, &number)
			if err == nil {
				o.first[part] = limit.Place{Due: due, Number: number}
			}
			return err
		},
	}
}

// Set sets what the state of an ordered limit says of its order.
func (o *LimitOrder) Set(s *limit.State) {
	elsewhere, here := o.first[firstElsewhere], o.first[firstHere]
	if _, follows := store.OwnDue(elsewhere.Due); follows { // it waits for no limit yet
		elsewhere = limit.Place{}
	}
	s.Elsewhere, s.First = elsewhere, elsewhere
	if elsewhere.Due.IsZero() || here.Before(elsewhere) {
		s.First = here
	}
	s.Kept, s.Unstarted = int(o.first[countKept].Number), o.first[countUnstarted].Number > 0
}

// job returns the number of the job that comes first of those that wait; 0 for none.
func (o *LimitOrder) job(s *limit.State) int64 {
	if kept := o.first[firstKept]; kept.Number != 0 {
		return kept.Number
	}
	return s.First.Number
}

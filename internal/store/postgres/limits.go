package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// readLimits returns a query that calls row for each limit that the rest of the
// statement selects, from WHERE on.
func readLimits(row func(*records.LimitRow), rest string, args ...any) query {
	var found []*records.LimitRow
	q := ofRecord(records.Limits.Select(&found, nil, rest, args...))
	read := q.row
	q.row = func(rows pgx.Rows) error {
		err := read(rows)
		if err == nil {
			row(found[len(found)-1])
		}
		return err
	}
	return q
}

// LimitsHolding implements store.Limits.
func (s *Store) LimitsHolding(ctx context.Context, owner job.Owner, j *job.Job) (holding []string, err error) {
	now := s.Now()
	if own, held := store.OwnDue(j.DueAt); !held || own.After(now) {
		return nil, nil
	}
	waits := map[string]bool{}
	var keys []string
	states, ordered := map[string]*limit.State{}, []*records.LimitRow{}
	of := `(SELECT i.key FROM limit_items i WHERE i.account = (SELECT $1::bigint) AND i.number = $2)`
	err = s.readAs(ctx, pages, query{
		sql:   `SELECT key, state = 1 FROM limit_items WHERE account = (SELECT $1::bigint) AND number = $2`,
		args:  []any{owner.Number, j.Number},
		start: func() { keys = nil },
		row: func(rows pgx.Rows) error {
			var key string
			var waiting bool
			err := rows.Scan(&key, &waiting)
			keys, waits[key] = append(keys, key), waiting
			return err
		},
	}, readLimits(func(l *records.LimitRow) {
		if states[l.Key] = l.State(0); l.Ordered {
			ordered = append(ordered, l)
		}
	}, `WHERE account = $1 AND key IN `+of, owner.Number, j.Number), query{
		sql: countInFlight(of), args: []any{owner.Number, j.Number}, row: readInFlight(states),
	})
	if err == nil && len(ordered) > 0 {
		queries, set := orderOf(ordered, states)
		if err = s.readAs(ctx, pages, queries...); err == nil {
			set()
		}
	}
	if err != nil {
		return nil, err
	}
	return store.Holding(job.LimitsNamed(j.Args), keys, states, waits, now), nil
}

// orderOf returns queries that read the order of limits, and a function that sets it in
// their states.
func orderOf(limits []*records.LimitRow, states map[string]*limit.State) (queries []query, set func()) {
	orders := make([]records.LimitOrder, len(limits))
	for i, l := range limits {
		queries = append(queries, ofRecord(orders[i].Read(l.Account, &l.Limit)))
	}
	return queries, func() {
		for i, l := range limits {
			orders[i].Set(states[l.Key])
		}
	}
}

// countInFlight counts the attempts that are granted or under way, for those
// limits of an account ($1), with keys of a list, that bound them.
func countInFlight(list string) string {
	return `SELECT k.key, (SELECT count(*) FROM (SELECT FROM limit_items i WHERE i.account = l.account AND i.key = k.key AND i.state >= 2 LIMIT l.parallel) n)
		FROM ` + list + ` k (key) CROSS JOIN LATERAL (SELECT account, parallel FROM limits
			WHERE account = (SELECT $1::bigint) AND key = k.key AND parallel > 0 OFFSET 0) l`
}

func readInFlight(states map[string]*limit.State) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var key string
		var n int
		err := rows.Scan(&key, &n)
		if state := states[key]; state != nil {
			state.InFlight = n
		}
		return err
	}
}

// LimitWakes implements store.LimitQueue.
func (s *Store) LimitWakes(ctx context.Context, until time.Time, most int) ([]store.LimitWake, error) {
	if s.free(ctx, dutyWakes) {
		return nil, nil
	}
	return s.Records.LimitWakes(ctx, until, most)
}

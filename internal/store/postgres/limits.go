package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// limitRow is a row of limits.
type limitRow struct {
	store.Limit
	deleted  bool
	starts   limit.Starts
	inFlight int
}

const limitColumns = `key, calls, per, parallel, paused, deleted, starts`

func scanLimit(rows pgx.Rows) (*limitRow, error) {
	r := &limitRow{}
	var per int64
	var starts string
	err := rows.Scan(&r.Key, &r.Calls, &per, &r.Parallel, &r.Paused, &r.deleted, &starts)
	r.Per, r.starts = time.Duration(per)*time.Microsecond, limit.ParseStarts(starts)
	return r, err
}

func (r *limitRow) state() *limit.State {
	return &limit.State{Limit: r.Limit.Limit, Starts: r.starts, InFlight: r.inFlight}
}

// LimitPut implements store.Limits.
func (s *Store) LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (created bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		created = true
		n := 0
		// The account's row keeps two calls from exceeding the maximum together.
		err := t.run(
			query{sql: `SELECT number FROM accounts WHERE number = $1 FOR NO KEY UPDATE`, args: []any{owner.Number}},
			query{sql: `SELECT deleted FROM limits WHERE account = (SELECT $1::bigint) AND key = $2`, args: []any{owner.Number, l.Key}, row: func(rows pgx.Rows) error {
				return rows.Scan(&created)
			}},
			query{sql: `SELECT count(*) FROM limits WHERE account = (SELECT $1::bigint)`, args: []any{owner.Number}, row: func(rows pgx.Rows) error {
				return rows.Scan(&n)
			}},
		)
		if err != nil {
			return err
		}
		if err := putIf.Check("limit", !created); err != nil {
			return err
		}
		if created && n >= limit.MaxPerAccount {
			return store.TooManyLimits()
		}
		t.wake(owner.Number, l.Key, t.now)
		return t.commit(query{
			sql: `INSERT INTO limits (account, key, calls, per, parallel, paused, wake_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
				ON CONFLICT (account, key) DO UPDATE SET calls = $3, per = $4, parallel = $5, paused = $6, deleted = false, wake_at = $7`,
			args: []any{owner.Number, l.Key, l.Calls, l.Per.Microseconds(), l.Parallel, l.Paused, t.now.UnixMicro()},
		})
	})
	return created, err
}

// wake requests that a line is planned.
func (t *tx) wake(account int64, key string, at time.Time) {
	t.wakes = append(t.wakes, store.LimitWake{LimitKey: store.LimitKey{Account: account, Key: key}, At: at})
}

// LimitGet implements store.Limits.
func (s *Store) LimitGet(ctx context.Context, owner job.Owner, key string) (use *store.LimitUse, err error) {
	now := s.Now()
	var found *limitRow
	waiting := 0
	err = s.readAs(ctx, pages, query{
		sql: `SELECT ` + limitColumns + ` FROM limits WHERE account = (SELECT $1::bigint) AND key = $2 AND NOT deleted`, args: []any{owner.Number, key},
		start: func() { found = nil },
		row: func(rows pgx.Rows) (err error) {
			found, err = scanLimit(rows)
			return err
		},
	}, query{
		sql: `SELECT (SELECT count(*) FROM (SELECT FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND state = 2 LIMIT $4) a),
			(SELECT count(*) FROM (SELECT FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND state = 1 AND due <= $3 LIMIT $4) b)`,
		args: []any{owner.Number, key, now.UnixMicro(), store.MaxLimitCount},
		row: func(rows pgx.Rows) error {
			n := 0
			err := rows.Scan(&n, &waiting)
			if found != nil {
				found.inFlight = n
			}
			return err
		},
	})
	switch {
	case err != nil:
		return nil, err
	case found == nil:
		return nil, fault.NoSuch("limit")
	}
	use = &store.LimitUse{Record: found.Limit, Waiting: waiting, InFlight: found.inFlight}
	use.NextAt, _ = found.state().Earliest(now)
	return use, nil
}

// LimitList implements store.Limits.
func (s *Store) LimitList(ctx context.Context, owner job.Owner, after string, most int) (found []store.Limit, err error) {
	err = s.readAs(ctx, pages, query{
		sql:   `SELECT ` + limitColumns + ` FROM limits WHERE account = (SELECT $1::bigint) AND key > $2 AND NOT deleted ORDER BY key LIMIT $3`,
		args:  []any{owner.Number, after, most},
		start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			r, err := scanLimit(rows)
			found = append(found, r.Limit)
			return err
		},
	})
	return found, err
}

// LimitDelete implements store.Limits.
func (s *Store) LimitDelete(ctx context.Context, owner job.Owner, key string) (named int, err error) {
	err = s.write(ctx, func(t *tx) error {
		found := false
		named = 0
		err := t.run(query{
			sql: `SELECT 1 FROM limits WHERE account = (SELECT $1::bigint) AND key = $2 AND NOT deleted FOR UPDATE`, args: []any{owner.Number, key},
			row: func(pgx.Rows) error {
				found = true
				return nil
			},
		}, query{
			sql:  `SELECT count(*) FROM (SELECT FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND named LIMIT $3) n`,
			args: []any{owner.Number, key, store.MaxLimitCount},
			row:  func(rows pgx.Rows) error { return rows.Scan(&named) },
		})
		switch {
		case err != nil:
			return err
		case !found:
			return fault.NoSuch("limit")
		case named > 0:
			return t.commit()
		}
		// What waits because of its host goes on; then the row goes, see endPass.
		t.wake(owner.Number, key, t.now)
		return t.commit(query{
			sql: `UPDATE limits SET deleted = true, calls = 0, per = 0, parallel = 0, paused = false, starts = '', wake_at = $3
				WHERE account = (SELECT $1::bigint) AND key = $2`,
			args: []any{owner.Number, key, t.now.UnixMicro()},
		})
	})
	return named, err
}

// LimitsOf implements store.Limits.
func (s *Store) LimitsOf(ctx context.Context, owner job.Owner, keys []string) (defined []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	for i := range keys {
		keys[i] = text(keys[i])
	}
	err = s.readAs(ctx, pages, query{
		sql:   `SELECT key FROM limits WHERE account = (SELECT $1::bigint) AND key = ANY($2) AND NOT deleted ORDER BY key`,
		args:  []any{owner.Number, keys},
		start: func() { defined = nil },
		row: func(rows pgx.Rows) error {
			var key string
			err := rows.Scan(&key)
			defined = append(defined, key)
			return err
		},
	})
	return defined, err
}

// LimitsHolding implements store.Limits.
func (s *Store) LimitsHolding(ctx context.Context, owner job.Owner, j *job.Job) (holding []string, err error) {
	now := s.Now()
	if own, held := store.OwnDue(j.DueAt); !held || own.After(now) {
		return nil, nil
	}
	waits := map[string]bool{}
	var keys []string
	states := map[string]*limit.State{}
	of := `(SELECT i.key FROM limit_items i WHERE i.account = (SELECT $1::bigint) AND i.number = $2)`
	err = s.readAs(ctx, pages, query{
		sql: `SELECT key, state = 1 FROM limit_items WHERE account = (SELECT $1::bigint) AND number = $2`, args: []any{owner.Number, j.Number},
		start: func() { keys = nil },
		row: func(rows pgx.Rows) error {
			var key string
			var waiting bool
			err := rows.Scan(&key, &waiting)
			keys, waits[key] = append(keys, key), waiting
			return err
		},
	}, query{
		sql: `SELECT ` + limitColumns + ` FROM limits WHERE account = (SELECT $1::bigint) AND key IN ` + of, args: []any{owner.Number, j.Number},
		row: func(rows pgx.Rows) error {
			r, err := scanLimit(rows)
			states[r.Key] = r.state()
			return err
		},
	}, query{
		sql: countInFlight(of), args: []any{owner.Number, j.Number}, row: readInFlight(states),
	})
	if err != nil {
		return nil, err
	}
	return store.Holding(job.LimitsNamed(j.Args), keys, states, waits, now), nil
}

// countInFlight counts the attempts that are granted or under way, for those
// limits of an account ($1), with keys of a list, that bound them.
func countInFlight(list string) string {
	return `SELECT k.key, (SELECT count(*) FROM (SELECT FROM limit_items i WHERE i.account = l.account AND i.key = k.key AND i.state = 2 LIMIT l.parallel) n)
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

// LimitWaiting implements store.Limits.
func (s *Store) LimitWaiting(ctx context.Context) (n int, err error) {
	err = s.read(ctx, query{
		sql:  `SELECT count(*) FROM (SELECT FROM runs WHERE kind = 0 AND due >= $1 AND due <= $2 LIMIT $3) n`,
		args: []any{store.HeldDue(time.Unix(0, 0)).UnixMicro(), store.HeldDue(s.Now()).UnixMicro(), store.MaxLimitCount},
		row:  func(rows pgx.Rows) error { return rows.Scan(&n) },
	})
	return n, err
}

package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

// Queries that count an account's usage, each up to a limit.
const (
	countPending   = `(SELECT count(*) FROM (SELECT FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.state <= 2 AND j.schedule_id IS NULL ORDER BY j.state, j.number LIMIT $2) n)`
	countSchedules = `(SELECT count(*) FROM (SELECT FROM schedules s WHERE s.account = (SELECT $1::bigint) LIMIT $2) n)`
)

// AccountUse implements store.Quotas.
func (s *Store) AccountUse(ctx context.Context, account, limit int64) (use store.Use, err error) {
	err = s.read(ctx, query{
		sql: `SELECT ` + countPending + `, ` + countSchedules, args: []any{account, limit},
		row: func(rows pgx.Rows) error { return rows.Scan(&use.Pending, &use.Schedules) },
	})
	return use, err
}

// allowance is a lower bound of what an account may still create, as stored in
// account_room.
type allowance struct {
	caps               store.Caps // the limits it was counted for
	pending, schedules int64
	full               bool // nothing may be stored
}

// demand counts what a call wants to create for an account with limits.
type demand struct {
	caps               store.Caps
	pending, schedules int64
}

// admission decides which new jobs of accounts with limits are stored.
type admission struct {
	demands    map[int64]*demand
	allowances map[int64]*allowance
	tight      map[int64]bool // the stored allowance may not suffice for the demand
}

// admit locks the accounts with limits among jobs and returns the jobs to store. It
// sets the results of the others: a conflict, or over a limit.
func (c *creation) admit(t *tx, jobs []int) (open []int, err error) {
	a := &admission{demands: map[int64]*demand{}, allowances: map[int64]*allowance{}, tight: map[int64]bool{}}
	c.admission = a
	for _, i := range jobs {
		a.demand(&c.jobs[i])
	}
	if len(a.demands) == 0 {
		return jobs, nil
	}
	if err := a.lock(t); err != nil {
		return nil, err
	}
	if err := a.count(t, c, jobs); err != nil {
		return nil, err
	}
	for _, i := range jobs {
		n := &c.jobs[i]
		account := n.Job.Owner.Number
		if a.tight[account] && n.Job.Key != nil && c.holders[keyOf(n.Job)] != nil {
			continue // a duplicate is returned at the limit too
		}
		if over := a.take(n); over != store.QuotaNone {
			c.over[i] = over
			continue
		}
		open = append(open, i)
	}
	return open, nil
}

func (a *admission) demand(n *store.NewJob) {
	if n.Caps == (store.Caps{}) {
		return
	}
	d := a.demands[n.Job.Owner.Number]
	if d == nil {
		d = &demand{caps: n.Caps}
		a.demands[n.Job.Owner.Number] = d
	}
	if n.Schedule != nil {
		d.schedules++
	} else {
		d.pending++
	}
}

// lock locks the allowances of the accounts in order, to avoid deadlocks.
func (a *admission) lock(t *tx) error {
	accounts := slices.Sorted(maps.Keys(a.demands))
	read := query{
		sql:  `SELECT account, max_pending, pending, max_schedules, schedules FROM account_room WHERE account = ANY($1) ORDER BY account FOR UPDATE`,
		args: []any{accounts},
		row: func(rows pgx.Rows) error {
			var account int64
			r := &allowance{}
			err := rows.Scan(&account, &r.caps.Pending, &r.pending, &r.caps.Schedules, &r.schedules)
			a.allowances[account] = r
			return err
		},
	}
	if err := t.run(read); err != nil || len(a.allowances) == len(accounts) {
		return err
	}
	return t.run(query{
		sql:  `INSERT INTO account_room (account) SELECT * FROM unnest($1::bigint[]) ORDER BY 1 ON CONFLICT DO NOTHING`,
		args: []any{accounts},
	}, read)
}

// count recounts the accounts whose stored allowance may not suffice, and reads the
// holders of the keys that they use.
func (a *admission) count(t *tx, c *creation, jobs []int) error {
	var queries []query
	for _, account := range slices.Sorted(maps.Keys(a.demands)) {
		d, r := a.demands[account], a.allowances[account]
		if r.full = d.caps.Full; r.full {
			a.tight[account] = true
			continue
		}
		if d.caps == r.caps && (d.caps.Pending == 0 || d.pending <= r.pending) && (d.caps.Schedules == 0 || d.schedules <= r.schedules) {
			continue
		}
		r.caps, a.tight[account] = d.caps, true
		queries = append(queries, query{
			sql: `SELECT ` + countPending + `, ` + countSchedules, args: []any{account, max(d.caps.Pending, d.caps.Schedules)},
			row: func(rows pgx.Rows) error {
				var use store.Use
				err := rows.Scan(&use.Pending, &use.Schedules)
				r.pending, r.schedules = max(0, d.caps.Pending-use.Pending), max(0, d.caps.Schedules-use.Schedules)
				return err
			},
		})
	}
	if len(a.tight) == 0 {
		return nil
	}
	var keys []heldKey
	var lookups []int16
	for _, i := range jobs {
		if n := &c.jobs[i]; n.Job.Key != nil && a.tight[n.Job.Owner.Number] {
			keys, lookups = append(keys, keyOf(n.Job)), append(lookups, keyLookup(n))
		}
	}
	if len(keys) > 0 {
		queries = append(queries, c.readHolders(t, keys, lookups))
	}
	if len(queries) == 0 {
		return nil
	}
	return t.run(queries...)
}

// take subtracts a new job from the allowance, or returns the limit that it would
// exceed.
func (a *admission) take(n *store.NewJob) store.Quota {
	r := a.allowances[n.Job.Owner.Number]
	switch {
	case r == nil:
	case r.full:
		return store.QuotaStored
	case n.Schedule != nil && r.caps.Schedules > 0:
		if r.schedules <= 0 {
			return store.QuotaSchedules
		}
		r.schedules--
	case n.Schedule == nil && r.caps.Pending > 0:
		if r.pending <= 0 {
			return store.QuotaPending
		}
		r.pending--
	}
	return store.QuotaNone
}

// save returns the queries that store the remaining allowance.
func (a *admission) save() []query {
	if len(a.allowances) == 0 {
		return nil
	}
	accounts := slices.Sorted(maps.Keys(a.allowances))
	get := func(value func(*allowance) int64) []int64 {
		return column(accounts, func(account *int64) int64 { return value(a.allowances[*account]) })
	}
	return []query{{
		sql: `UPDATE account_room r SET max_pending = u.max_pending, pending = u.pending, max_schedules = u.max_schedules, schedules = u.schedules
			FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[]) AS u (account, max_pending, pending, max_schedules, schedules)
			WHERE r.account = u.account`,
		args: []any{
			accounts, get(func(r *allowance) int64 { return r.caps.Pending }), get(func(r *allowance) int64 { return r.pending }),
			get(func(r *allowance) int64 { return r.caps.Schedules }), get(func(r *allowance) int64 { return r.schedules }),
		},
	}}
}

package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitRow is a limit as stored.
type LimitRow struct {
	store.Limit
	Account int64
	// Deleted: the row remains until nothing waits for it.
	Deleted bool
	Starts  limit.Starts
	WakeAt  time.Time // when it is to be planned; zero for not at all
}

// State returns the state of the limit with a number of attempts in flight.
func (l *LimitRow) State(inFlight int) *limit.State {
	return &limit.State{Limit: l.Limit.Limit, Starts: l.Starts, InFlight: inFlight}
}

// Limits is the table of limits, which the stores' own code for waiting items reads too.
var Limits = Table[LimitRow]{
	Name: "limits", Key: []string{"account", "key"},
	Columns: []Column[LimitRow]{
		{"account", func(l *LimitRow) any { return &l.Account }},
		{"key", func(l *LimitRow) any { return &l.Key }},
		{"calls", func(l *LimitRow) any { return &l.Calls }},
		{"per", func(l *LimitRow) any { return &l.Per }},
		{"parallel", func(l *LimitRow) any { return &l.Parallel }},
		{"paused", func(l *LimitRow) any { return &l.Paused }},
		{"ordered", func(l *LimitRow) any { return &l.Ordered }},
		{"floating", func(l *LimitRow) any { return &l.Floating }},
		{"dialect", func(l *LimitRow) any { return &l.Dialect }},
		{"deleted", func(l *LimitRow) any { return &l.Deleted }},
		{"starts", func(l *LimitRow) any { return &startsOf{to: &l.Starts} }},
		{"wake_at", func(l *LimitRow) any { return &l.WakeAt }},
	},
}

// startsOf stores the latest starts under a limit as text.
type startsOf struct {
	to   *limit.Starts
	text string
}

func (f *startsOf) Target() any { return &f.text }
func (f *startsOf) Stored() any { return f.to.String() }
func (f *startsOf) Load()       { *f.to = limit.ParseStarts(f.text) }

// defined returns a query for one limit that is not deleted.
func defined(found *[]*LimitRow, account int64, key, lock string) Query {
	return Limits.Select(found, nil, `WHERE account = $1 AND key = $2 AND NOT deleted`+lock, account, key)
}

// wake has the order of a limit planned.
func wake(account int64, key string, at time.Time) store.Notice {
	return store.Notice{Limits: []store.LimitWake{{LimitKey: store.LimitKey{Account: account, Key: key}, At: at}}}
}

// LimitPut implements store.Limits.
func (r *Records) LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (created bool, err error) {
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		var old []*LimitRow
		n := 0
		// The account's row keeps two calls from exceeding the maximum together.
		err := t.Run(
			Query{SQL: `SELECT number FROM accounts WHERE number = $1 FOR NO KEY UPDATE`, Args: []any{owner.Number}, Lock: true},
			defined(&old, owner.Number, l.Key, ``),
			Query{SQL: `SELECT count(*) FROM limits WHERE account = $1`, Args: []any{owner.Number}, Row: into(&n)},
		)
		if err != nil {
			return nil, err
		}
		created = len(old) == 0
		if err := putIf.Check("limit", !created); err != nil {
			return nil, err
		}
		if created && n >= limit.MaxPerAccount {
			return nil, store.TooManyLimits()
		}
		now := t.Now()
		t.Notify(wake(owner.Number, l.Key, now))
		if l.Dialect == "" && !created {
			l.Dialect = old[0].Dialect
		}
		// What has started under it still counts.
		return []Query{Limits.Put(&LimitRow{Account: owner.Number, Limit: l, WakeAt: now}, "starts")}, nil
	})
	return created, err
}

// LimitReset implements store.Limits.
func (r *Records) LimitReset(ctx context.Context, owner job.Owner, key string) error {
	return r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		now := t.Now()
		t.Notify(wake(owner.Number, key, now))
		return []Query{{
			SQL:  `UPDATE limits SET starts = '', wake_at = $1 WHERE account = $2 AND key = $3 AND NOT deleted`,
			Args: []any{now, owner.Number, key}, None: fault.NoSuch("limit"),
		}}, nil
	})
}

// LimitGet implements store.Limits.
func (r *Records) LimitGet(ctx context.Context, owner job.Owner, key string) (*store.LimitUse, error) {
	now := r.engine.Now()
	var found []*LimitRow
	use := &store.LimitUse{}
	var order LimitOrder
	first := order.Read(owner.Number, &store.Limit{Key: key, Limit: limit.Limit{Parallel: limit.MaxParallel}})
	err := r.engine.Read(ctx, Pages, defined(&found, owner.Number, key, ``), first, Query{
		SQL: `SELECT (SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = $1 AND key = $2 AND state >= 2 LIMIT $4) a),
			(SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = $1 AND key = $2 AND state = 1 AND due <= $3 LIMIT $4) b)`,
		Args: []any{owner.Number, key, now, store.MaxLimitCount}, Row: into(&use.InFlight, &use.Waiting),
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.NoSuch("limit")
	}
	use.Record = found[0].Limit
	state := found[0].State(use.InFlight)
	if use.Ordered {
		order.Set(state)
		use.First = order.job(state)
	}
	use.NextAt, _ = state.Earliest(now)
	if use.Calls > 0 {
		use.Started = found[0].Starts.Within(now, use.Per)
	}
	return use, nil
}

// LimitList implements store.Limits.
func (r *Records) LimitList(ctx context.Context, owner job.Owner, after string, most int) (limits []store.Limit, err error) {
	found, err := read(ctx, r, Pages, &Limits, `WHERE account = $1 AND key > $2 AND NOT deleted ORDER BY key LIMIT $3`,
		owner.Number, after, most)
	for _, l := range found {
		limits = append(limits, l.Limit)
	}
	return limits, err
}

// LimitNamed implements store.Limits.
func (r *Records) LimitNamed(ctx context.Context, owner job.Owner, key string) (*store.Limit, error) {
	var found []*LimitRow
	err := r.engine.Read(ctx, Pages, defined(&found, owner.Number, key, ``))
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fault.NoSuch("limit")
	}
	return &found[0].Limit, nil
}

// LimitJobs implements store.Limits.
func (r *Records) LimitJobs(
	ctx context.Context, owner job.Owner, key string, after limit.Position, most int,
) (positions []limit.Position, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT state, due, number FROM limit_items WHERE account = $1 AND key = $2 AND named
			AND (state, due, number) > ($3::bigint, $4::bigint, $5::bigint) ORDER BY state, due, number LIMIT $6`,
		Args:  []any{owner.Number, key, after.State, after.Due, after.Number, most},
		Start: func() { positions = nil },
		Row: func(row Row) error {
			var p limit.Position
			err := scan(row, &p.State, &p.Due, &p.Number)
			positions = append(positions, p)
			return err
		},
	})
	return positions, err
}

// LimitDelete implements store.Limits.
func (r *Records) LimitDelete(ctx context.Context, owner job.Owner, key string) (named int, err error) {
	if named, err = r.limitUses(ctx, owner, key); err != nil || named > 0 {
		return named, err
	}
	var old []*LimitRow
	err = r.deleteNamed(ctx, owner.Number,
		func() []Query {
			return []Query{defined(&old, owner.Number, key, ` FOR UPDATE`), limitNamed(&named, owner.Number, key, 1)}
		},
		func(t Tx) ([]Query, error) {
			switch {
			case len(old) == 0:
				return nil, fault.NoSuch("limit")
			case named > 0:
				return nil, nil
			}
			// What waits because of its host goes on; then the row goes, see endPass.
			now := t.Now()
			t.Notify(wake(owner.Number, key, now))
			return []Query{Limits.Put(&LimitRow{Account: owner.Number, Limit: store.Limit{Key: key}, Deleted: true, WakeAt: now})}, nil
		})
	if err != nil || named == 0 {
		return 0, err
	}
	all, err := r.limitUses(ctx, owner, key) // there was none a moment ago
	return max(all, named), err
}

// limitUses returns how many unfinished jobs name a limit, up to store.MaxLimitCount.
func (r *Records) limitUses(ctx context.Context, owner job.Owner, key string) (named int, err error) {
	var found []*LimitRow
	err = r.engine.Read(ctx, Pages, defined(&found, owner.Number, key, ``), limitNamed(&named, owner.Number, key, store.MaxLimitCount))
	if err == nil && len(found) == 0 {
		err = fault.NoSuch("limit")
	}
	return named, err
}

// limitNamed counts the unfinished jobs that name a limit, up to most.
func limitNamed(named *int, account int64, key string, most int) Query {
	return Query{
		SQL:  `SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = $1 AND key = $2 AND named LIMIT $3) n`,
		Args: []any{account, key, most}, Row: into(named),
	}
}

// LimitsOf implements store.Limits.
func (r *Records) LimitsOf(ctx context.Context, owner job.Owner, keys []string) (limits []string, err error) {
	if len(keys) == 0 {
		return nil, nil
	}
	found, err := read(ctx, r, Pages, &Limits, `WHERE account = $1 AND key = ANY($2) AND NOT deleted ORDER BY key`, owner.Number, keys)
	for _, l := range found {
		limits = append(limits, l.Key)
	}
	return limits, err
}

// LimitWaiting implements store.LimitQueue.
func (r *Records) LimitWaiting(ctx context.Context) (n int, err error) {
	err = r.engine.Read(ctx, Background, Query{
		SQL:  `SELECT count(*) FROM (SELECT 1 FROM runs WHERE kind = 0 AND due >= $1 AND due <= $2 LIMIT $3) n`,
		Args: []any{store.HeldDue(time.Unix(0, 0)), store.HeldDue(r.engine.Now()), store.MaxLimitCount}, Row: into(&n),
	})
	return n, err
}

// LimitsWaiting implements store.Limits.
func (r *Records) LimitsWaiting(ctx context.Context, owner job.Owner, limit, most int) (found []store.LimitedJobs, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL: `SELECT f.key, f.paused, f.due, (SELECT count(*) FROM (SELECT 1 FROM limit_items i
				WHERE i.account = $1 AND i.key = f.key AND i.state = 1 AND i.due <= $2 LIMIT $4) n)
			FROM (SELECT w.key, w.paused, w.due FROM (SELECT l.key, l.paused, (SELECT i.due FROM limit_items i
					WHERE i.account = $1 AND i.key = l.key AND i.state = 1 AND i.due <= $2 ORDER BY i.key, i.state, i.due LIMIT 1) AS due
				FROM limits l WHERE l.account = $1 AND NOT l.deleted) w WHERE w.due IS NOT NULL ORDER BY w.due, w.key LIMIT $3) f
			ORDER BY f.due, f.key`,
		Args: []any{owner.Number, r.engine.Now(), limit, most}, Start: func() { found = nil },
		Row: func(row Row) error {
			var l store.LimitedJobs
			err := row.Scan(&l.Key, &l.Paused, &l.Since, &l.Waiting)
			found = append(found, l)
			return err
		},
	})
	return found, err
}

// LimitWakes implements store.LimitQueue.
func (r *Records) LimitWakes(ctx context.Context, until time.Time, most int) (wakes []store.LimitWake, err error) {
	err = r.engine.Read(ctx, Queue, Query{
		SQL:  `SELECT account, key, wake_at FROM limits INDEXED BY limits_wake WHERE wake_at IS NOT NULL AND wake_at <= $1 ORDER BY wake_at LIMIT $2`,
		Args: []any{until, most}, Start: func() { wakes = nil },
		Row: func(row Row) error {
			var w store.LimitWake
			err := row.Scan(&w.Account, &w.Key, &w.At)
			wakes = append(wakes, w)
			return err
		},
	})
	return wakes, err
}

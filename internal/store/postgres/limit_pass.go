package postgres

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// LimitPass implements store.LimitQueue.
func (s *Store) LimitPass(ctx context.Context, p store.LimitPass) (passed store.LimitPassed, err error) {
	err = s.write(ctx, func(t *tx) error {
		passed = store.LimitPassed{}
		if p.Defer > 0 {
			return t.commit(query{
				sql:  `UPDATE limits SET wake_at = $3 WHERE account = (SELECT $1::bigint) AND key = $2`,
				args: []any{p.Account, p.Key, t.now.Add(p.Defer).UnixMicro()},
			})
		}
		l := &limitOrder{LimitPass: &p}
		if err := l.read(t); err != nil {
			return err
		}
		if l.rows[p.Key] == nil {
			return t.commit()
		}
		plan := store.PlanLimit(&p, l.needs, l.states, t.now)
		if l.skipped && plan.Next.IsZero() {
			plan.Next = t.now.Add(store.LimitLocked)
			plan.WakeAt = plan.Next
		}
		passed = plan.LimitPassed
		return t.commit(l.writes(t, &plan)...)
	})
	return passed, err
}

// limitOrder is the order of a limit in a pass.
type limitOrder struct {
	*store.LimitPass
	items  []store.QueueKey
	own    []time.Time
	needs  []limit.Item
	rows   map[string]*records.LimitRow
	states map[string]*limit.State
	// skipped is set if the limit is ordered and another transaction has locked the item
	// behind these.
	skipped bool
}

// firstOf are the first items that wait for a key ($2) of an account ($1): up to $3 that keep
// their places, and as many others.
const firstOf = `(SELECT * FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND state = 1 AND kept ORDER BY due, number LIMIT $3)
	UNION ALL (SELECT * FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND state = 1 AND NOT kept ORDER BY due, number LIMIT $3)`

// limitedItem is an item of an order.
type limitedItem struct {
	store.QueueKey
	need   limit.Item
	locked bool
}

// read reads the first items of the order, and locks the limits that they need
// and then the items. Other transactions lock items first, so an item that is
// locked is left for the next pass, and in an ordered limit those behind it.
func (l *limitOrder) read(t *tx) error {
	keys := []string{l.Key}
	err := t.run(query{
		sql: `SELECT DISTINCT k.key FROM (` + firstOf + `) i
			JOIN limit_items k ON k.account = i.account AND k.number = i.number`,
		args: []any{l.Account, l.Key, l.Limit},
		row: func(rows pgx.Rows) error {
			var key string
			err := rows.Scan(&key)
			keys = append(keys, key)
			return err
		},
	})
	if err != nil {
		return err
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	l.rows, l.states = map[string]*records.LimitRow{}, map[string]*limit.State{}
	err = t.run(readLimits(func(r *records.LimitRow) {
		l.rows[r.Key], l.states[r.Key] = r, r.State(0)
	}, `WHERE account = $1 AND key = ANY($2) ORDER BY key FOR UPDATE`, l.Account, keys))
	if own := l.rows[l.Key]; err != nil || own == nil {
		return err
	}
	ordered := l.rows[l.Key].Ordered
	queries := []query{{sql: countInFlight(`(SELECT unnest($2::text[]))`), args: []any{l.Account, keys}, row: readInFlight(l.states)}}
	if ordered && len(l.Starts) > 0 {
		queries = append(queries, l.started())
	}
	var inOrder []*records.LimitRow
	for _, r := range l.rows {
		if r.Ordered {
			inOrder = append(inOrder, r)
		}
	}
	orders, set := orderOf(inOrder, l.states)
	items, err := l.readItems(t, append(queries, orders...), keys)
	if err != nil {
		return err
	}
	set()
	for _, item := range items {
		if !item.locked {
			if l.skipped = ordered; ordered {
				break
			}
			continue
		}
		l.items, l.own, l.needs = append(l.items, item.QueueKey), append(l.own, item.need.Due), append(l.needs, item.need)
	}
	return nil
}

// started notes which attempts under an ordered limit have started.
func (l *limitOrder) started() query {
	return query{
		sql:  `UPDATE limit_items SET state = 3 WHERE account = (SELECT $1::bigint) AND key = $2 AND number = ANY($3) AND state = 2`,
		args: []any{l.Account, l.Key, column(l.Starts, func(s *store.LimitStart) int64 { return s.Job })},
	}
}

// readItems runs queries, then reads the first items of the order; see store.InOrder.
// Their limits must be those with the keys that are locked.
func (l *limitOrder) readItems(t *tx, queries []query, keys []string) ([]limitedItem, error) {
	var kept, others []limitedItem
	places := map[int64]int{}
	err := t.run(append(queries, query{
		sql:  `SELECT i.number, i.due, i.kept FROM (` + firstOf + `) i ORDER BY i.due, i.number`,
		args: []any{l.Account, l.Key, l.Limit},
		row: func(rows pgx.Rows) error {
			item := limitedItem{}
			err := rows.Scan(&item.need.Number, timeOf{&item.need.Due}, &item.need.Kept)
			if item.need.Kept {
				kept = append(kept, item)
			} else {
				others = append(others, item)
			}
			return err
		},
	})...)
	if err != nil {
		return nil, err
	}
	items := store.InOrder(kept, others, l.rows[l.Key].Ordered,
		func(i *limitedItem) limit.Place { return limit.Place{Due: i.need.Due, Number: i.need.Number} }, l.Limit)
	for i := range items {
		places[items[i].need.Number] = i
	}
	err = t.run(query{
		sql: `SELECT r.due, r.kind, r.number, r.account, r.lane, r.revision, i.due, (SELECT string_agg(k.key, ' ') FROM limit_items k WHERE k.account = i.account AND k.number = i.number)
			FROM (SELECT * FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2 AND state = 1 AND number = ANY($3) OFFSET 0) i
			JOIN runs r ON r.due = i.due + $4 AND r.kind = 0 AND r.number = i.number AND r.account = i.account
			WHERE r.node = 0 ORDER BY i.due, i.number FOR UPDATE OF r SKIP LOCKED`,
		args: []any{l.Account, l.Key, slices.Collect(maps.Keys(places)), store.HeldDue(time.UnixMicro(0)).UnixMicro()},
		row: func(rows pgx.Rows) error {
			var ref store.QueueKey
			var due time.Time
			var needs string
			if err := rows.Scan(timeOf{&ref.Due}, &ref.Kind, &ref.Number, &ref.Account, &ref.Lane, &ref.Revision, timeOf{&due},
				&needs); err != nil {
				return err
			}
			item := &items[places[ref.Number]]
			if !due.Equal(item.need.Due) {
				return errRetry // it has moved since
			}
			item.QueueKey, item.need.Keys, item.locked = ref, strings.Fields(needs), true
			for _, key := range item.need.Keys {
				if !slices.Contains(keys, key) {
					return errRetry // it has joined the order since
				}
			}
			return nil
		},
	})
	return items, err
}

// writes returns what a plan stores.
func (l *limitOrder) writes(t *tx, plan *store.LimitPlan) []query {
	var granted, moved []limitedMove
	var to []string
	for _, d := range plan.Decisions {
		m := limitedMove{QueueKey: l.items[d.Item], to: d.At, startBy: d.Until, own: l.own[d.Item]}
		if !d.Grant {
			moved, to = append(moved, m), append(to, d.MoveTo)
			continue
		}
		granted = append(granted, m)
		ref := m.QueueKey
		ref.Due = d.At
		t.refs = append(t.refs, ref)
	}
	queries := moveHeld(granted)
	if len(granted) > 0 {
		queries = append(queries, query{
			sql: `UPDATE limit_items i SET state = 2, expires = NULL FROM (SELECT $1::bigint AS account, u.* FROM unnest($2::bigint[]) AS u (number) OFFSET 0) u
				WHERE i.account = u.account AND i.number = u.number`,
			args: []any{l.Account, column(granted, func(m *limitedMove) int64 { return m.Number })},
		})
	}
	if len(moved) > 0 {
		queries = append(queries, query{
			sql: `UPDATE limit_items i SET state = (i.key = u.key)::int FROM (SELECT $1::bigint AS account, u.* FROM unnest($2::bigint[], $3::text[]) AS u (number, key) OFFSET 0) u
				WHERE i.account = u.account AND i.number = u.number`,
			args: []any{l.Account, column(moved, func(m *limitedMove) int64 { return m.Number }), to},
		})
	}
	for _, key := range plan.Moved {
		queries = append(queries, query{
			sql:  `UPDATE limits SET wake_at = $3 WHERE account = (SELECT $1::bigint) AND key = $2 AND (wake_at IS NULL OR wake_at > $3)`,
			args: []any{key.Account, key.Key, t.now.UnixMicro()},
		})
	}
	for key, state := range l.states {
		if state.Starts.Changed() {
			queries = append(queries, query{sql: `UPDATE limits SET starts = $3 WHERE account = (SELECT $1::bigint) AND key = $2`,
				args: []any{l.Account, key, state.Starts.String()}})
		}
	}
	return append(queries, l.end(t, plan.WakeAt)...)
}

// end stores when the order is planned next. A limit that is deleted goes with
// the last item.
func (l *limitOrder) end(t *tx, wakeAt time.Time) []query {
	if l.rows[l.Key].Deleted && wakeAt.IsZero() {
		return []query{{
			sql:  `UPDATE limits SET wake_at = $3 WHERE account = (SELECT $1::bigint) AND key = $2`,
			args: []any{l.Account, l.Key, t.now.Add(store.LimitGone).UnixMicro()},
		}, {
			sql:  `DELETE FROM limits WHERE account = (SELECT $1::bigint) AND key = $2 AND NOT EXISTS (SELECT FROM limit_items WHERE account = (SELECT $1::bigint) AND key = $2)`,
			args: []any{l.Account, l.Key},
		}}
	}
	return []query{{sql: `UPDATE limits SET wake_at = $3 WHERE account = (SELECT $1::bigint) AND key = $2`,
		args: []any{l.Account, l.Key, micros(wakeAt)}}}
}

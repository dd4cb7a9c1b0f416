package sqlite

import (
	"context"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// readLimited notes whether there are limits, so that items need no look at the
// orders while there are none.
func (s *Store) readLimited(ctx context.Context) error {
	return s.read(ctx, func(t *tx) error {
		return t.query(`SELECT EXISTS (SELECT 1 FROM limits)`, func(stmt *sqlite.Stmt) error {
			s.limited.Store(stmt.ColumnInt(0) != 0)
			return nil
		})
	})
}

// limitRow reads one limit; nil if it is not defined.
func (t *tx) limitRow(account int64, key string) (*records.LimitRow, error) {
	var rows []*records.LimitRow
	err := t.Run(records.Limits.Select(&rows, nil, `WHERE account = $1 AND key = $2 AND NOT deleted`, account, key))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// LimitPut implements store.Limits.
func (s *Store) LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (created bool, err error) {
	s.limited.Store(true)
	return s.Records.LimitPut(ctx, owner, l, putIf)
}

// LimitsOf implements store.Limits.
func (s *Store) LimitsOf(ctx context.Context, owner job.Owner, keys []string) ([]string, error) {
	if !s.limited.Load() {
		return nil, nil
	}
	return s.Records.LimitsOf(ctx, owner, keys)
}

// wake requests that an order is planned.
func (t *tx) wake(account int64, key string, at time.Time) {
	t.wakes = append(t.wakes, store.LimitWake{LimitKey: store.LimitKey{Account: account, Key: key}, At: at})
}

// inFlight counts the attempts that are granted or under way, up to a number.
func (t *tx) inFlight(account int64, key string, most int) (n int, err error) {
	err = t.query(`SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = ? AND key = ? AND state >= 2 LIMIT ?)`,
		func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt(0)
			return nil
		}, account, key, most)
	return n, err
}

// LimitsHolding implements store.Limits.
func (s *Store) LimitsHolding(ctx context.Context, owner job.Owner, j *job.Job) (holding []string, err error) {
	if own, held := store.OwnDue(j.DueAt); !held || own.After(s.Now()) {
		return nil, nil
	}
	err = s.read(ctx, func(t *tx) error {
		holding = nil
		waits := map[string]bool{}
		var keys []string
		err := t.query(`SELECT key, state FROM limit_items WHERE account = ? AND number = ?`, func(stmt *sqlite.Stmt) error {
			keys = append(keys, stmt.ColumnText(0))
			waits[stmt.ColumnText(0)] = stmt.ColumnInt(1) == 1
			return nil
		}, owner.Number, j.Number)
		if err != nil {
			return err
		}
		states, _, err := t.limitStates(owner.Number, keys)
		if err != nil {
			return err
		}
		holding = store.Holding(job.LimitsNamed(j.Args), keys, states, waits, t.now)
		return nil
	})
	return holding, err
}

// limitStates reads the limits with the given keys, as far as they are defined,
// and their rows.
func (t *tx) limitStates(account int64, keys []string) (map[string]*limit.State, map[string]*records.LimitRow, error) {
	states, rows := map[string]*limit.State{}, map[string]*records.LimitRow{}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		var found []*records.LimitRow
		if err := t.Run(records.Limits.Select(&found, nil, `WHERE account = $1 AND key = $2`, account, key)); err != nil {
			return nil, nil, err
		}
		if len(found) == 0 || rows[key] != nil {
			continue
		}
		r := found[0]
		state := r.State(0)
		if r.Parallel > 0 {
			n, err := t.inFlight(account, key, r.Parallel)
			if err != nil {
				return nil, nil, err
			}
			state.InFlight = n
		}
		if r.Ordered {
			var order records.LimitOrder
			if err := t.Run(order.Read(account, &r.Limit)); err != nil {
				return nil, nil, err
			}
			order.Set(state)
		}
		rows[key], states[key] = r, state
	}
	return states, rows, nil
}

// LimitWakes implements store.LimitQueue.
func (s *Store) LimitWakes(ctx context.Context, until time.Time, most int) ([]store.LimitWake, error) {
	if !s.limited.Load() {
		return nil, nil
	}
	return s.Records.LimitWakes(ctx, until, most)
}

// LimitWaiting implements store.LimitQueue.
func (s *Store) LimitWaiting(ctx context.Context) (int, error) {
	if !s.limited.Load() {
		return 0, nil
	}
	return s.Records.LimitWaiting(ctx)
}

package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// readLimited notes whether there are limits, so that items need no look at the
// lines while there are none.
func (s *Store) readLimited(ctx context.Context) error {
	return s.read(ctx, func(t *tx) error {
		return t.query(`SELECT EXISTS (SELECT 1 FROM limits)`, func(stmt *sqlite.Stmt) error {
			s.limited.Store(stmt.ColumnInt(0) != 0)
			return nil
		})
	})
}

// limitRow is a row of limits.
type limitRow struct {
	store.Limit
	deleted bool
	starts  limit.Starts
	wakeAt  time.Time
}

const limitColumns = `key, calls, per, parallel, paused, deleted, starts, wake_at`

func (t *tx) limitRows(where string, args ...any) (rows []*limitRow, err error) {
	err = t.query(`SELECT `+limitColumns+` FROM limits WHERE `+where, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		r := &limitRow{}
		r.Key, r.Calls, r.Per = c.text(), c.int(), time.Duration(c.int64())*time.Microsecond
		r.Parallel, r.Paused, r.deleted = c.int(), c.int() != 0, c.int() != 0
		r.starts, r.wakeAt = limit.ParseStarts(c.text()), c.time()
		rows = append(rows, r)
		return nil
	}, args...)
	return rows, err
}

// limitRow reads one limit; nil if it is not defined.
func (t *tx) limitRow(account int64, key string) (*limitRow, error) {
	rows, err := t.limitRows(`account = ? AND key = ? AND NOT deleted`, account, key)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// LimitPut implements store.Limits.
func (s *Store) LimitPut(ctx context.Context, owner job.Owner, l store.Limit, putIf store.PutIf) (created bool, err error) {
	s.limited.Store(true)
	err = s.write(ctx, func(t *tx) error {
		created = false
		old, err := t.limitRow(owner.Number, l.Key)
		if err != nil {
			return err
		}
		if err := putIf.Check("limit", old != nil); err != nil {
			return err
		}
		if created = old == nil; created {
			n := 0
			err := t.query(`SELECT count(*) FROM limits WHERE account = ?`, func(stmt *sqlite.Stmt) error {
				n = stmt.ColumnInt(0)
				return nil
			}, owner.Number)
			if err != nil {
				return err
			}
			if n >= limit.MaxPerAccount {
				return store.TooManyLimits()
			}
		}
		err = t.exec(`INSERT INTO limits (account, key, calls, per, parallel, paused, wake_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
			ON CONFLICT DO UPDATE SET calls = ?3, per = ?4, parallel = ?5, paused = ?6, deleted = 0, wake_at = ?7`,
			owner.Number, l.Key, l.Calls, l.Per.Microseconds(), l.Parallel, l.Paused, t.now)
		if err != nil {
			return fmt.Errorf("storing a limit: %w", err)
		}
		t.wake(owner.Number, l.Key, t.now)
		return nil
	})
	return created, err
}

// wake requests that a line is planned.
func (t *tx) wake(account int64, key string, at time.Time) {
	t.wakes = append(t.wakes, store.LimitWake{LimitKey: store.LimitKey{Account: account, Key: key}, At: at})
}

// LimitGet implements store.Limits.
func (s *Store) LimitGet(ctx context.Context, owner job.Owner, key string) (use *store.LimitUse, err error) {
	err = s.read(ctx, func(t *tx) error {
		r, err := t.limitRow(owner.Number, key)
		if err != nil || r == nil {
			use = nil
			return err
		}
		use = &store.LimitUse{Record: r.Limit}
		if use.InFlight, err = t.inFlight(owner.Number, key, store.MaxLimitCount); err != nil {
			return err
		}
		state := limit.State{Limit: r.Limit.Limit, Starts: r.starts, InFlight: use.InFlight}
		use.NextAt, _ = state.Earliest(t.now)
		return t.query(`SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = ? AND key = ? AND state = 1 AND due <= ? LIMIT ?)`, func(stmt *sqlite.Stmt) error {
			use.Waiting = stmt.ColumnInt(0)
			return nil
		}, owner.Number, key, t.now, store.MaxLimitCount)
	})
	if err == nil && use == nil {
		return nil, fault.NoSuch("limit")
	}
	return use, err
}

// inFlight counts the attempts that are granted or under way, up to a number.
func (t *tx) inFlight(account int64, key string, most int) (n int, err error) {
	err = t.query(`SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = ? AND key = ? AND state = 2 LIMIT ?)`, func(stmt *sqlite.Stmt) error {
		n = stmt.ColumnInt(0)
		return nil
	}, account, key, most)
	return n, err
}

// LimitList implements store.Limits.
func (s *Store) LimitList(ctx context.Context, owner job.Owner, after string, most int) (found []store.Limit, err error) {
	err = s.read(ctx, func(t *tx) error {
		found = nil
		rows, err := t.limitRows(`account = ? AND key > ? AND NOT deleted ORDER BY key LIMIT ?`, owner.Number, after, most)
		for _, r := range rows {
			found = append(found, r.Limit)
		}
		return err
	})
	return found, err
}

// LimitDelete implements store.Limits.
func (s *Store) LimitDelete(ctx context.Context, owner job.Owner, key string) (named int, err error) {
	err = s.write(ctx, func(t *tx) error {
		named = 0
		r, err := t.limitRow(owner.Number, key)
		if err != nil {
			return err
		}
		if r == nil {
			return fault.NoSuch("limit")
		}
		err = t.query(`SELECT count(*) FROM (SELECT 1 FROM limit_items WHERE account = ? AND key = ? AND named LIMIT ?)`, func(stmt *sqlite.Stmt) error {
			named = stmt.ColumnInt(0)
			return nil
		}, owner.Number, key, store.MaxLimitCount)
		if err != nil || named > 0 {
			return err
		}
		// What waits because of its host goes on; then the row goes, see endPass.
		t.wake(owner.Number, key, t.now)
		return t.exec(`UPDATE limits SET deleted = 1, calls = 0, per = 0, parallel = 0, paused = 0, starts = '', wake_at = ? WHERE account = ? AND key = ?`, t.now, owner.Number, key)
	})
	return named, err
}

// LimitsOf implements store.Limits.
func (s *Store) LimitsOf(ctx context.Context, owner job.Owner, keys []string) (defined []string, err error) {
	if len(keys) == 0 || !s.limited.Load() {
		return nil, nil
	}
	err = s.read(ctx, func(t *tx) error {
		defined = nil
		for _, key := range keys {
			r, err := t.limitRow(owner.Number, key)
			if err != nil {
				return err
			}
			if r != nil {
				defined = append(defined, key)
			}
		}
		return nil
	})
	return defined, err
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

// LimitWaiting implements store.Limits.
func (s *Store) LimitWaiting(ctx context.Context) (n int, err error) {
	if !s.limited.Load() {
		return 0, nil
	}
	err = s.readAs(ctx, background, func(t *tx) error {
		return t.query(`SELECT count(*) FROM (SELECT 1 FROM runs WHERE kind = 0 AND due >= ? AND due <= ? LIMIT ?)`, func(stmt *sqlite.Stmt) error {
			n = stmt.ColumnInt(0)
			return nil
		}, store.HeldDue(time.Unix(0, 0)), store.HeldDue(t.now), store.MaxLimitCount)
	})
	return n, err
}

// limitStates reads the limits with the given keys, as far as they are defined,
// and their rows.
func (t *tx) limitStates(account int64, keys []string) (map[string]*limit.State, map[string]*limitRow, error) {
	states, rows := map[string]*limit.State{}, map[string]*limitRow{}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		found, err := t.limitRows(`account = ? AND key = ?`, account, key)
		if err != nil {
			return nil, nil, err
		}
		if len(found) == 0 || rows[key] != nil {
			continue
		}
		r := found[0]
		state := &limit.State{Limit: r.Limit.Limit, Starts: r.starts}
		if r.Parallel > 0 {
			if state.InFlight, err = t.inFlight(account, key, r.Parallel); err != nil {
				return nil, nil, err
			}
		}
		rows[key], states[key] = r, state
	}
	return states, rows, nil
}

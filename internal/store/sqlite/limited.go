package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/store"
)

// limitJob lets a pending job wait for the limits that it names, see store.Hold.
func (t *tx) limitJob(j *job.Job, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	if j.Follows != 0 {
		return t.takePlaces(places{account: j.Owner.Number, number: j.Number, due: store.HeldDue(j.DueAt), keys: keys, named: len(keys)}, -1)
	}
	due, _ := store.OwnDue(j.DueAt)
	return t.insertLimited(places{j.Owner.Number, j.Number, due, store.HeldExpiry(j, due), keys, len(keys)})
}

// places are the places of a job in the orders of limits.
type places struct {
	account, number int64
	due, expires    time.Time
	keys            []string
	named           int // how many of the keys, the first ones, the job names
}

// insertLimited lets an item wait in the order of the first of its keys.
func (t *tx) insertLimited(p places) error {
	if err := t.takePlaces(p, 0); err != nil {
		return err
	}
	// A key that is not defined any more permits everything.
	err := t.exec(`INSERT INTO limits (account, key, deleted, wake_at) VALUES (?1, ?2, 1, ?3)
		ON CONFLICT DO UPDATE SET wake_at = ?3 WHERE wake_at IS NULL OR wake_at > ?3`, p.account, p.keys[0], p.due)
	if err != nil {
		return fmt.Errorf("waking a limit: %w", err)
	}
	t.wake(p.account, p.keys[0], p.due)
	return nil
}

// takePlaces stores the keys of a job, which waits in the order of the key with an index,
// or in none.
func (t *tx) takePlaces(p places, waits int) error {
	t.store.limited.Store(true)
	for i, key := range p.keys {
		err := t.exec(`INSERT INTO limit_items (account, number, key, state, due, named, expires, kept) VALUES (?, ?2, ?, ?, ?, ?, ?, coalesce((SELECT state = 2 FROM jobs WHERE number = ?2), 0)) ON CONFLICT DO NOTHING`,
			p.account, p.number, key, i == waits, p.due, i < p.named, p.expires)
		if err != nil {
			return fmt.Errorf("entering the order of a limit: %w", err)
		}
		p.expires = time.Time{} // only the first row has it
	}
	return nil
}

// showPlaces lets a job that was released count in the order of its limits. It waits
// for none until its item is read for firing.
func (t *tx) showPlaces(item *store.QueueKey) error {
	if !t.store.limited.Load() {
		return nil
	}
	if err := t.exec(`UPDATE limit_items SET due = ? WHERE account = ? AND number = ?`, item.Due, item.Account, item.Number); err != nil {
		return fmt.Errorf("entering the order of a limit: %w", err)
	}
	return nil
}

// keepLimits counts an attempt that awaits its completion as under way.
func (t *tx) keepLimits(j *job.Job) error {
	if !t.store.limited.Load() {
		return nil
	}
	keys, named := store.LimitsNeeded(j)
	for i, key := range keys {
		err := t.exec(`INSERT INTO limit_items (account, number, key, state, due, named) SELECT account, ?, key, 3, ?, ? FROM limits
			WHERE account = ? AND key = ? AND NOT deleted ON CONFLICT DO NOTHING`, j.Number, j.DueAt, i < named, j.Owner.Number, key)
		if err != nil {
			return fmt.Errorf("keeping a job's place under a limit: %w", err)
		}
	}
	return nil
}

// deleteLimited ends what an item has of its limits: its job is final, or its item
// is replaced.
func (t *tx) deleteLimited(account, number int64) error {
	if !t.store.limited.Load() {
		return nil
	}
	if err := t.exec(`DELETE FROM limit_items WHERE account = ? AND number = ?`, account, number); err != nil {
		return fmt.Errorf("leaving the orders of limits: %w", err)
	}
	return nil
}

// readNeeds reads which limits a job's item needs.
func (t *tx) readNeeds(item *store.QueueItem) error {
	if !t.store.limited.Load() {
		return nil
	}
	err := t.query(`SELECT start_by, held_due FROM runs WHERE due = ? AND kind = 0 AND number = ?`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		item.StartBy, item.OwnDue = c.time(), c.time()
		return nil
	}, item.Due, item.Number)
	if err != nil {
		return err
	}
	ofHosts := false
	err = t.query(`SELECT 1 FROM limits WHERE account = ? AND key >= 'host:' AND key < 'host;' AND NOT deleted LIMIT 1`,
		func(*sqlite.Stmt) error {
			ofHosts = true
			return nil
		}, item.Account)
	if err != nil {
		return err
	}
	hostKey, covered := "", false
	if ofHosts {
		if hostKey, covered, err = t.hostLimit(item); err != nil {
			return err
		}
	}
	item.Needs(hostKey, covered)
	return nil
}

// hostLimit returns the key of the limit for an item's host, if there is one, and
// whether the item has waited for it.
func (t *tx) hostLimit(item *store.QueueItem) (key string, covered bool, err error) {
	spec := job.ReadSpec(item.Job.Args)
	key = limit.HostPrefix + job.Host(spec.URL)
	r, err := t.limitRow(item.Account, key)
	if err != nil || r == nil {
		return "", false, err
	}
	err = t.query(`SELECT 1 FROM limit_items WHERE account = ? AND number = ? AND key = ?`, func(*sqlite.Stmt) error {
		covered = true
		return nil
	}, item.Account, item.Number, key)
	return key, covered, err
}

// LimitHold implements store.LimitQueue.
func (s *Store) LimitHold(ctx context.Context, items []store.HeldItem) error {
	return s.write(ctx, func(t *tx) error {
		for i := range items {
			if err := t.holdItem(&items[i]); err != nil {
				return fmt.Errorf("holding a queue item: %w", err)
			}
		}
		return nil
	})
}

func (t *tx) holdItem(item *store.HeldItem) error {
	found := false
	var startBy, own time.Time
	err := t.query(`SELECT start_by, held_due FROM runs WHERE due = ? AND kind = 0 AND number = ? AND node = 0`,
		func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			found, startBy, own = true, c.time(), c.time()
			return nil
		}, item.Due, item.Number)
	if err != nil || !found {
		return err
	}
	if own.IsZero() {
		own = item.Due
	}
	if !startBy.IsZero() {
		if err := t.returnStart(item.Account, item.Number, startBy); err != nil {
			return err
		}
	}
	if err := t.deleteLimited(item.Account, item.Number); err != nil {
		return err
	}
	if err := t.moveHeld(item.Number, item.Due, store.HeldDue(own), time.Time{}, time.Time{}); err != nil {
		return err
	}
	return t.insertLimited(places{item.Account, item.Number, own, item.Expires, item.Keys, item.Named})
}

// moveHeld changes the due time of a job's item.
func (t *tx) moveHeld(number int64, from, to, startBy, own time.Time) error {
	err := t.exec(`UPDATE runs SET due = ?, start_by = ?, held_due = ? WHERE due = ? AND kind = 0 AND number = ?`, to, startBy, own, from,
		number)
	if err != nil {
		return err
	}
	return t.exec(`UPDATE jobs SET due_at = ? WHERE number = ?`, to, number)
}

// returnStart returns the start of a granted item that was not used.
func (t *tx) returnStart(account, number int64, until time.Time) error {
	var keys []string
	err := t.query(`SELECT key FROM limit_items WHERE account = ? AND number = ? AND state >= 2`, func(stmt *sqlite.Stmt) error {
		keys = append(keys, stmt.ColumnText(0))
		return nil
	}, account, number)
	if err != nil {
		return err
	}
	for _, key := range keys {
		r, err := t.limitRow(account, key)
		if err != nil {
			return err
		}
		if r == nil || !r.Starts.Return(until, t.now, r.Per) {
			continue
		}
		if err := t.exec(`UPDATE limits SET starts = ? WHERE account = ? AND key = ?`, r.Starts.String(), account, key); err != nil {
			return err
		}
	}
	return nil
}

// LimitPass implements store.LimitQueue.
func (s *Store) LimitPass(ctx context.Context, p store.LimitPass) (passed store.LimitPassed, err error) {
	err = s.write(ctx, func(t *tx) (err error) {
		passed, err = t.pass(&p)
		return err
	})
	return passed, err
}

// limitedItem is an item of an order.
type limitedItem struct {
	store.QueueKey
	own  time.Time
	kept bool
}

// firstItems reads the first items of an order, with their keys; see store.InOrder.
func (t *tx) firstItems(key store.LimitKey, ordered bool, most int) (items []limitedItem, needs []limit.Item, err error) {
	read := func(which string) (found []limitedItem, err error) {
		err = t.query(`SELECT r.due, r.number, r.account, r.lane, r.revision, i.due, i.kept FROM limit_items i JOIN runs r ON r.due = i.due + ?3 AND r.kind = 0 AND r.number = i.number
			WHERE i.account = ?1 AND i.key = ?2 AND i.state = 1 AND `+which+` AND r.node = 0 ORDER BY i.due, i.number LIMIT ?4`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				l := limitedItem{}
				l.Due, l.Number, l.Account, l.Lane, l.Revision, l.own, l.kept = c.time(), c.int64(), c.int64(), uint32(c.int64()),
					c.int64(),
					c.time(), c.int() != 0
				found = append(found, l)
				return nil
			}, key.Account, key.Key, store.HeldDue(time.UnixMicro(0)).UnixMicro(), most)
		return found, err
	}
	kept, err := read(`i.kept`)
	if err != nil {
		return nil, nil, err
	}
	if items, err = read(`NOT i.kept`); err != nil {
		return nil, nil, err
	}
	items = store.InOrder(kept, items, ordered, func(l *limitedItem) limit.Place { return limit.Place{Due: l.own, Number: l.Number} }, most)
	for _, l := range items {
		need := limit.Item{Due: l.own, Number: l.Number, Kept: l.kept}
		err := t.query(`SELECT key FROM limit_items WHERE account = ? AND number = ?`, func(stmt *sqlite.Stmt) error {
			need.Keys = append(need.Keys, stmt.ColumnText(0))
			return nil
		}, l.Account, l.Number)
		if err != nil {
			return nil, nil, err
		}
		needs = append(needs, need)
	}
	return items, needs, nil
}

// pass plans the order of a limit.
func (t *tx) pass(p *store.LimitPass) (store.LimitPassed, error) {
	if p.Defer > 0 {
		return store.LimitPassed{}, t.exec(`UPDATE limits SET wake_at = ? WHERE account = ? AND key = ?`, t.now.Add(p.Defer), p.Account,
			p.Key)
	}
	ordered, err := t.ordered(p.LimitKey)
	if err != nil {
		return store.LimitPassed{}, err
	}
	if ordered {
		if err := t.started(p); err != nil {
			return store.LimitPassed{}, err
		}
	}
	items, needs, err := t.firstItems(p.LimitKey, ordered, p.Limit)
	if err != nil {
		return store.LimitPassed{}, err
	}
	states, rows, err := t.limitStates(p.Account, store.KeysOf(p.Key, needs))
	if err != nil || rows[p.Key] == nil {
		return store.LimitPassed{}, err
	}
	plan := store.PlanLimit(p, needs, states, t.now)
	for _, d := range plan.Decisions {
		l := &items[d.Item]
		if d.Grant {
			err = t.grant(l, d)
		} else {
			err = t.changeLimit(l, p.Key, d.MoveTo)
		}
		if err != nil {
			return store.LimitPassed{}, fmt.Errorf("planning the order of a limit: %w", err)
		}
	}
	for _, key := range plan.Moved {
		err := t.exec(`UPDATE limits SET wake_at = ?1 WHERE account = ?2 AND key = ?3 AND (wake_at IS NULL OR wake_at > ?1)`, t.now,
			p.Account, key.Key)
		if err != nil {
			return store.LimitPassed{}, err
		}
	}
	for key, state := range states {
		if !state.Starts.Changed() {
			continue
		}
		if err := t.exec(`UPDATE limits SET starts = ? WHERE account = ? AND key = ?`, state.Starts.String(), p.Account, key); err != nil {
			return store.LimitPassed{}, err
		}
	}
	return plan.LimitPassed, t.endPass(p, plan.WakeAt, rows[p.Key].Deleted)
}

// ordered reports whether a limit is ordered.
func (t *tx) ordered(key store.LimitKey) (ordered bool, err error) {
	err = t.query(`SELECT ordered FROM limits WHERE account = ? AND key = ?`, func(stmt *sqlite.Stmt) error {
		ordered = stmt.ColumnBool(0)
		return nil
	}, key.Account, key.Key)
	return ordered, err
}

// started notes which attempts under an ordered limit have started.
func (t *tx) started(p *store.LimitPass) error {
	for _, s := range p.Starts {
		if err := t.exec(`UPDATE limit_items SET state = 3 WHERE account = ? AND number = ? AND key = ? AND state = 2`, p.Account, s.Job,
			p.Key); err != nil {
			return fmt.Errorf("noting the start of an attempt: %w", err)
		}
	}
	return nil
}

// endPass stores when the order is planned next. A limit that is deleted goes
// with the last item.
func (t *tx) endPass(p *store.LimitPass, wakeAt time.Time, deleted bool) error {
	if deleted && wakeAt.IsZero() {
		if err := t.exec(`UPDATE limits SET wake_at = ? WHERE account = ? AND key = ?`, t.now.Add(store.LimitGone), p.Account,
			p.Key); err != nil {
			return err
		}
		return t.exec(`DELETE FROM limits WHERE account = ?1 AND key = ?2 AND NOT EXISTS (SELECT 1 FROM limit_items WHERE account = ?1 AND key = ?2)`, p.Account, p.Key)
	}
	return t.exec(`UPDATE limits SET wake_at = ? WHERE account = ? AND key = ?`, wakeAt, p.Account, p.Key)
}

func (t *tx) grant(l *limitedItem, d limit.Decision) error {
	if err := t.moveHeld(l.Number, l.Due, d.At, d.Until, l.own); err != nil {
		return err
	}
	ref := l.QueueKey
	ref.Due = d.At
	t.refs = append(t.refs, ref)
	return t.exec(`UPDATE limit_items SET state = 2, expires = NULL WHERE account = ? AND number = ?`, l.Account, l.Number)
}

func (t *tx) changeLimit(l *limitedItem, from, to string) error {
	if err := t.exec(`UPDATE limit_items SET state = 0 WHERE account = ? AND number = ? AND key = ?`, l.Account, l.Number,
		from); err != nil {
		return err
	}
	return t.exec(`UPDATE limit_items SET state = 1 WHERE account = ? AND number = ? AND key = ?`, l.Account, l.Number, to)
}

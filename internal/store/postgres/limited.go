package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// limitedEntry lets a job's item wait for one of its keys. The job is given by its
// number, or by its UUID if its number is not known yet.
type limitedEntry struct {
	account, number int64
	id              uuid.UUID
	key             string
	due             time.Time
	first           bool // it waits in the order of this key
	named           bool
	expires         time.Time // see store.HeldExpiry; of the first one only
}

// limitedEntriesOf prepares a pending job to wait for the limits that it names, see
// store.Hold.
func limitedEntriesOf(j *job.Job) []limitedEntry {
	keys := store.Hold(j)
	if len(keys) == 0 {
		return nil
	}
	due, _ := store.OwnDue(j.DueAt)
	entry := limitedEntry{account: j.Owner.Number, number: j.Number, id: j.ID}
	if j.Follows != 0 {
		entry.due = store.HeldDue(due)
		entries := entry.each(keys, len(keys))
		entries[0].first = false
		return entries
	}
	entry.due, entry.expires = due, store.HeldExpiry(j, due)
	return entry.each(keys, len(keys))
}

// each returns the entry for each key, of which the job names the first ones.
func (e limitedEntry) each(keys []string, named int) []limitedEntry {
	var entries []limitedEntry
	for i, key := range keys {
		entry := e
		entry.key, entry.first, entry.named = key, i == 0, i < named
		if i > 0 {
			entry.expires = time.Time{}
		}
		entries = append(entries, entry)
	}
	return entries
}

// newLimitedEntries is limitedEntriesOf for new jobs.
func newLimitedEntries(jobs []store.NewJob) []limitedEntry {
	var entries []limitedEntry
	for i := range jobs {
		entries = append(entries, limitedEntriesOf(jobs[i].Job)...)
	}
	return entries
}

// keepLimits counts attempts that await their completion as under way.
func keepLimits(items []awaiting) []query {
	var accounts, numbers, due []int64
	var keys []string
	var named []bool
	for i := range items {
		j := items[i].job
		needed, first := store.LimitsNeeded(j)
		for k, key := range needed {
			accounts, numbers, due = append(accounts, j.Owner.Number), append(numbers, j.Number), append(due, j.DueAt.UnixMicro())
			keys, named = append(keys, text(key)), append(named, k < first)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return []query{{
		sql: `INSERT INTO limit_items (account, number, key, state, due, named)
			SELECT u.account, u.number, u.key, 3, u.due, u.named
			FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::boolean[]) AS u (account, number, key, due, named)
			JOIN limits l ON l.account = u.account AND l.key = u.key AND NOT l.Deleted ON CONFLICT DO NOTHING`,
		args: []any{accounts, numbers, keys, due, named},
	}}
}

// insertLimited lets the items of stored jobs wait for their limits. A key that is
// not defined any more permits everything.
func insertLimited(t *tx, entries []limitedEntry) []query {
	queries, wakes := storeLimited(entries)
	t.wakes = append(t.wakes, wakes...)
	return queries
}

// storeLimited is insertLimited without a notice.
func storeLimited(entries []limitedEntry) ([]query, []store.LimitWake) {
	if len(entries) == 0 {
		return nil, nil
	}
	type row = limitedEntry
	earliest := map[store.LimitKey]time.Time{}
	for i := range entries {
		e := &entries[i]
		key := store.LimitKey{Account: e.account, Key: e.key}
		if at, known := earliest[key]; e.first && (!known || e.due.Before(at)) {
			earliest[key] = e.due
		}
	}
	var wakes []store.LimitWake
	for key, at := range earliest {
		wakes = append(wakes, store.LimitWake{LimitKey: key, At: at})
	}
	return append([]query{{
		sql: `INSERT INTO limit_items (account, number, key, state, due, named, expires, kept)
			SELECT u.account, j.number, u.key, u.first::int, u.due, u.named, u.expires, j.state = 2
			FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::boolean[], $5::bigint[], $6::boolean[], $7::bigint[]) AS u (account, id, key, first, due, named, expires)
			JOIN jobs j ON j.account = u.account AND j.id = u.id ON CONFLICT DO NOTHING`,
		args: []any{
			column(entries, func(e *row) int64 { return e.account }), column(entries, func(e *row) uuid.UUID { return e.id }),
			column(entries, func(e *row) string { return e.key }), column(entries, func(e *row) bool { return e.first }),
			column(entries, func(e *row) int64 { return e.due.UnixMicro() }), column(entries, func(e *row) bool { return e.named }),
			column(entries, func(e *row) *int64 { return micros(e.expires) }),
		},
	}}, wakeLimits(wakes)...), wakes
}

// compareKeys is the order in which limits are locked, so that two transactions
// don't wait for each other.
func compareKeys(a, b store.LimitKey) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Key, b.Key))
}

// wakeLimits has limits planned at a time, unless they are planned earlier.
func wakeLimits(wakes []store.LimitWake) []query {
	if len(wakes) == 0 {
		return nil
	}
	slices.SortFunc(wakes, func(a, b store.LimitWake) int { return compareKeys(a.LimitKey, b.LimitKey) })
	type row = store.LimitWake
	return []query{{
		sql: `INSERT INTO limits (account, key, deleted, wake_at) SELECT u.account, u.key, true, u.at
				FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS u (account, key, at)
			ON CONFLICT (account, key) DO UPDATE SET wake_at = excluded.wake_at WHERE limits.wake_at IS NULL OR limits.wake_at > excluded.wake_at`,
		args: []any{
			column(wakes, func(w *row) int64 { return w.Account }), column(wakes, func(w *row) string { return w.Key }),
			column(wakes, func(w *row) int64 { return w.At.UnixMicro() }),
		},
	}}
}

// LimitHold implements store.LimitQueue.
func (s *Store) LimitHold(ctx context.Context, items []store.HeldItem) error {
	if len(items) == 0 {
		return nil
	}
	refs := column(items, func(h *store.HeldItem) store.QueueKey { return h.QueueKey })
	return s.write(ctx, func(t *tx) error {
		var entries []limitedEntry
		var moves []limitedMove
		unused := map[store.LimitKey][]time.Time{}
		seen := map[int64]bool{}
		err := t.run(query{
			sql: `SELECT u.i, r.start_by, coalesce(r.held_due, r.due), j.id FROM ` + refTable + `
				JOIN runs r ON r.due = u.due AND r.kind = u.kind AND r.number = u.number AND r.account = u.account
				JOIN jobs j ON j.account = r.account AND j.number = r.number
				WHERE r.kind = 0 AND r.node = 0 ORDER BY r.due, r.number FOR UPDATE OF r SKIP LOCKED`,
			args: append(refColumns(refs), places(len(refs))),
			row: func(rows pgx.Rows) error {
				var i int
				var startBy, own time.Time
				var id uuid.UUID
				if err := rows.Scan(&i, timeOf{&startBy}, timeOf{&own}, idOf{&id}); err != nil {
					return err
				}
				h := &items[i]
				if seen[h.Number] {
					return nil
				}
				seen[h.Number] = true
				entry := limitedEntry{account: h.Account, number: h.Number, id: id, due: own, expires: h.Expires}
				entries = append(entries, entry.each(h.Keys, h.Named)...)
				moves = append(moves, limitedMove{QueueKey: h.QueueKey, to: store.HeldDue(own)})
				for _, key := range h.Keys {
					if !startBy.IsZero() {
						of := store.LimitKey{Account: h.Account, Key: key}
						unused[of] = append(unused[of], startBy)
					}
				}
				return nil
			},
		})
		if err != nil {
			return err
		}
		queries, err := t.returnStarts(unused)
		if err != nil {
			return err
		}
		queries = append(queries, deleteLimited(moves)...)
		queries = append(queries, moveHeld(moves)...)
		return t.commit(append(queries, insertLimited(t, entries)...)...)
	})
}

// places returns the numbers from 0 to n-1.
func places(n int) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	return all
}

// returnStarts returns starts that were granted and not used.
func (t *tx) returnStarts(unused map[store.LimitKey][]time.Time) ([]query, error) {
	var queries []query
	for _, of := range slices.SortedFunc(maps.Keys(unused), compareKeys) {
		starts := unused[of]
		var r *records.LimitRow
		err := t.run(readLimits(func(l *records.LimitRow) { r = l }, `WHERE account = $1 AND key = $2 FOR UPDATE`, of.Account, of.Key))
		if err != nil {
			return nil, err
		}
		if r == nil || r.Calls == 0 {
			continue
		}
		for _, at := range starts {
			r.Starts.Return(at, t.now, r.Per)
		}
		queries = append(queries, query{sql: `UPDATE limits SET starts = $3 WHERE account = (SELECT $1::bigint) AND key = $2`,
			args: []any{of.Account, of.Key, r.Starts.String()}})
	}
	return queries, nil
}

// limitedMove changes the due time of a job's item.
type limitedMove struct {
	store.QueueKey
	to      time.Time
	startBy time.Time
	own     time.Time
}

func deleteLimited(moves []limitedMove) []query {
	if len(moves) == 0 {
		return nil
	}
	return []query{{
		sql: `DELETE FROM limit_items i USING unnest($1::bigint[], $2::bigint[]) AS u (account, number) WHERE i.account = u.account AND i.number = u.number`,
		args: []any{
			column(moves, func(m *limitedMove) int64 { return m.Account }), column(moves, func(m *limitedMove) int64 { return m.Number }),
		},
	}}
}

// followersLeave removes the places of jobs that follow others.
func followersLeave(followers []*job.Job) []query {
	return deleteLimited(column(followers, func(j **job.Job) limitedMove {
		return limitedMove{QueueKey: store.QueueKey{ItemID: store.ItemID{Number: (*j).Number}, Account: (*j).Owner.Number}}
	}))
}

func moveHeld(moves []limitedMove) []query {
	if len(moves) == 0 {
		return nil
	}
	type row = limitedMove
	refs := column(moves, func(m *row) store.QueueKey { return m.QueueKey })
	return []query{{
		sql: `WITH u AS (SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
				AS u (due, kind, number, account, due_to, start_by, held_due)),
			moved AS (
				UPDATE runs r SET due = u.due_to, start_by = u.start_by, held_due = u.held_due FROM u
				WHERE r.due = u.due AND r.kind = u.kind AND r.number = u.number AND r.account = u.account)
			UPDATE jobs j SET due_at = u.due_to FROM u WHERE j.account = u.account AND j.number = u.number`,
		args: append(refColumns(refs),
			column(moves, func(m *row) int64 { return m.to.UnixMicro() }), column(moves, func(m *row) *int64 { return micros(m.startBy) }),
			column(moves, func(m *row) *int64 { return micros(m.own) })),
	}}
}

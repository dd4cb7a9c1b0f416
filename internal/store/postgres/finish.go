package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// QueueFinish implements store.Queue.
func (s *Store) QueueFinish(ctx context.Context, finishes []store.Finish) ([]bool, error) {
	if len(finishes) == 0 {
		return nil, nil
	}
	if !slices.ContainsFunc(finishes, decidesByRecords) {
		held, err := s.finish(ctx, finishes, true)
		if code(err) != notHeld {
			return held, err
		}
	}
	return s.finish(ctx, finishes, false)
}

// decidesByRecords reports whether the decision about an item needs more than the job
// that its claim has loaded.
func decidesByRecords(r store.Finish) bool {
	return r.Kind == store.KindDelivery || r.Completable || r.Job.ScheduleID != uuid.Nil
}

// finish ends the items that are still held. With atOnce it makes the decisions before
// it takes the items, and needs one round trip; the server refuses that, with notHeld, if
// one of them is not held any more.
func (s *Store) finish(ctx context.Context, finishes []store.Finish, atOnce bool) ([]bool, error) {
	var held []bool
	err := s.write(ctx, func(t *tx) error {
		f := &finishing{finishes: finishes, held: make([]bool, len(finishes)), schedules: map[scheduleKey]*job.Schedule{},
			stored: map[store.ItemID]deliveryEnd{}, completions: map[int64]*job.Completion{}}
		held = f.held
		var first []query
		if atOnce {
			first = append(first, f.takeAll())
		} else if err := t.run(f.reads()...); err != nil {
			return err
		}
		w, err := f.decide(t)
		if err != nil {
			return err
		}
		return t.commit(append(first, w.queries(t)...)...)
	})
	if err != nil {
		return nil, err
	}
	return held, nil
}

// scheduleKey identifies a schedule of an account.
type scheduleKey struct {
	account int64
	id      uuid.UUID
}

// finishing ends the claimed queue items that are still held.
type finishing struct {
	finishes  []store.Finish
	held      []bool
	schedules map[scheduleKey]*job.Schedule
	stored    map[store.ItemID]deliveryEnd
	// completions has those of attempts that have not ended, by job.
	completions map[int64]*job.Completion
}

// reads returns the queries that lock the schedules, delete the queue items and
// read the deliveries.
func (f *finishing) reads() []query {
	var queries []query
	if keys := f.scheduleKeys(); len(keys) > 0 {
		queries = append(queries, lockSchedules(`(s.account, s.id) IN (SELECT * FROM unnest($1::bigint[], $2::uuid[]))`, []any{
			column(keys, func(k *scheduleKey) int64 { return k.account }), column(keys, func(k *scheduleKey) uuid.UUID { return k.id }),
		}, f.readSchedule))
	}
	queries = append(queries, f.take())
	if refs := f.deliveries(); len(refs) > 0 {
		queries = append(queries, query{
			sql: `SELECT d.account, d.number, d.job, d.channel, d.attempt FROM deliveries d JOIN unnest($1::bigint[], $2::bigint[]) AS u (account, number)
				ON d.account = u.account AND d.number = u.number ORDER BY d.account, d.number FOR UPDATE OF d`,
			args: []any{
				column(refs, func(r *store.QueueKey) int64 { return r.Account }),
				column(refs, func(r *store.QueueKey) int64 { return r.Number }),
			},
			row: f.readDelivery,
		})
	}
	if q, some := f.lockCompletions(); some {
		queries = append(queries, q)
	}
	return queries
}

func (f *finishing) scheduleKeys() []scheduleKey {
	var keys []scheduleKey
	for _, r := range f.finishes {
		if r.Job != nil && r.Job.ScheduleID != uuid.Nil {
			keys = append(keys, scheduleKey{r.Job.Owner.Number, r.Job.ScheduleID})
		}
	}
	return keys
}

func (f *finishing) deliveries() []store.QueueKey {
	var refs []store.QueueKey
	for _, r := range f.finishes {
		if r.Kind == store.KindDelivery {
			refs = append(refs, r.QueueKey)
		}
	}
	return refs
}

func (f *finishing) readSchedule(rows pgx.Rows) error {
	s := &job.Schedule{}
	err := rows.Scan(scheduleTargets(s)...)
	f.schedules[scheduleKey{s.Owner.Number, s.ID}] = s
	return err
}

func (f *finishing) readDelivery(rows pgx.Rows) error {
	var e deliveryEnd
	var account int64
	e.Kind = store.KindDelivery
	err := rows.Scan(&account, &e.Number, &e.job, &e.channel, &e.tried)
	f.stored[e.ItemID] = e
	return err
}

// take deletes the queue items that are still held, in the order of their keys.
func (f *finishing) take() query {
	q := f.taking(`SELECT min(i) FROM held GROUP BY due, kind, number, account`)
	q.row = marks(f.held)
	return q
}

// notHeld is the SQLSTATE of a text that is not a number; see takeAll.
const notHeld = "22P02"

// takeAll counts all queue items as held and deletes them. It fails if one is not held
// any more. SQL has no statement that fails on a condition; the server logs the text of
// this one.
func (f *finishing) takeAll() query {
	for i := range f.held {
		f.held[i] = true
	}
	return f.taking(`SELECT (CASE WHEN count(*) = cardinality($1::bigint[]) THEN '0' ELSE 'finished one by one, because others have ended ' || cardinality($1::bigint[]) - count(*) END)::bigint
		FROM (SELECT DISTINCT due, kind, number, account FROM held) h`)
}

// taking deletes the queue items that are still held and runs result on them.
func (f *finishing) taking(result string) query {
	refs := column(f.finishes, func(r *store.Finish) store.QueueKey { return r.QueueKey })
	return query{
		sql: `WITH held AS (
			SELECT r.due, r.kind, r.number, r.account, r.start_by, r.held_due, c.i
			FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[]) WITH ORDINALITY AS c (due, kind, number, account, node, attempt, i)
			JOIN runs r ON r.due = c.due AND r.kind = c.kind AND r.number = c.number AND r.account = c.account
			WHERE r.node = c.node AND r.attempt = c.attempt ORDER BY r.due, r.kind, r.number, c.i FOR UPDATE OF r),
		gone AS (
			DELETE FROM runs r USING held h WHERE r.due = h.due AND r.kind = h.kind AND r.number = h.number AND r.account = h.account),
		freed AS (
			DELETE FROM limit_items i USING held h WHERE h.kind = 0 AND (h.start_by IS NOT NULL OR h.held_due IS NOT NULL) AND i.account = h.account AND i.number = h.number)
		` + result,
		args: append(refColumns(refs),
			column(f.finishes, func(r *store.Finish) int64 { return r.Node }),
			column(f.finishes, func(r *store.Finish) int { return r.Attempt })),
	}
}

// decide calls the decision of each queue item, in order, after the rows are
// locked.
func (f *finishing) decide(t *tx) (*writes, error) {
	w, now := &writes{}, t.store.Now()
	for i := range f.finishes {
		if !f.held[i] {
			continue
		}
		r := &f.finishes[i]
		if r.Kind == store.KindDelivery {
			f.endDelivery(w, r)
			continue
		}
		m := &store.Snapshot{Now: now, Job: r.Job}
		key := scheduleKey{r.Job.Owner.Number, r.Job.ScheduleID}
		if s := f.schedules[key]; s != nil {
			current := *s
			current.Owner = r.Job.Owner
			m.Schedule = &current
		}
		if c := f.completions[r.Number]; c != nil && r.Completable {
			c.Owner, m.Completion = r.Job.Owner, c
		}
		changes := r.Decide(m)
		if changes == nil {
			return nil, fmt.Errorf("finishing job %d: no decision was made", r.Number)
		}
		if changes.Job == nil { // it only leaves the queue
			w.leave(r.Job)
		}
		w.add(t, changes, r.QueueKey)
		if changes.Schedule != nil {
			f.schedules[key] = changes.Schedule
		}
		if changes.DropSchedule {
			delete(f.schedules, key)
		}
	}
	w.schedules = latest(w.schedules)
	return w, nil
}

// latest keeps the last value of each schedule.
func latest(schedules []*job.Schedule) []*job.Schedule {
	if len(schedules) < 2 {
		return schedules
	}
	places := map[scheduleKey]int{}
	var kept []*job.Schedule
	for _, s := range schedules {
		key := scheduleKey{s.Owner.Number, s.ID}
		if i, known := places[key]; known {
			kept[i] = s
			continue
		}
		places[key] = len(kept)
		kept = append(kept, s)
	}
	return kept
}

func (f *finishing) endDelivery(w *writes, r *store.Finish) {
	if r.Delivery.Log != nil {
		w.logs = append(w.logs, r.Delivery.Log)
	}
	if r.Delivery.Outcome != nil {
		w.outcomes = append(w.outcomes, r.Delivery.Outcome)
	}
	e := f.stored[r.ItemID]
	e.QueueKey, e.DeliveryEnd = r.QueueKey, *r.Delivery
	w.ends = append(w.ends, e)
}

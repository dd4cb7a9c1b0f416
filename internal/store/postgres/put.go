package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// SchedulePut implements store.Definitions. Calls for the same keys take turns by
// advisory locks, because a row that does not exist can't be locked. A create that
// takes a key meanwhile makes the insertion fail, and the transaction is retried.
func (s *Store) SchedulePut(ctx context.Context, owner job.Owner, keys store.PutKeys,
	decide func(*store.Holders) ([]*store.Changes, error)) (over store.Quota, err error) {
	err = s.write(ctx, func(t *tx) error {
		p := &putting{owner: owner, changes: map[uuid.UUID]*change{}, oneOffs: map[string]*job.Job{}}
		if err := measure(t, owner, keys.Keys); err != nil {
			return err
		}
		h := &store.Holders{Keys: make([]store.KeyHolder, len(keys.Keys))}
		reads := p.reads(keys.Keys, s.Now())
		if keys.Document != "" {
			reads = append([]query{lockDocument(owner, keys.Document)}, append(reads, documentEntries(owner, keys.Document, &h.Entries))...)
		}
		if err := t.run(reads...); err != nil {
			return err
		}
		now := s.Now()
		all := make([]*change, len(keys.Keys))
		for i, key := range keys.Keys {
			c, err := p.holder(text(key))
			if err != nil {
				return err
			}
			c.snapshot.Now = now
			all[i], h.Keys[i] = c, store.KeyHolder{Snapshot: *c.snapshot, OneOff: p.oneOffs[text(key)]}
		}
		changes, err := decide(h)
		if err != nil {
			return err
		}
		if err := t.goneFrom(owner.Number, changes...); err != nil {
			return err
		}
		over, err = p.store(t, all, changes)
		return err
	})
	return over, err
}

// measure returns a fault if the schedules with keys are larger than store.MaxPut
// together, with their unfinished jobs. One alone can't be.
func measure(t *tx, owner job.Owner, keys []string) error {
	if len(keys) < 2 {
		return nil
	}
	size := int64(0)
	err := t.run(query{
		sql: `SELECT coalesce(sum(octet_length(s.args) + coalesce(octet_length(s.state), 0) + coalesce(octet_length(s.previous), 0) +
				coalesce((SELECT sum(` + argsSize +
			`) FROM jobs j WHERE j.account = (SELECT $1::bigint) AND j.key = k.key AND j.state <= 2), 0)), 0)::bigint
			FROM unnest($2::text[]) k (key)
			CROSS JOIN LATERAL (SELECT * FROM schedules h WHERE h.account = (SELECT $1::bigint) AND h.key = k.key OFFSET 0) s`,
		args: []any{owner.Number, column(keys, func(key *string) string { return text(*key) })},
		row:  func(rows pgx.Rows) error { return rows.Scan(&size) },
	})
	if err == nil && size > store.MaxPut {
		return store.TooMuchPut()
	}
	return err
}

// putting is a change of what holds keys, with the locked rows.
type putting struct {
	owner   job.Owner
	changes map[uuid.UUID]*change // by schedule
	byKey   map[string]*change
	oneOffs map[string]*job.Job
}

// reads returns the queries that lock keys, schedules, queue items and jobs in the
// order in which all transactions lock them.
func (p *putting) reads(keys []string, now time.Time) []query {
	p.byKey = map[string]*change{}
	stored := column(keys, func(key *string) string { return text(*key) })
	args := []any{p.owner.Number, stored}
	// The runs of a schedule have its key, so the index of held keys finds the
	// unfinished one, however many runs there were. Each key is looked up alone:
	// where the statistics know nothing of the account yet, a join of all keys, its
	// schedules and its jobs may be planned as three nested scans of the account.
	const unfinished = `SELECT j.account, j.due_at, j.number, j.schedule_id FROM unnest($2::text[]) k (key)
		CROSS JOIN LATERAL (SELECT * FROM jobs h WHERE h.account = (SELECT $1::bigint) AND h.key = k.key AND h.state <= 2 OFFSET 0) j
		CROSS JOIN LATERAL (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0) s`
	return []query{
		{sql: `SELECT pg_advisory_xact_lock(h) FROM (SELECT DISTINCT hashtextextended(key, $1) AS h FROM unnest($2::text[]) AS key ORDER BY 1 OFFSET 0) l`, args: args},
		lockSchedules(`s.key = ANY($2) AND (s.account, s.id) IN (SELECT h.account, h.id FROM `+listOf(`text`)+
			` JOIN schedules h ON h.account = i.account AND h.key = i.key OFFSET 0)`, args, p.readSchedule),
		{
			sql: `SELECT u.schedule_id, r.due, r.number, r.lane, r.attempt, r.node, r.begin_at, r.log FROM (` + unfinished + `) u
				JOIN runs r ON r.due = u.due_at AND r.kind = 0 AND r.number = u.number AND r.account = u.account
				ORDER BY r.due, r.kind, r.number FOR UPDATE OF r`,
			args: args, row: p.readItem,
		},
		{
			sql: `SELECT ` + jobColumns + `, ` + noRun + ` FROM (` + unfinished +
				`) u JOIN jobs j ON j.account = u.account AND j.number = u.number
				ORDER BY j.account, j.number FOR NO KEY UPDATE OF j`,
			args: args, row: p.readJob,
		},
		{
			sql: `SELECT ` + briefColumns + `, ` + noRun + ` FROM ` + listOf(`text`) +
				` JOIN jobs j ON j.account = i.account AND j.key = i.key AND j.state <= 2
				WHERE NOT EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0)`,
			args: args, row: p.readOneOff,
		},
		{
			sql: `SELECT ` + briefColumns + `, ` + noRun + ` FROM unnest($2::text[]) k (key)
				CROSS JOIN LATERAL (SELECT max(h.number) AS number FROM jobs h
					WHERE h.account = (SELECT $1::bigint) AND h.key = k.key AND h.remembered_until > $3 AND h.held_until > $3 AND h.state > 2 OFFSET 0) f
				JOIN jobs j ON j.account = (SELECT $1::bigint) AND j.number = f.number
				WHERE NOT EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.key = j.key OFFSET 0)`,
			args: append(args, now.UnixMicro()), row: p.readOneOff,
		},
	}
}

func (p *putting) readSchedule(rows pgx.Rows) error {
	c := &change{snapshot: &store.Snapshot{}, owner: p.owner}
	if err := c.readSchedule(rows); err != nil {
		return err
	}
	s := c.snapshot.Schedule
	p.changes[s.ID], p.byKey[*s.Key] = c, c
	return nil
}

func (p *putting) readItem(rows pgx.Rows) error {
	var schedule uuid.UUID
	item, held := &store.QueueKey{Account: p.owner.Number}, &store.ClaimInfo{}
	var log uuid.UUID
	err := rows.Scan(idOf{&schedule}, timeOf{&item.Due}, &item.Number, &item.Lane, &held.Attempt, &held.Node, timeOf{&held.StartAt},
		idOf{&log})
	if c := p.changes[schedule]; c != nil {
		c.item, c.held, c.log = item, held, log
	}
	return err
}

func (p *putting) readJob(rows pgx.Rows) error {
	var r jobRow
	if err := rows.Scan(r.targets()...); err != nil {
		return err
	}
	r.job.Owner = p.owner
	if c := p.changes[r.job.ScheduleID]; c != nil {
		c.setJob(r.job)
	}
	return nil
}

func (p *putting) readOneOff(rows pgx.Rows) error {
	var r jobRow
	if err := rows.Scan(r.targets()...); err != nil {
		return err
	}
	r.job.Owner = p.owner
	if key := *r.job.Key; p.oneOffs[key] == nil { // an unfinished one is read first
		p.oneOffs[key] = r.job
	}
	return nil
}

// holder returns what holds a key, which may be nothing.
func (p *putting) holder(key string) (*change, error) {
	c := p.byKey[key]
	switch {
	case c == nil:
		return &change{snapshot: &store.Snapshot{}, owner: p.owner}, nil
	case c.snapshot.Job == nil && c.item != nil, c.moved():
		return nil, errRetry
	}
	return c, nil
}

// store stores changes of existing schedules and new ones, and commits.
func (p *putting) store(t *tx, all []*change, changes []*store.Changes) (store.Quota, error) {
	w := &writes{}
	var created []store.NewJob
	for i, c := range changes {
		switch {
		case c == nil:
		case c.Next != nil && c.Next.Schedule != nil:
			created = append(created, *c.Next)
		default:
			all[i].collect(t, w, c)
		}
	}
	if len(created) == 0 {
		return store.QuotaNone, t.commit(w.queries(t)...)
	}
	checked := newCreation(created)
	checked.holders, checked.over = map[heldKey]*job.Job{}, map[int]store.Quota{}
	if _, err := checked.admit(t, checked.open); err != nil {
		return store.QuotaNone, err
	}
	for _, over := range checked.over {
		return over, nil // nothing was stored; the transaction is rolled back
	}
	limited := newLimitedEntries(created) // sets their due times
	stored := 0
	pending := func(*store.NewJob) int16 { return pendingOnly } // a final one-off job does not keep its key from schedules
	if err := t.run(t.store.insertUnlessHeld(created, pending, t.now, func(int) { stored++ })); err != nil {
		return store.QuotaNone, err
	}
	if stored < len(created) {
		return store.QuotaNone, errRetry // a create has taken a key
	}
	items := column(created, func(n *store.NewJob) queued { return queued{itemOf(n.Job, n.Lane), 0} })
	queries := append(append(w.queries(t), insertItems(t, items)...), insertParts(t, created, limited)...)
	return store.QuotaNone, t.commit(append(queries, checked.save()...)...)
}

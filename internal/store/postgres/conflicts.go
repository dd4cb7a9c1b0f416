package postgres

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// resolving applies the decisions of new jobs whose keys are held. It decides in
// memory, in the order of the call, and writes only what results for each key.
type resolving struct {
	*creation
	keys   []heldKey
	states map[heldKey]*keyState
	items  map[int64]*store.QueueKey // locked queue items, by job
	claims map[int64]*store.ClaimInfo
	open   map[int]bool // new jobs for which there is room
	// revisions are added to the histories of the jobs that are changed.
	revisions []*job.Revision
}

// keyState is who has a key.
type keyState struct {
	store.KeyHolders
	lane, followerLane uint32
	stored             bool // Job was stored by this transaction, without its queue item
	added              bool // Follower is not stored yet
	changed, moved     bool // Job, and Follower, must be written
	followers          []*job.Job
}

// resolve decides about the jobs whose keys are held, once those that have free
// keys are stored.
func (c *creation) resolve(t *tx, open []int) (*resolving, error) {
	r := &resolving{creation: c, states: map[heldKey]*keyState{}, items: map[int64]*store.QueueKey{}, claims: map[int64]*store.ClaimInfo{},
		open: map[int]bool{}}
	for _, i := range open {
		r.open[i] = true
	}
	var order []int // jobs to decide about
	for i := range c.jobs {
		n := &c.jobs[i]
		if n.Job.Key == nil || c.stored[i] || c.answered(i) || c.gone[i] {
			continue
		}
		if first, repeated := c.repeats[i]; repeated && (c.over[first] != store.QuotaNone || c.results[first].Job != nil) {
			continue // the first has its result already
		} else if !repeated && !r.open[i] && c.holders[keyOf(n.Job)] == nil {
			continue // over a limit
		}
		order = append(order, i)
	}
	for _, i := range order {
		if key := keyOf(c.jobs[i].Job); c.jobs[i].Resolve != nil && r.states[key] == nil {
			r.states[key] = &keyState{}
			r.keys = append(r.keys, key)
		}
	}
	if len(r.keys) == 0 {
		return r, nil
	}
	if err := r.lock(t); err != nil {
		return nil, err
	}
	for _, i := range order {
		if err := r.decide(i); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// lock locks the queue items of the jobs that hold the keys, then these jobs and
// those that follow them.
func (r *resolving) lock(t *tx) error {
	args := []any{
		column(r.keys, func(k *heldKey) int64 { return k.account }), column(r.keys, func(k *heldKey) string { return text(k.key) }),
	}
	items := query{
		sql: `SELECT r.due, r.number, r.account, r.lane, r.attempt, r.node, r.begin_at FROM runs r
			JOIN (SELECT j.account, j.number, j.due_at FROM unnest($1::bigint[], $2::text[]) AS u (account, key)
				JOIN jobs j ON j.account = u.account AND j.key = u.key AND j.state <= 2 AND j.follows IS NULL OFFSET 0) h
			ON r.due = h.due_at AND r.kind = 0 AND r.number = h.number AND r.account = h.account
			ORDER BY r.due, r.kind, r.number FOR UPDATE OF r`,
		args: args,
		row: func(rows pgx.Rows) error {
			item, claim := &store.QueueKey{}, &store.ClaimInfo{}
			err := rows.Scan(timeOf{&item.Due}, &item.Number, &item.Account, &item.Lane, &claim.Attempt, &claim.Node,
				timeOf{&claim.StartAt})
			r.items[item.Number], r.claims[item.Number] = item, claim
			return err
		},
	}
	owners := map[int64]job.Owner{}
	for i := range r.jobs {
		owners[r.jobs[i].Job.Owner.Number] = r.jobs[i].Job.Owner
	}
	jobs := query{
		sql: `SELECT ` + jobColumns + `, ` + noRun + ` FROM unnest($1::bigint[], $2::text[]) AS u (account, key)
			JOIN jobs j ON j.account = u.account AND j.key = u.key AND j.state <= 2
			ORDER BY j.account, j.number FOR NO KEY UPDATE OF j`,
		args: args,
		row: func(rows pgx.Rows) error {
			var row jobRow
			if err := rows.Scan(row.targets()...); err != nil {
				return err
			}
			j := row.job
			j.Owner = owners[j.Owner.Number]
			s := r.states[keyOf(j)]
			if s == nil {
				return fmt.Errorf("job %d has another key than the one it was found by", j.Number)
			}
			if j.Follows != 0 {
				s.Follower = j
			} else {
				s.Job = j
			}
			return nil
		},
	}
	schedules := query{
		sql: `SELECT ` + jobColumns + `, ` + noRun + ` FROM unnest($1::bigint[], $2::text[]) AS u (account, key)
			CROSS JOIN LATERAL (SELECT h.* FROM jobs h WHERE h.account = u.account AND h.key = u.key ORDER BY h.number DESC LIMIT 1) j
			WHERE j.state > 2 AND EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0)`,
		args: args,
		row: func(rows pgx.Rows) error {
			var row jobRow
			if err := rows.Scan(row.targets()...); err != nil {
				return err
			}
			row.job.Owner = owners[row.job.Owner.Number]
			if s := r.states[keyOf(row.job)]; s != nil && s.Job == nil {
				s.Job = row.job
			}
			return nil
		},
	}
	if err := t.run(items, jobs, schedules); err != nil {
		return err
	}
	return r.match(t)
}

// match adds the claims to the holders. It asks for a retry if a queue item was
// replaced or released before it could be locked.
func (r *resolving) match(t *tx) error {
	storedHere := map[uuid.UUID]int{}
	for i := range r.stored {
		storedHere[r.jobs[i].Job.ID] = i
	}
	now := t.store.Now()
	for _, key := range r.keys {
		s := r.states[key]
		s.Now = now
		if s.Job == nil {
			return errRetry
		}
		if i, here := storedHere[s.Job.ID]; here {
			s.stored, s.lane = true, r.jobs[i].Lane
			continue
		}
		if s.Job.State.Final() {
			continue // of a schedule
		}
		item := r.items[s.Job.Number]
		if item == nil || !item.Due.Equal(s.Job.DueAt) {
			return errRetry
		}
		s.lane = item.Lane
		claim := r.claims[s.Job.Number]
		s.Job.Attempt = claim.Attempt
		if claim.Node != 0 {
			s.Claim = claim
		}
	}
	return nil
}

// decide applies the decision of one new job.
func (r *resolving) decide(i int) error {
	n := &r.jobs[i]
	s := r.states[keyOf(n.Job)]
	if s == nil {
		return nil // none of the jobs with this key has a decision
	}
	var result *job.Job
	if n.Resolve != nil {
		h := s.KeyHolders
		created := *n.Job
		created.DueAt, _ = store.OwnDue(created.DueAt) // the attempt to store it may have held it
		if c := n.Resolve(&h, &created); c != nil {
			result = c.Job
			for k := range c.Revisions {
				r.revisions = append(r.revisions, &c.Revisions[k])
			}
		}
	}
	switch {
	case result == nil:
		shown := *s.Job
		if s.Claim != nil && !s.Claim.StartAt.After(s.Now) {
			shown.State, shown.AttemptedAt = job.Executing, s.Claim.StartAt
		}
		r.resolved[i] = store.Inserted{Job: &shown, Conflict: true}
	case result.ID == s.Job.ID:
		store.Hold(result) // later calls see that it does not start soon
		s.Job, s.changed, s.lane = result, true, n.Lane
		r.resolved[i] = store.Inserted{Job: result, Conflict: true, Changed: true}
	case s.Follower != nil && result.ID == s.Follower.ID:
		s.Follower, s.moved, s.followerLane = result, !s.added, n.Lane
		s.followers = append(s.followers, result)
		r.resolved[i] = store.Inserted{Job: result, Conflict: true, Changed: true}
	default:
		if !r.open[i] {
			if over := r.take(n); over != store.QuotaNone {
				r.resolved[i] = store.Inserted{Over: over}
				return nil
			}
		}
		s.Follower, s.added, s.followerLane = result, true, n.Lane
		s.followers = append(s.followers, result)
		r.resolved[i] = store.Inserted{Job: result}
	}
	return nil
}

// itemsOf returns the queue items of jobs that were just stored, and their places
// in the orders of limits, as they are after the decisions.
func (r *resolving) itemsOf(stored []store.NewJob) (items []queued, limited []limitedEntry) {
	for i := range stored {
		j, lane := stored[i].Job, stored[i].Lane
		if j.Key != nil {
			if s := r.states[keyOf(j)]; s != nil && s.stored {
				j, lane = s.Job, s.lane
			}
		}
		limited = append(limited, limitedEntriesOf(j)...) // sets its due time
		items = append(items, queued{itemOf(j, lane), 0})
	}
	return items, limited
}

// queries returns the statements that store what was decided.
func (r *resolving) queries(t *tx) []query {
	w := &writes{revisions: r.revisions}
	var rest, after []query
	var added []store.NewJob
	var numbered [][]*job.Job // the results for each of added
	for _, key := range r.keys {
		s := r.states[key]
		if s.changed {
			w.jobs = append(w.jobs, s.Job)
			w.definitions = append(w.definitions, updateDefinitions(t, &store.Changes{Job: s.Job})...)
			rest = append(rest, updateRest(s.Job, s.lane))
			if !s.stored {
				w.limited = append(w.limited, limitedEntriesOf(s.Job)...) // sets its due time
				w.ended = append(w.ended, *r.items[s.Job.Number])
				w.items = append(w.items, queued{itemOf(s.Job, s.lane), s.Job.Attempt})
			}
		}
		if s.moved {
			w.jobs, w.followers, w.limited = append(w.jobs, s.Follower), append(w.followers, s.Follower),
				append(w.limited, limitedEntriesOf(s.Follower)...)
			w.definitions = append(w.definitions, updateDefinitions(t, &store.Changes{Job: s.Follower})...)
			rest = append(rest, updateRest(s.Follower, s.followerLane))
		}
		if s.added {
			if s.Follower.Revision > 1 { // changed in the same call
				after = append(after, query{
					sql:  `UPDATE jobs SET revision = $3 WHERE account = (SELECT $1::bigint) AND id = $2`,
					args: []any{s.Follower.Owner.Number, s.Follower.ID, s.Follower.Revision},
				})
			}
			added, numbered = append(added, store.NewJob{Job: s.Follower, Lane: s.followerLane}), append(numbered, s.followers)
		}
	}
	inserts := insertJobs(t, added)
	for k := range inserts {
		if set := inserts[k].row; set != nil {
			inserts[k].row = func(rows pgx.Rows) error {
				err := set(rows)
				for i, results := range numbered {
					for _, j := range results {
						j.Number = added[i].Job.Number
					}
				}
				return err
			}
		}
	}
	return append(append(append(w.queries(t), rest...), inserts...), after...)
}

// updateRest stores what a replaced job takes over beside its definition.
func updateRest(j *job.Job, lane uint32) query {
	return query{
		sql:  `UPDATE jobs SET hops = $3, lane = CASE WHEN follows IS NOT NULL THEN $4::bigint END WHERE account = (SELECT $1::bigint) AND number = $2`,
		args: []any{j.Owner.Number, j.Number, int16(j.Hops), int64(lane)},
	}
}

// leave notes that a job has left the queue for good, so that the job that waits
// for it may start.
func (w *writes) leave(j *job.Job) {
	if j.Key == nil || j.ScheduleID != uuid.Nil {
		return
	}
	if w.left = append(w.left, j); !j.State.Final() {
		w.unended = append(w.unended, j)
	}
}

// freeKeys takes the keys of jobs that have left the queue without an end, if other
// jobs wait for them.
func freeKeys(unended []*job.Job) []query {
	if len(unended) == 0 {
		return nil
	}
	return []query{{
		sql: `UPDATE jobs j SET key = NULL FROM unnest($1::bigint[], $2::bigint[]) AS u (account, number)
			WHERE j.account = u.account AND j.number = u.number
			AND EXISTS (SELECT FROM jobs f WHERE f.account = j.account AND f.follows = j.number AND f.state <= 2 OFFSET 0)`,
		args: []any{
			column(unended, func(j **job.Job) int64 { return (*j).Owner.Number }),
			column(unended, func(j **job.Job) int64 { return (*j).Number }),
		},
	}}
}

// releaseFollowers stores the queue items of the jobs that wait for jobs which
// have ended. held_due makes their places in the orders of limits go with them. These
// count in the order of the limits from now on.
func releaseFollowers(t *tx, ended []*job.Job) []query {
	if len(ended) == 0 {
		return nil
	}
	return []query{{
		sql: `WITH w AS (SELECT j.account, j.number, j.lane, j.revision, greatest(j.due_at, $3) AS due FROM unnest($1::bigint[], $2::bigint[]) AS u (account, number)
				JOIN jobs j ON j.account = u.account AND j.follows = u.number WHERE j.state <= 2 FOR NO KEY UPDATE OF j),
			released AS (UPDATE jobs j SET follows = NULL, lane = NULL, due_at = w.due FROM w WHERE j.account = w.account AND j.number = w.number),
			places AS (UPDATE limit_items i SET due = w.due FROM w WHERE i.account = w.account AND i.number = w.number),
			queued AS (INSERT INTO runs (due, kind, number, account, lane, attempt, revision, held_due) SELECT due, 0, number, account, lane, 0, revision, due FROM w)
			SELECT due, number, account, lane, revision FROM w`,
		args: []any{
			column(ended, func(j **job.Job) int64 { return (*j).Owner.Number }),
			column(ended, func(j **job.Job) int64 { return (*j).Number }),
			t.store.Now().UnixMicro(),
		},
		row: func(rows pgx.Rows) error {
			var item store.QueueKey
			var lane int64
			err := rows.Scan(timeOf{&item.Due}, &item.Number, &item.Account, &lane, &item.Revision)
			item.Lane = uint32(lane)
			t.refs = append(t.refs, item)
			return err
		},
	}}
}

package postgres

import (
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// change is a decision about a job, a schedule or both, with the locked rows
// that it depends on.
type change struct {
	snapshot *store.Snapshot
	owner    job.Owner
	item     *store.QueueKey // the job's queue item, locked; nil if there is none
	held     *store.ClaimInfo
	log      uuid.UUID // the request log that the claim stored
}

func (c *change) readSchedule(rows pgx.Rows) error {
	s := &job.Schedule{}
	if err := rows.Scan(scheduleTargets(s)...); err != nil {
		return err
	}
	s.Owner = c.owner
	c.snapshot.Schedule = s
	return nil
}

// lockItem locks the queue item of a job, given by a query of its due time and
// number.
func (c *change) lockItem(of string, args []any) query {
	return query{
		sql: `SELECT r.due, r.number, r.lane, r.attempt, r.node, r.begin_at, r.log FROM runs r
			WHERE r.kind = 0 AND r.account = (SELECT $1::bigint) AND (r.due, r.number) = (` + of + `) FOR UPDATE`,
		args: args, row: c.readItem,
	}
}

func (c *change) readItem(rows pgx.Rows) error {
	c.item, c.held = &store.QueueKey{Account: c.owner.Number}, &store.ClaimInfo{}
	return rows.Scan(timeOf{&c.item.Due}, &c.item.Number, &c.item.Lane, &c.held.Attempt, &c.held.Node, timeOf{&c.held.StartAt},
		idOf{&c.log})
}

// lockJob reads a job as stored, after its queue item was locked.
func (c *change) lockJob(where string, args []any) query {
	return query{
		sql: `SELECT ` + jobColumns + `, ` + noRun + ` FROM jobs j WHERE ` + where + ` FOR NO KEY UPDATE`, args: args,
		row: c.readJob,
	}
}

func (c *change) readJob(rows pgx.Rows) error {
	var r jobRow
	if err := rows.Scan(r.targets()...); err != nil {
		return err
	}
	r.job.Owner = c.owner
	c.setJob(r.job)
	return nil
}

// setJob sets the job, after its queue item was read.
func (c *change) setJob(j *job.Job) {
	c.snapshot.Job = j
	if c.item != nil {
		j.Attempt = c.held.Attempt
	}
	if c.item != nil && c.held.Node != 0 {
		c.snapshot.Claim = c.held
	}
}

// moved reports whether the job's queue item was replaced before it could be
// locked.
func (c *change) moved() bool {
	j := c.snapshot.Job
	return j != nil && !j.State.Final() && j.Follows == 0 && (c.item == nil || !c.item.Due.Equal(j.DueAt))
}

// execute calls the decision, stores its changes, runs after and commits. The
// Snapshot's time is taken after the rows are locked: the transaction may have
// waited for a claim whose attempt has started meanwhile.
func (c *change) execute(t *tx, decide store.Decide, after query) error {
	c.snapshot.Now = t.store.Now()
	changes := decide(c.snapshot)
	if changes == nil {
		return t.commit(after)
	}
	if err := t.goneFrom(c.owner.Number, changes); err != nil {
		return err
	}
	w := &writes{}
	c.collect(t, w, changes)
	return t.commit(append(w.queries(t), after)...)
}

// collect adds changes that were decided, and what they mean for the claim.
func (c *change) collect(t *tx, w *writes, changes *store.Changes) {
	if changes.RollbackClaim && c.snapshot.Claim != nil {
		w.rollbackClaims = append(w.rollbackClaims,
			prepared{c.item.Account, c.item.Number, c.snapshot.Claim.Attempt, c.log, c.snapshot.Claim.StartAt})
	}
	if changes.Job != nil && c.item != nil {
		w.ended = append(w.ended, *c.item)
		if claim := c.snapshot.Claim; claim != nil && !claim.Awaits() && !t.store.isOwn(claim.Node) {
			w.cancels = append(w.cancels, cancel{claim.Node, c.item.Number, c.snapshot.Job.Revision})
		}
	}
	var item store.QueueKey
	if c.item != nil {
		item = *c.item
	}
	w.add(t, changes, item)
}

// writes collects the changes of decisions, to store each kind with one statement.
type writes struct {
	rollbackClaims []prepared
	ended          []store.QueueKey // queue items to delete
	jobs           []*job.Job
	items          []queued
	followers      []*job.Job // that are changed; they have no queue items
	limited        []limitedEntry
	logs           []*job.Log
	deliveries     []*job.Delivery
	outcomes       []*store.AlertOutcome
	ends           []deliveryEnd
	schedules      []*job.Schedule
	drops          []*job.Schedule
	next           []store.NewJob
	cancels        []cancel
	definitions    []query
	left           []*job.Job // jobs that have left the queue for good
	unended        []*job.Job // those of left that are not final
	awaits         []awaiting
	completions    []*job.Completion
	over           []*job.Job // whose completions are over
	revisions      []*job.Revision
	runEnds        []store.RunEnd
}

// queued is a queue item to store.
type queued struct {
	store.QueueKey
	attempt int
}

// prepared identifies what a claim stored for an attempt. The deliveries of an
// interrupted attempt with the same number are older; they stay.
type prepared struct {
	account, number int64
	attempt         int
	log             uuid.UUID
	startAt         time.Time
}

// cancel informs a node that its claim of a job, with a revision, was ended.
type cancel struct{ node, number, revision int64 }

// add adds changes. The queue item of a changed job is deleted, and inserted
// again if the job is not final.
func (w *writes) add(t *tx, c *store.Changes, item store.QueueKey) {
	if c.Job != nil {
		w.jobs = append(w.jobs, c.Job)
		if c.Job.Follows != 0 {
			w.followers = append(w.followers, c.Job)
		}
		switch {
		case c.Job.State.Final():
			w.leave(c.Job)
			if end, ok := store.RunEndOf(c); ok {
				w.runEnds = append(w.runEnds, end)
			}
		case c.Job.Follows != 0:
			w.limited = append(w.limited, limitedEntriesOf(c.Job)...)
			if c.Lane != nil {
				w.definitions = append(w.definitions, updateRest(c.Job, *c.Lane))
			}
		default:
			if !c.Await {
				w.limited = append(w.limited, limitedEntriesOf(c.Job)...)
			}
			item.Due, item.Revision = c.Job.DueAt, c.Job.Revision
			if c.Lane != nil {
				item.Lane = *c.Lane
			}
			if c.Await {
				w.awaits = append(w.awaits, awaiting{item, c.Completion, c.Job})
			} else {
				w.items = append(w.items, queued{item, c.Job.Attempt})
			}
		}
	}
	if c.Completion != nil {
		w.completions = append(w.completions, c.Completion)
	}
	if c.EndCompletions {
		w.over = append(w.over, c.Job)
	}
	for i := range c.Revisions {
		w.revisions = append(w.revisions, &c.Revisions[i])
	}
	for i := range c.Logs {
		w.logs = append(w.logs, &c.Logs[i])
	}
	for i := range c.Deliveries {
		w.deliveries = append(w.deliveries, &c.Deliveries[i])
	}
	for i := range c.Outcomes {
		w.outcomes = append(w.outcomes, &c.Outcomes[i])
	}
	switch {
	case c.DropSchedule:
		w.drops = append(w.drops, c.Schedule)
	case c.Schedule != nil:
		w.schedules = append(w.schedules, c.Schedule)
	}
	if c.UpdateDefinition {
		w.definitions = append(w.definitions, updateDefinitions(t, c)...)
	}
	if c.Next != nil {
		w.next = append(w.next, *c.Next)
	}
	w.next = append(w.next, c.Also...)
}

// queries returns the statements in the order in which they must run.
func (w *writes) queries(t *tx) []query {
	var all []query
	for _, some := range [][]query{
		rollbackClaims(w.rollbackClaims), deleteItems(w.ended), followersLeave(w.followers), updateJobs(t, w.jobs), w.endRuns(),
		removeSecretUses(w.jobs, endedWithSecrets), w.definitions, insertRevisions(w.revisions),
		freeKeys(w.unended), releaseFollowers(t, w.left), insertItems(t, w.items), insertLimited(t, w.limited), insertLogs(t, w.logs),
		endDeliveries(t, w.ends), insertDeliveries(t, w.deliveries), insertOutcomes(w.outcomes),
		updateSchedules(w.schedules), dropSchedules(w.drops), insertJobs(t, w.next), insertCancels(t, w.cancels),
		insertAwaiting(w.awaits), keepLimits(w.awaits), updateCompletions(w.completions), endCompletions(w.over),
	} {
		all = append(all, some...)
	}
	return all
}

func rollbackClaims(attempts []prepared) []query {
	if len(attempts) == 0 {
		return nil
	}
	type row = prepared
	args := []any{
		column(attempts, func(p *row) int64 { return p.account }), column(attempts, func(p *row) int64 { return p.number }),
		column(attempts, func(p *row) int { return p.attempt }), column(attempts, func(p *row) pgtype.UUID { return id(p.log) }),
		column(attempts, func(p *row) int64 { return p.startAt.UnixMicro() }),
	}
	return []query{{
		sql: `WITH u AS (SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::uuid[], $5::bigint[]) AS u (account, job, attempt, log, begin_at)),
		unlogged AS (DELETE FROM logs l USING u WHERE l.account = u.account AND l.id = u.log),
		gone AS (DELETE FROM deliveries d USING u WHERE d.account = u.account AND d.job = u.job AND d.job_attempt = u.attempt AND d.attempt = 0 AND d.begin_at >= u.begin_at
			RETURNING d.account, d.number, d.due),
		incomplete AS (DELETE FROM completions c USING u WHERE c.account = u.account AND c.job = u.job AND c.attempt = u.attempt AND c.state = 0)
		DELETE FROM runs r USING gone WHERE r.due = gone.due AND r.kind = 1 AND r.number = gone.number AND r.account = gone.account`,
		args: args,
	}}
}

// deleteItems deletes queue items, with their places in the orders of limits. Only
// those may have one that are held, or were, or belong to a job that followed another.
func deleteItems(refs []store.QueueKey) []query {
	if len(refs) == 0 {
		return nil
	}
	return []query{{
		sql: `WITH gone AS (DELETE FROM runs r USING unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[]) AS u (due, kind, number, account)
			WHERE r.due = u.due AND r.kind = u.kind AND r.number = u.number AND r.account = u.account
			RETURNING r.due, r.kind, r.number, r.account, r.start_by, r.held_due)
			DELETE FROM limit_items i USING gone g WHERE g.kind = 0 AND (g.start_by IS NOT NULL OR g.held_due IS NOT NULL OR g.due >= $5) AND i.account = g.account AND i.number = g.number`,
		args: append(refColumns(refs), store.HeldDue(time.Unix(0, 0)).UnixMicro()),
	}}
}

// refColumns splits keys into columns: due, kind, number, account.
func refColumns(refs []store.QueueKey) []any {
	return []any{
		column(refs, func(r *store.QueueKey) int64 { return r.Due.UnixMicro() }),
		column(refs, func(r *store.QueueKey) int16 { return int16(r.Kind) }),
		column(refs, func(r *store.QueueKey) int64 { return r.Number }), column(refs, func(r *store.QueueKey) int64 { return r.Account }),
	}
}

// updateJobs stores the states and times of jobs, and the ends of those for which others
// wait. RETURNING sees a flag that was set while the statement waited for the row.
func updateJobs(t *tx, jobs []*job.Job) []query {
	if len(jobs) == 0 {
		return nil
	}
	type row = *job.Job
	return []query{{
		sql: `WITH changed AS (UPDATE jobs j SET state = u.state, due_at = u.due_at, attempted_at = u.attempted_at,
				completed_at = u.completed_at, cancelled_at = u.cancelled_at, discarded_at = u.discarded_at
			FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
				AS u (account, number, state, due_at, attempted_at, completed_at, cancelled_at, discarded_at)
			WHERE j.account = u.account AND j.number = u.number
			RETURNING j.account, j.number, j.state, coalesce(j.completed_at, j.cancelled_at, j.discarded_at) AS ended_at, j.awaited)
			INSERT INTO job_ends (account, job, state, ended_at)
			SELECT account, number, state, ended_at FROM changed WHERE awaited IS NOT NULL AND state > 2 RETURNING 1`,
		row: func(pgx.Rows) error {
			t.released = true
			return nil
		},
		args: []any{
			column(jobs, func(j *row) int64 { return (*j).Owner.Number }), column(jobs, func(j *row) int64 { return (*j).Number }),
			column(jobs, func(j *row) int16 { return int16((*j).State) }),
			column(jobs, func(j *row) int64 { return (*j).DueAt.UnixMicro() }),
			column(jobs, func(j *row) *int64 { return micros((*j).AttemptedAt) }),
			column(jobs, func(j *row) *int64 { return micros((*j).CompletedAt) }),
			column(jobs, func(j *row) *int64 { return micros((*j).CancelledAt) }),
			column(jobs, func(j *row) *int64 { return micros((*j).DiscardedAt) }),
		},
	}}
}

// updateDefinitions stores the fields that seldom change.
func updateDefinitions(t *tx, c *store.Changes) []query {
	var queries []query
	if j := c.Job; j != nil {
		l := job.LabelsOf(j.Args)
		l.Tags = job.StoredTags(j.Args)
		args := packTexts(t.store, []*job.Job{j}, func(j **job.Job) rawjson.Value { return job.JoinArgs((*j).Args, &(*j).Hidden) })
		queries = append(queries, query{
			sql: `UPDATE jobs SET scheduled_at = $3, name = $4, description = $5, args = $6, host = $7, tags = $8, revision = $9, packed = $10, size = $11 WHERE account = (SELECT $1::bigint) AND number = $2`,
			args: []any{
				j.Owner.Number, j.Number, j.ScheduledAt.UnixMicro(), optional(j.Name), optional(j.Description), args.plain[0],
				orNull(text(l.Host)), l.Tags, j.Revision, args.packed[0], args.sizes[0],
			},
		})
		jobs := []*job.Job{j}
		queries = append(queries, removeSecretUses(jobs, func(*job.Job) bool { return true })...)
		queries = append(queries, insertSecretUses(jobs, func(j **job.Job) *job.Job { return *j })...)
	}
	if s := c.Schedule; s != nil {
		queries = append(queries, query{
			sql: `UPDATE schedules SET first_due = $3, name = $4, description = $5, args = $6, tags = $7, revision = $8, document = $9 WHERE account = (SELECT $1::bigint) AND id = $2`,
			args: []any{
				s.Owner.Number, s.ID, s.FirstDue.UnixMicro(), optional(s.Name), optional(s.Description),
				jsonText(job.JoinArgs(s.Args, &s.Hidden)), job.StoredTags(s.Args), s.Revision, text(s.Document),
			},
		})
	}
	return queries
}

func insertItems(t *tx, items []queued) []query {
	if len(items) == 0 {
		return nil
	}
	refs := column(items, func(q *queued) store.QueueKey { return q.QueueKey })
	t.refs = append(t.refs, refs...)
	return []query{{
		sql: `INSERT INTO runs (due, kind, number, account, lane, attempt, revision)
			SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::integer[], $7::bigint[])`,
		args: append(refColumns(refs),
			column(items, func(q *queued) int64 { return int64(q.Lane) }), column(items, func(q *queued) int { return q.attempt }),
			column(items, func(q *queued) int64 { return q.Revision })),
	}}
}

func insertCancels(t *tx, cancels []cancel) []query {
	if len(cancels) == 0 {
		return nil
	}
	t.cancels = append(t.cancels, column(cancels, func(c *cancel) int64 { return c.node })...)
	return []query{{
		sql: `INSERT INTO cancels (node, number, revision) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
			ON CONFLICT (node, number) DO UPDATE SET revision = excluded.revision`,
		args: []any{
			column(cancels, func(c *cancel) int64 { return c.node }), column(cancels, func(c *cancel) int64 { return c.number }),
			column(cancels, func(c *cancel) int64 { return c.revision }),
		},
	}}
}

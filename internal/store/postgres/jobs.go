package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	jobColumns   = jobHead + `j.args, j.packed, j.size` + jobTail
	briefColumns = jobHead + `NULL::text, NULL::bytea, NULL::smallint` + jobTail // without args

	jobHead = `j.number, j.id, j.account, j.state, j.schedule_id, j.key, j.inserted_at, j.scheduled_at, j.due_at,
	j.attempted_at, j.completed_at, j.cancelled_at, j.discarded_at, j.name, j.description, j.hops, j.revision, coalesce(j.rerun_of, 0), j.runs, j.skipped, `
	jobTail = `,
	coalesce(j.follows, 0), j.held_until, j.remembered_until, j.key_request, j.trace, coalesce(j.parent, 0)`
)

const (
	runColumns = `coalesce(r.node, 0), coalesce(r.attempt, 0), r.begin_at`
	noRun      = `0::bigint, 0, NULL::bigint`
	// joinItem joins a pending job with its queue item, which shows whether the job
	// is executing. A NULL keeps the index from being read for a final job.
	joinItem = ` LEFT JOIN runs r ON r.due = CASE WHEN j.state <= 2 THEN j.due_at END AND r.kind = 0 AND r.number = j.number AND r.account = j.account `
)

// jobRow reads a row of jobColumns and runColumns.
type jobRow struct {
	job  *job.Job
	held store.ClaimInfo
	args packedText
}

func (r *jobRow) targets() []any {
	r.job, r.held, r.args = &job.Job{}, store.ClaimInfo{}, packedText{}
	j := r.job
	return []any{
		&j.Number, idOf{&j.ID}, &j.Owner.Number, &j.State, idOf{&j.ScheduleID}, &j.Key,
		timeOf{&j.InsertedAt}, timeOf{&j.ScheduledAt}, timeOf{&j.DueAt},
		timeOf{&j.AttemptedAt}, timeOf{&j.CompletedAt}, timeOf{&j.CancelledAt}, timeOf{&j.DiscardedAt},
		&j.Name, &j.Description, &j.Hops, &j.Revision, &j.RerunOf, &j.Runs, &j.Skipped, &r.args.plain, &r.args.packed,
		argsOf{&r.args, &j.Args, &j.Hidden},
		&j.Follows, timeOf{&j.HeldUntil}, timeOf{&j.RememberedUntil}, &j.KeyRequest, &j.Trace, &j.Parent,
		&r.held.Node, &r.held.Attempt, timeOf{&r.held.StartAt},
	}
}

// claim returns the claim on the job's queue item; nil if there is none.
func (r *jobRow) claim() *store.ClaimInfo {
	r.job.Attempt = r.held.Attempt
	if r.held.Node == 0 {
		return nil
	}
	held := r.held
	return &held
}

// jobsOf returns a query for an owner's jobs as clients see them: executing once
// the attempt has started.
func (s *Store) jobsOf(owner job.Owner, sql string, args []any, jobs *[]*job.Job) query {
	now := s.Now()
	return query{sql: sql, args: args, start: func() { *jobs = nil }, row: func(rows pgx.Rows) error {
		j, err := scanShown(rows, now)
		if err != nil {
			return err
		}
		j.Owner = owner
		*jobs = append(*jobs, j)
		return nil
	}}
}

// scanShown reads a job as clients see it at a time.
func scanShown(rows pgx.Rows, now time.Time) (*job.Job, error) {
	var r jobRow
	if err := rows.Scan(r.targets()...); err != nil {
		return nil, err
	}
	return r.shown(now), nil
}

// shown returns the job as clients see it at a time.
func (r *jobRow) shown(now time.Time) *job.Job {
	if held := r.claim(); held != nil && !held.StartAt.After(now) {
		r.job.State, r.job.AttemptedAt = job.Executing, held.StartAt
	}
	return r.job
}

// jobIs returns the condition that selects one of an owner's ($1) jobs by $2.
func jobIs(which job.Ref) (where string, arg any) {
	if which.Number != 0 {
		return `j.account = (SELECT $1::bigint) AND j.number = $2`, which.Number
	}
	return `j.account = (SELECT $1::bigint) AND j.id = $2`, which.UUID
}

// JobGet implements store.Jobs.
func (s *Store) JobGet(ctx context.Context, owner job.Owner, which job.Ref) (*job.Job, error) {
	where, arg := jobIs(which)
	var jobs []*job.Job
	q := s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM jobs j `+joinItem+` WHERE `+where, []any{owner.Number, arg}, &jobs)
	if err := s.readAs(ctx, pages, q); err != nil {
		return nil, err
	}
	if len(jobs) == 0 {
		return nil, fault.NoSuch("job")
	}
	return jobs[0], nil
}

// JobChange implements store.Jobs.
func (s *Store) JobChange(ctx context.Context, owner job.Owner, which job.Ref, decide store.Decide) (*job.Job, error) {
	return s.jobChange(ctx, owner, which, nil, decide)
}

// jobChange is JobChange with the completion of a token in the Snapshot, unless
// token is nil.
func (s *Store) jobChange(ctx context.Context, owner job.Owner, which job.Ref, token *job.TokenHash,
	decide store.Decide) (*job.Job, error) {
	where, arg := jobIs(which)
	args := []any{owner.Number, arg}
	var result *job.Job
	err := s.write(ctx, func(t *tx) error {
		m := &store.Snapshot{}
		c := &change{snapshot: m, owner: owner}
		locks := []query{
			lockSchedules(`s.account = (SELECT $1::bigint) AND s.id = (SELECT j.schedule_id FROM jobs j WHERE `+where+`)`, args,
				c.readSchedule),
			c.lockItem(`SELECT j.due_at, j.number FROM jobs j WHERE `+where, args),
			c.lockJob(where, args),
		}
		if token != nil {
			locks = append(locks, lockCompletion(*token, &m.Completion))
		}
		err := t.run(locks...)
		switch {
		case err != nil:
			return err
		case m.Job == nil:
			return fault.NoSuch("job")
		case c.moved():
			return errRetry
		}
		return c.execute(t, decide, s.jobAfter(t, owner, m.Job.Number, &result))
	})
	return result, err
}

// jobAfter reads a job at the end of a transaction.
func (s *Store) jobAfter(t *tx, owner job.Owner, number int64, result **job.Job) query {
	var jobs []*job.Job
	q := s.jobsOf(owner, `SELECT `+jobColumns+`, `+runColumns+` FROM jobs j `+joinItem+
		` WHERE j.account = (SELECT $1::bigint) AND j.number = $2`, []any{owner.Number, number}, &jobs)
	read := q.row
	q.row = func(rows pgx.Rows) error {
		err := read(rows)
		*result = jobs[len(jobs)-1]
		return err
	}
	return q
}

// JobCounts implements store.Jobs.
func (s *Store) JobCounts(ctx context.Context) (map[job.State]int64, error) {
	counts := map[job.State]int64{}
	err := s.read(ctx,
		query{sql: `SELECT state, count(*) FROM jobs GROUP BY state`, row: func(rows pgx.Rows) error {
			var state job.State
			var n int64
			err := rows.Scan(&state, &n)
			counts[state] = n
			return err
		}},
		query{sql: `SELECT count(*) FILTER (WHERE j.state = 1), count(*) FILTER (WHERE j.state = 2)
			FROM runs r JOIN jobs j ON j.account = r.account AND j.number = r.number
			WHERE r.node > 0 AND r.kind = 0 AND r.begin_at <= $1`, args: []any{s.Now().UnixMicro()}, row: func(rows pgx.Rows) error {
			var available, retryable int64
			err := rows.Scan(&available, &retryable)
			counts[job.Available] -= available
			counts[job.Retryable] -= retryable
			counts[job.Executing] = available + retryable
			return err
		}})
	return counts, err
}

// newJobs is a table of new jobs, numbered in their order.
const newJobs = `SELECT nextval('job_numbers') AS number, u.* FROM (
	SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::smallint[], $4::uuid[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::smallint[], $12::text[], $13::text[], $14::text[],
		$15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bytea[], $23::bytea[], $24::smallint[], $25::bytea[], $26::bigint[])
	WITH ORDINALITY AS u (account, id, state, schedule_id, key, inserted_at, scheduled_at, due_at, name, description, hops, args, host, tags,
		rerun_of, follows, lane, held_until, remembered_until, runs, skipped, trace, packed, size, key_request, parent, i) ORDER BY i) u`

const (
	newColumns = `account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at, name, description, hops, args, host, rerun_of, follows, held_until, remembered_until, runs, skipped, trace, packed, size, key_request, parent`
	insertJob  = `INSERT INTO jobs (` + newColumns + `, tags, lane)
		SELECT ` + newColumns + `, string_to_array(tags, ' '), CASE WHEN follows IS NOT NULL THEN lane END FROM n`
)

// labels returns the columns host and tags of records. Tags are separated by
// spaces, which no tag contains: an array can't be an element of an array.
func labels[T any](records []T, args func(*T) rawjson.Value) (hosts, tags []*string) {
	for i := range records {
		l := job.LabelsOf(args(&records[i]))
		l.Tags = job.StoredTags(args(&records[i]))
		hosts, tags = append(hosts, orNull(text(l.Host))), append(tags, orNull(text(strings.Join(l.Tags, " "))))
	}
	return hosts, tags
}

func (s *Store) newJobColumns(jobs []store.NewJob) []any {
	type row = store.NewJob
	args := packTexts(s, jobs, func(n *row) rawjson.Value { return job.JoinArgs(n.Job.Args, &n.Job.Hidden) })
	hosts, tags := labels(jobs, func(n *row) rawjson.Value { return n.Job.Args })
	return []any{
		column(jobs, func(n *row) int64 { return n.Job.Owner.Number }), column(jobs, func(n *row) pgtype.UUID { return id(n.Job.ID) }),
		column(jobs, func(n *row) int16 { return int16(n.Job.State) }),
		column(jobs, func(n *row) pgtype.UUID { return id(n.Job.ScheduleID) }),
		column(jobs, func(n *row) *string { return optional(n.Job.Key) }),
		column(jobs, func(n *row) int64 { return n.Job.InsertedAt.UnixMicro() }),
		column(jobs, func(n *row) int64 { return n.Job.ScheduledAt.UnixMicro() }),
		column(jobs, func(n *row) int64 { return n.Job.DueAt.UnixMicro() }),
		column(jobs, func(n *row) *string { return optional(n.Job.Name) }),
		column(jobs, func(n *row) *string { return optional(n.Job.Description) }),
		column(jobs, func(n *row) int16 { return int16(n.Job.Hops) }), args.plain,
		hosts, tags, column(jobs, func(n *row) *int64 { return numberOrNull(n.Job.RerunOf) }),
		column(jobs, func(n *row) *int64 { return numberOrNull(n.Job.Follows) }), column(jobs, func(n *row) int64 { return int64(n.Lane) }),
		column(jobs, func(n *row) *int64 { return micros(n.Job.HeldUntil) }),
		column(jobs, func(n *row) *int64 { return micros(n.Job.RememberedUntil) }),
		column(jobs, func(n *row) int64 { return n.Job.Runs }), column(jobs, func(n *row) int64 { return n.Job.Skipped }),
		column(jobs, func(n *row) []byte { return n.Job.Trace }), args.packed, args.sizes,
		column(jobs, func(n *row) []byte { return n.Job.KeyRequest }),
		column(jobs, func(n *row) *int64 { return numberOrNull(n.Job.Parent) }),
	}
}

// insertJobs stores jobs with their schedules and queue items: new jobs without
// keys, next jobs of schedules, whose keys are free because the previous jobs are
// final, and jobs that follow others, which get no queue items.
func insertJobs(t *tx, jobs []store.NewJob) []query {
	if len(jobs) == 0 {
		return nil
	}
	limited := newLimitedEntries(jobs)
	return append([]query{{
		sql: `WITH n AS (` + newJobs + `), stored AS (` + insertJob + `),
			queued AS (INSERT INTO runs (due, kind, number, account, lane, attempt) SELECT due_at, 0, number, account, lane, 0 FROM n WHERE follows IS NULL)
			SELECT i, number FROM n`,
		args: t.store.newJobColumns(jobs),
		row: func(rows pgx.Rows) error {
			var i, number int64
			if err := rows.Scan(&i, &number); err != nil {
				return err
			}
			n := jobs[i-1]
			n.Job.Number, n.Job.Revision = number, max(n.Job.Revision, 1)
			if n.Job.Follows == 0 {
				t.refs = append(t.refs, itemOf(n.Job, n.Lane))
			}
			return nil
		},
	}}, insertParts(t, jobs, limited)...)
}

// insertParts stores what else there is of new jobs, which an earlier statement has
// stored: their schedules, logs, uses of secrets and places in the orders of limits.
func insertParts(t *tx, jobs []store.NewJob, limited []limitedEntry) []query {
	queries := append(insertSchedules(jobs), insertSecretUses(jobs, jobOfNew)...)
	return append(append(queries, insertFirstLogs(t, jobs)...), insertLimited(t, limited)...)
}

// insertFirstLogs stores the logs of jobs stored by an earlier statement.
func insertFirstLogs(t *tx, jobs []store.NewJob) []query {
	type row struct {
		id  uuid.UUID // of the job
		log *job.Log
	}
	var logs []row
	for i := range jobs {
		for k := range jobs[i].Logs {
			logs = append(logs, row{jobs[i].Job.ID, &jobs[i].Logs[k]})
		}
	}
	if len(logs) == 0 {
		return nil
	}
	payloads := packTexts(t.store, logs, func(r *row) rawjson.Value { return r.log.Payload })
	return []query{{
		sql: `INSERT INTO logs (account, id, job, event, inserted_at, payload, packed, size)
			SELECT u.account, u.id, j.number, u.event, u.inserted_at, u.payload, u.packed, u.size
			FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::smallint[], $5::bigint[], $6::text[], $7::bytea[], $8::smallint[]) AS u (account, id, job, event, inserted_at, payload, packed, size)
			JOIN jobs j ON j.account = u.account AND j.id = u.job`,
		args: []any{
			column(logs, func(r *row) int64 { return r.log.Owner.Number }), column(logs, func(r *row) uuid.UUID { return r.log.ID }),
			column(logs, func(r *row) uuid.UUID { return r.id }), column(logs, func(r *row) int16 { return eventNumber(r.log.Event) }),
			column(logs, func(r *row) int64 { return r.log.InsertedAt.UnixMicro() }), payloads.plain, payloads.packed, payloads.sizes,
		},
	}}
}

// The ways to look for the holder of a key among final jobs; see keyLookup.
const (
	pendingOnly   = 0
	heldJobs      = 1 // jobs that hold their key for all calls
	rememberedToo = 2 // also those that hold it for calls with the key in a header
)

// keyLookup returns in which final jobs the key of a new job is looked for.
func keyLookup(n *store.NewJob) int16 {
	switch {
	case n.Resolve != nil:
		return pendingOnly
	case n.KeyInHeader:
		return rememberedToo
	}
	return heldJobs
}

// insertUnlessHeld stores those jobs, without queue items, whose keys are neither
// taken by a schedule, nor by a final job that holds its key, nor by an unfinished
// job, of which a unique index permits one. It calls stored for each stored job.
func (s *Store) insertUnlessHeld(jobs []store.NewJob, lookup func(*store.NewJob) int16, now time.Time, stored func(i int)) query {
	places := make(map[uuid.UUID]int, len(jobs))
	for i, n := range jobs {
		places[n.Job.ID] = i
	}
	return query{
		sql: `WITH n AS (` + newJobs + `) ` + insertJob + `
			WHERE key IS NULL OR NOT EXISTS (SELECT FROM schedules s WHERE s.account = n.account AND s.key = n.key OFFSET 0)
				AND (($27::smallint[])[i] = 0 OR NOT EXISTS (SELECT FROM jobs h WHERE h.account = n.account AND h.key = n.key
					AND h.remembered_until > $28 AND (($27::smallint[])[i] = 2 OR h.held_until > $28) OFFSET 0))
			ORDER BY account, key, i
			ON CONFLICT (account, key, (follows IS NOT NULL)) WHERE key IS NOT NULL AND state <= 2 DO NOTHING
			RETURNING id, number`,
		args: append(s.newJobColumns(jobs), column(jobs, lookup), now.UnixMicro()),
		row: func(rows pgx.Rows) error {
			var which uuid.UUID
			var number int64
			err := rows.Scan(idOf{&which}, &number)
			jobs[places[which]].Job.Number, jobs[places[which]].Job.Revision = number, 1
			stored(places[which])
			return err
		},
	}
}

func itemOf(j *job.Job, lane uint32) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number, Lane: lane,
		Revision: j.Revision}
}

// insertSchedules stores the schedules of jobs stored by the previous statement.
func insertSchedules(jobs []store.NewJob) []query {
	var recurring []store.NewJob
	for _, n := range jobs {
		if n.Schedule != nil {
			recurring = append(recurring, n)
		}
	}
	if len(recurring) == 0 {
		return nil
	}
	for _, n := range recurring {
		n.Schedule.Revision = 1
	}
	type row = store.NewJob
	_, tags := labels(recurring, func(n *row) rawjson.Value { return n.Schedule.Args })
	return []query{{
		sql: `INSERT INTO schedules (account, id, key, name, description, inserted_at, first_due, epoch, args, hops, document, tags)
			SELECT u.account, u.id, u.key, u.name, u.description, u.inserted_at, u.first_due, u.epoch, u.args, u.hops, u.document, string_to_array(u.tags, ' ')
			FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[], $10::uuid[], $11::smallint[], $12::text[], $13::text[])
				AS u (account, id, key, name, description, inserted_at, first_due, epoch, args, job, hops, tags, document)
			WHERE EXISTS (SELECT FROM jobs j WHERE j.account = u.account AND j.id = u.job OFFSET 0)`,
		args: []any{
			column(recurring, func(n *row) int64 { return n.Schedule.Owner.Number }),
			column(recurring, func(n *row) uuid.UUID { return n.Schedule.ID }),
			column(recurring, func(n *row) *string { return optional(n.Schedule.Key) }),
			column(recurring, func(n *row) *string { return optional(n.Schedule.Name) }),
			column(recurring, func(n *row) *string { return optional(n.Schedule.Description) }),
			column(recurring, func(n *row) int64 { return n.Schedule.InsertedAt.UnixMicro() }),
			column(recurring, func(n *row) int64 { return n.Schedule.FirstDue.UnixMicro() }),
			column(recurring, func(n *row) int64 { return n.Schedule.Epoch }),
			column(recurring, func(n *row) *string { return jsonText(job.JoinArgs(n.Schedule.Args, &n.Schedule.Hidden)) }),
			column(recurring, func(n *row) uuid.UUID { return n.Job.ID }),
			column(recurring, func(n *row) int16 { return int16(n.Schedule.Hops) }),
			tags, column(recurring, func(n *row) string { return text(n.Schedule.Document) }),
		},
	}}
}

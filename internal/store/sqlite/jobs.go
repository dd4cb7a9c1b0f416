package sqlite

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobInsertMany implements store.Jobs.
func (s *Store) JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	results := make([]store.Inserted, len(jobs))
	if err := s.hasSpace(); err != nil {
		return nil, err
	}
	values := argsOf(jobs)
	err := s.writeSized(ctx, sizeOf(jobs), func(t *tx) error {
		if err := t.insertAll(jobs, values, results, math.MaxInt); err != nil {
			return err
		}
		return t.awaitAll(jobs, results)
	})
	return results, err
}

// storedArgs is what is stored of a job's arguments.
type storedArgs struct {
	text    storedText
	host    any
	tags    rawjson.Value
	secrets []string // names
}

func storeArgs(j *job.Job) storedArgs {
	host, tags := labels(j.Args)
	return storedArgs{pack(job.JoinArgs(j.Args, &j.Hidden)), host, tags, job.SecretNames(j)}
}

// argsOf returns what is stored of the arguments of new jobs. Callers compute it before
// their transaction, which holds the only writer.
func argsOf(jobs []store.NewJob) []storedArgs {
	all := make([]storedArgs, len(jobs))
	for i := range jobs {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		all[i] = storeArgs(jobs[i].Job)
	}
	return all
}

// insertJob stores a job. args is what storeArgs returns for it.
func (t *tx) insertJob(n store.NewJob, args *storedArgs) error {
	j := n.Job
	keys := store.Hold(j)
	text := &args.text
	err := t.exec(`INSERT INTO jobs (id, account, state, schedule_id, key, inserted_at, scheduled_at, due_at, name, description, hops, rerun_of, args, host, tags, runs, skipped,
			follows, lane, held_until, remembered_until, key_request, trace, packed, size, room, parent)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		j.ID, j.Owner.Number, j.State, j.ScheduleID, j.Key, j.InsertedAt, instant(j.ScheduledAt), j.DueAt, j.Name, j.Description, j.Hops,
		numberOrNull(j.RerunOf), text.plain, args.host, args.tags, j.Runs, j.Skipped,
		numberOrNull(j.Follows), laneOf(j, n.Lane), j.HeldUntil, j.RememberedUntil, j.KeyRequest, j.Trace, text.packed, text.size,
		reservedFor(j), numberOrNull(j.Parent))
	if err != nil {
		return fmt.Errorf("inserting a job: %w", err)
	}
	j.Number, j.Revision = t.conn.LastInsertRowID(), 1
	t.lastJob = max(t.lastJob, j.Number)
	if err := t.tag(jobTags, j.Owner.Number, j.Number, args.tags); err != nil {
		return err
	}
	t.count(j.Owner.Number, oneOffs(j), 0)
	if err := t.limitJob(j, keys); err != nil {
		return err
	}
	for i := range n.Logs {
		n.Logs[i].Job = j.Number
		if err := t.insertLog(&n.Logs[i]); err != nil {
			return err
		}
	}
	if err := t.addSecretUses(j, args.secrets); err != nil {
		return err
	}
	if j.Follows != 0 {
		return nil
	}
	return t.insertItem(store.QueueKey{
		ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number, Lane: n.Lane,
		Revision: j.Revision,
	}, 0)
}

// oneOffs returns 1 for a one-off job, else 0.
func oneOffs(j *job.Job) int64 {
	if j.ScheduleID == uuid.Nil {
		return 1
	}
	return 0
}

func (t *tx) insertItem(ref store.QueueKey, attempt int) error {
	err := t.exec(`INSERT INTO runs (due, kind, number, account, lane, attempt, revision) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		ref.Due, ref.Kind, ref.Number, ref.Account, ref.Lane, attempt, ref.Revision)
	if err != nil {
		return fmt.Errorf("inserting a queue item: %w", err)
	}
	t.refs = append(t.refs, ref)
	return nil
}

const (
	jobColumns   = jobHead + `j.args, j.packed, j.size` + jobTail
	briefColumns = jobHead + `NULL, NULL, NULL` + jobTail // without args

	jobHead = `j.number, j.id, j.account, j.state, j.schedule_id, j.key, j.inserted_at, j.scheduled_at, j.due_at,
	j.attempted_at, j.completed_at, j.cancelled_at, j.discarded_at, j.name, j.description, j.hops, j.revision, coalesce(j.rerun_of, 0), j.runs, j.skipped, `
	jobTail = `,
	j.follows, j.held_until, j.remembered_until, j.key_request, j.trace, j.parent`
)

// fromJobs joins a pending job with its queue item, which shows whether the job
// is executing. A NULL keeps the queue from being read for a final job.
const fromJobs = ` FROM jobs j LEFT JOIN runs r ON r.due = CASE WHEN j.state <= 2 THEN j.due_at END AND r.kind = 0 AND r.number = j.number `

func (t *tx) scanJob(stmt *sqlite.Stmt) (*job.Job, *store.ClaimInfo, error) {
	c := &columns{stmt: stmt}
	j := &job.Job{Number: c.int64(), ID: c.uuid()}
	account := c.int64()
	j.State, j.ScheduleID, j.Key = job.State(c.int()), c.uuid(), c.optional()
	j.InsertedAt, j.ScheduledAt, j.DueAt = c.time(), c.time(), c.time()
	j.AttemptedAt, j.CompletedAt, j.CancelledAt, j.DiscardedAt = c.time(), c.time(), c.time(), c.time()
	j.Name, j.Description, j.Hops, j.Revision, j.RerunOf, j.Runs, j.Skipped, j.Args = c.optional(), c.optional(), c.int(), c.int64(),
		c.int64(), c.int64(), c.int64(), c.packable()
	j.Args, j.Hidden = job.SplitArgs(j.Args)
	j.Follows, j.HeldUntil, j.RememberedUntil, j.KeyRequest, j.Trace, j.Parent = c.int64(), c.time(), c.time(), c.blob(), c.blob(),
		c.int64()
	var held *store.ClaimInfo
	node, attempt, startAt := c.int64(), c.int(), c.time()
	j.Attempt = attempt
	if node > 0 {
		held = &store.ClaimInfo{Node: node, Attempt: attempt, StartAt: startAt}
	}
	var err error
	j.Owner, err = t.owner(account)
	return j, held, err
}

// shown returns the job as clients see it: executing once its attempt has started.
func (t *tx) shown(j *job.Job, held *store.ClaimInfo) *job.Job {
	if held != nil && !held.StartAt.After(t.now) {
		j.State, j.AttemptedAt = job.Executing, held.StartAt
	}
	return j
}

// selectJobs selects the columns that scanJob reads.
const (
	selectJobs  = `SELECT ` + jobColumns + runColumns + fromJobs
	selectBrief = `SELECT ` + briefColumns + runColumns + fromJobs
	runColumns  = `, r.node, r.attempt, r.begin_at`
)

func (t *tx) jobsWhere(where string, args ...any) ([]*job.Job, error) {
	var jobs []*job.Job
	err := t.query(selectJobs+`WHERE `+where, func(stmt *sqlite.Stmt) error {
		j, held, err := t.scanJob(stmt)
		jobs = append(jobs, t.shown(j, held))
		return err
	}, args...)
	return jobs, err
}

func (t *tx) jobWhere(where string, args ...any) (*job.Job, error) {
	jobs, err := t.jobsWhere(where, args...)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	return jobs[0], nil
}

// jobIs returns the condition that selects one job.
func jobIs(id job.Ref) (where string, arg any) {
	if id.Number != 0 {
		return `j.number = ?`, id.Number
	}
	return `j.id = ?`, id.UUID[:]
}

// JobGet implements store.Jobs.
func (s *Store) JobGet(ctx context.Context, owner job.Owner, id job.Ref) (*job.Job, error) {
	where, arg := jobIs(id)
	j, err := one(ctx, s, func(t *tx) (*job.Job, error) { return t.jobWhere(where, arg) })
	if err == nil && (j == nil || j.Owner.Number != owner.Number) {
		return nil, fault.NoSuch("job")
	}
	return j, err
}

// JobChange implements store.Jobs.
func (s *Store) JobChange(ctx context.Context, owner job.Owner, id job.Ref, decide store.Decide) (*job.Job, error) {
	return s.jobChange(ctx, owner, id, nil, decide)
}

// jobChange is JobChange with the completion of a token in the Snapshot, unless
// token is nil.
func (s *Store) jobChange(ctx context.Context, owner job.Owner, id job.Ref, token *job.TokenHash, decide store.Decide) (*job.Job, error) {
	var result *job.Job
	err := s.write(ctx, func(t *tx) error {
		where, arg := jobIs(id)
		m, err := t.snapshot(where, arg)
		if err != nil {
			return err
		}
		if m.Job == nil || m.Job.Owner.Number != owner.Number {
			return fault.NoSuch("job")
		}
		number := m.Job.Number
		if m.Job.ScheduleID != uuid.Nil {
			if m.Schedule, err = t.schedule(m.Job.ScheduleID); err != nil {
				return err
			}
		}
		if token != nil {
			if m.Completion, err = t.completion(`token = ?`, token[:]); err != nil {
				return err
			}
		}
		if err := t.decide(owner.Number, m, decide); err != nil {
			return err
		}
		result, err = t.jobWhere(`j.number = ?`, number)
		return err
	})
	return result, err
}

// snapshot reads a job as stored, with the claim on its queue item.
func (t *tx) snapshot(where string, args ...any) (*store.Snapshot, error) {
	return t.snapshotOf(selectJobs, where, args...)
}

// snapshotOf is snapshot with selectJobs or selectBrief.
func (t *tx) snapshotOf(columns, where string, args ...any) (*store.Snapshot, error) {
	m := &store.Snapshot{Now: t.now}
	err := t.query(columns+`WHERE `+where, func(stmt *sqlite.Stmt) (err error) {
		m.Job, m.Claim, err = t.scanJob(stmt)
		return err
	}, args...)
	return m, err
}

// JobCounts implements store.Jobs.
func (s *Store) JobCounts(ctx context.Context) (map[job.State]int64, error) {
	counts := map[job.State]int64{}
	err := s.readAs(ctx, background, func(t *tx) error {
		err := t.query(`SELECT state, count(*) FROM jobs GROUP BY state`, func(stmt *sqlite.Stmt) error {
			counts[job.State(stmt.ColumnInt(0))] = stmt.ColumnInt64(1)
			return nil
		})
		if err != nil {
			return err
		}
		return t.query(`SELECT count(*) FILTER (WHERE j.state = 1), count(*) FILTER (WHERE j.state = 2)
			FROM runs r INDEXED BY runs_claimed JOIN jobs j ON j.number = r.number
			WHERE r.node > 0 AND r.kind = 0 AND r.begin_at <= ?`, func(stmt *sqlite.Stmt) error {
			counts[job.Available] -= stmt.ColumnInt64(0)
			counts[job.Retryable] -= stmt.ColumnInt64(1)
			counts[job.Executing] = stmt.ColumnInt64(0) + stmt.ColumnInt64(1)
			return nil
		}, t.now)
	})
	return counts, err
}

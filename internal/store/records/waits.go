package records

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var waits = Table[store.Wait]{
	Name: "job_waits", Key: []string{"account", "job", "waits_for"},
	Columns: []Column[store.Wait]{
		{"account", func(w *store.Wait) any { return &w.Account }},
		{"job", func(w *store.Wait) any { return &w.Job }},
		{"waits_for", func(w *store.Wait) any { return &w.WaitsFor }},
		{"batch", func(w *store.Wait) any { return &flag{to: &w.Batch} }},
		{"state", func(w *store.Wait) any { return &stateOrNull{to: &w.State} }},
		{"ended_at", func(w *store.Wait) any { return &w.EndedAt }},
	},
}

// flag stores a boolean as a number.
type flag struct {
	to *bool
	n  int64
}

func (f *flag) Target() any { return &f.n }
func (f *flag) Load()       { *f.to = f.n != 0 }
func (f *flag) Stored() any { return asNumber(*f.to) }

func asNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// stateOrNull stores no state as null.
type stateOrNull struct {
	to *job.State
	n  *int64
}

func (f *stateOrNull) Target() any { return &f.n }
func (f *stateOrNull) Stored() any { return unless(*f.to == 0, int64(*f.to)) }
func (f *stateOrNull) Load() {
	*f.to = 0
	if f.n != nil {
		*f.to = job.State(*f.n)
	}
}

// endOfJob is when a final job has ended.
const endOfJob = `coalesce(completed_at, cancelled_at, discarded_at)`

// awaited returns the query that lets the ends of jobs be stored.
func awaited(account int64, numbers []int64) Query {
	return Query{
		SQL:  `UPDATE jobs NOT INDEXED SET awaited = 1 WHERE account = $1 AND number = ANY($2) AND awaited IS NULL`,
		Args: []any{account, numbers},
	}
}

// AwaitJobs stores what a new job waits for. It locks these jobs, so that each of them
// either is seen as final here, or sees that its end is awaited.
func AwaitJobs(t Tx, account, number int64, batch bool, jobs []job.AwaitedJob) error {
	var numbers, known []int64
	for _, j := range jobs {
		numbers = append(numbers, j.Number)
	}
	slices.Sort(numbers)
	ended := 0
	err := t.Run(
		Query{
			SQL:  `SELECT number FROM jobs NOT INDEXED WHERE account = $1 AND number = ANY($2) ORDER BY number FOR NO KEY UPDATE`,
			Args: []any{account, numbers}, Start: func() { known = nil },
			Row: func(row Row) error {
				var n int64
				err := row.Scan(&n)
				known = append(known, n)
				return err
			},
		},
		awaited(account, numbers),
		Query{
			SQL: `INSERT INTO job_waits (account, job, waits_for, batch)
				SELECT account, $3::bigint, number, $4::smallint FROM jobs NOT INDEXED WHERE account = $1 AND number = ANY($2)`,
			Args: []any{account, numbers, number, asNumber(batch)},
		},
		Query{
			SQL: `INSERT INTO job_ends (account, job, state, ended_at)
				SELECT account, number, state, ` + endOfJob +
				` FROM jobs NOT INDEXED WHERE account = $1 AND number = ANY($2) AND state >= $3`,
			Args: []any{account, numbers, int64(job.Completed)}, Changed: &ended,
		},
	)
	if err != nil {
		return err
	}
	var removed []Query
	for _, j := range jobs {
		if slices.Contains(known, j.Number) {
			continue
		}
		state := j.State
		if !state.Final() {
			state = job.Cancelled
		}
		wait := &store.Wait{Account: account, Job: number, WaitsFor: j.Number, Batch: batch}
		removed = append(removed, waits.Insert(wait), insertEnd(account, j.Number, state, t.Now()))
	}
	if ended+len(removed) > 0 {
		t.Notify(store.Notice{Released: true})
	}
	return t.Run(removed...)
}

func insertEnd(account, number int64, state job.State, at time.Time) Query {
	return Query{
		SQL:  `INSERT INTO job_ends (account, job, state, ended_at) VALUES ($1, $2, $3, $4)`,
		Args: []any{account, number, int64(state), at},
	}
}

// WaitsOf implements store.WaitQueue.
func (r *Records) WaitsOf(ctx context.Context, owner job.Owner, number int64, limit int) (numbers []int64, err error) {
	err = r.engine.Read(ctx, Pages, Query{
		SQL:  `SELECT waits_for FROM job_waits WHERE account = $1 AND job = $2 AND state IS NULL ORDER BY waits_for LIMIT $3`,
		Args: []any{owner.Number, number, limit}, Start: func() { numbers = nil }, Row: intoList(&numbers),
	})
	return numbers, err
}

func intoList(to *[]int64) func(Row) error {
	return func(row Row) error {
		var n int64
		err := row.Scan(&n)
		*to = append(*to, n)
		return err
	}
}

// WaitTurn implements store.WaitQueue.
func (r *Records) WaitTurn(ctx context.Context, after int64) (account int64, err error) {
	err = r.engine.Read(ctx, Queue, Query{
		SQL:  `SELECT account FROM job_ends WHERE account > $1 AND retry_at <= $2 ORDER BY account, job, number LIMIT 1`,
		Args: []any{after, r.engine.Now()}, Start: func() { account = 0 }, Row: into(&account),
	})
	return account, err
}

// WaitPage implements store.WaitQueue.
func (r *Records) WaitPage(ctx context.Context, account, job, waitsFor int64, limit int) ([]*store.Wait, error) {
	return read(ctx, r, Background, &waits,
		`WHERE account = $1 AND (job, waits_for) > ($2, $3) ORDER BY job, waits_for LIMIT $4`, account, job, waitsFor, limit)
}

// WaitSweep implements store.WaitQueue.
func (r *Records) WaitSweep(ctx context.Context, after store.WaitCursor, limit int) (next store.WaitCursor, stored int, err error) {
	n := 0
	err = r.engine.Read(ctx, Background, Query{
		SQL: `SELECT account, waits_for, job FROM job_waits INDEXED BY job_waits_open
			WHERE state IS NULL AND (account, waits_for, job) > ($1, $2, $3) ORDER BY account, waits_for, job LIMIT $4`,
		Args: []any{after.Account, after.WaitsFor, after.Job, limit}, Start: func() { next, n = store.WaitCursor{}, 0 },
		Row: func(row Row) error {
			n++
			return row.Scan(&next.Account, &next.WaitsFor, &next.Job)
		},
	})
	if err != nil || n == 0 {
		return store.WaitCursor{}, 0, err
	}
	err = r.engine.Write(ctx, func(t Tx) ([]Query, error) {
		return []Query{{
			SQL: `INSERT INTO job_ends (account, job, state, ended_at)
				SELECT DISTINCT w.account, w.waits_for, coalesce(j.state, $7), coalesce(j.completed_at, j.cancelled_at, j.discarded_at, $8)
				FROM (SELECT account, waits_for FROM job_waits INDEXED BY job_waits_open
					WHERE state IS NULL AND (account, waits_for, job) > ($1, $2, $3) AND (account, waits_for, job) <= ($4, $5, $6)) w
				LEFT JOIN jobs j ON j.account = w.account AND j.number = w.waits_for
				WHERE (j.number IS NULL OR j.state >= $9)
					AND NOT EXISTS (SELECT 1 FROM job_ends e WHERE e.account = w.account AND e.job = w.waits_for)`,
			Args: []any{
				after.Account, after.WaitsFor, after.Job, next.Account, next.WaitsFor, next.Job,
				int64(job.Cancelled), t.Now(), int64(job.Completed),
			},
			Changed: &stored,
		}}, nil
	})
	if n < limit {
		next = store.WaitCursor{}
	}
	return next, stored, err
}

// jobEnd is the end of an awaited job.
type jobEnd struct {
	number, job int64
	state       job.State
	at          time.Time
	rows        []*store.Wait // to be noted
}

// Release is what a store.WaitStep has read.
type Release struct {
	step store.WaitStep
	ends []*jobEnd
	jobs map[int64]*store.Released
}

// ReadRelease reads and locks the ends that a step considers, and which jobs wait for
// them.
func ReadRelease(t Tx, step store.WaitStep) (*Release, error) {
	r := &Release{step: step, jobs: map[int64]*store.Released{}}
	err := t.Run(Query{
		SQL: `SELECT number, job, state, ended_at FROM job_ends WHERE account = $1 AND retry_at <= $2
			ORDER BY job, number LIMIT $3 FOR UPDATE SKIP LOCKED`,
		Args: []any{step.Account, t.Now(), store.WaitEnds}, Start: func() { r.ends = nil },
		Row: func(row Row) error {
			e := &jobEnd{}
			r.ends = append(r.ends, e)
			state := 0
			err := row.Scan(&e.number, &e.job, &state, &e.at)
			e.state = job.State(state)
			return err
		},
	})
	if err != nil || len(r.ends) == 0 {
		return r, err
	}
	var open []Query
	for i, e := range r.ends {
		if i > 0 && r.ends[i-1].job == e.job {
			continue
		}
		open = append(open, waits.Select(&e.rows, nil,
			`INDEXED BY job_waits_open WHERE account = $1 AND waits_for = $2 AND state IS NULL AND retry_at <= $3 ORDER BY job LIMIT $4`,
			step.Account, e.job, t.Now(), step.Limit))
	}
	if err := t.Run(open...); err != nil {
		return nil, err
	}
	room := step.Limit
	for i, e := range r.ends {
		n := 0
		for n < len(e.rows) && room > 0 {
			room--
			if e.rows[n].Batch {
				room -= min(store.WaitOfBatch, step.Limit) - 1
			}
			n++
		}
		if e.rows = e.rows[:n]; room <= 0 {
			r.ends = r.ends[:i+1]
			break
		}
	}
	for _, e := range r.ends {
		for _, w := range e.rows {
			w.State, w.EndedAt = e.state, e.at
			if r.jobs[w.Job] == nil {
				r.jobs[w.Job] = &store.Released{Job: w.Job, Batch: w.Batch}
			}
			if one := r.jobs[w.Job]; e.state != job.Completed && one.Unfinished == 0 {
				one.Unfinished, one.State = e.job, e.state
			}
		}
	}
	return r, nil
}

// Considered returns how many ends the step considers.
func (r *Release) Considered() int { return len(r.ends) }

// Jobs returns the jobs that wait, in ascending order.
func (r *Release) Jobs() []int64 {
	var numbers []int64
	for number := range r.jobs {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}

// Of returns what a job has waited for, after Note.
func (r *Release) Of(number int64) *store.Released { return r.jobs[number] }

// Note notes the ends, or postpones that, once the jobs that wait are locked.
func (r *Release) Note(t Tx) error {
	var queries []Query
	for _, e := range r.ends {
		if len(e.rows) == 0 {
			continue
		}
		numbers := make([]int64, len(e.rows))
		for i, w := range e.rows {
			numbers[i] = w.Job
		}
		if r.step.Postpone > 0 {
			queries = append(queries, Query{
				SQL:  `UPDATE job_waits SET retry_at = $4 WHERE account = $1 AND waits_for = $2 AND job = ANY($3) AND state IS NULL`,
				Args: []any{r.step.Account, e.job, numbers, t.Now().Add(r.step.Postpone)},
			})
			continue
		}
		queries = append(queries, Query{
			SQL:  `UPDATE job_waits SET state = $4, ended_at = $5 WHERE account = $1 AND waits_for = $2 AND job = ANY($3) AND state IS NULL`,
			Args: []any{r.step.Account, e.job, numbers, int64(e.state), e.at},
		})
	}
	if r.step.Postpone == 0 {
		for _, number := range r.Jobs() {
			one := r.jobs[number]
			queries = append(queries, Query{
				SQL:  `SELECT 1 FROM job_waits INDEXED BY job_waits_pending WHERE account = $1 AND job = $2 AND state IS NULL LIMIT 1`,
				Args: []any{r.step.Account, number}, Start: func() { one.Open = false },
				Row: func(row Row) error {
					one.Open = true
					return row.Scan(new(int))
				},
			})
		}
	}
	if err := t.Run(queries...); err != nil || r.step.Postpone > 0 {
		return err
	}
	return t.Run(r.summaries()...)
}

// summaries returns the queries that read how the jobs have ended that were awaited, for
// each job of which none is open.
func (r *Release) summaries() []Query {
	var queries []Query
	for _, number := range r.Jobs() {
		one := r.jobs[number]
		if one.Open {
			continue
		}
		queries = append(queries, Query{
			SQL:  `SELECT state, count(*), max(ended_at) FROM job_waits WHERE account = $1 AND job = $2 AND state IS NOT NULL GROUP BY state`,
			Args: []any{r.step.Account, number}, Start: func() { one.Summary, one.LastAt = job.BatchSummary{}, time.Time{} },
			Row: func(row Row) error {
				var state, n int64
				var last time.Time
				err := row.Scan(&state, &n, &last)
				switch job.State(state) {
				case job.Completed:
					one.Summary.Completed = n
				case job.Discarded:
					one.Summary.Discarded = n
				default:
					one.Summary.Cancelled = n
				}
				if last.After(one.LastAt) {
					one.LastAt = last
				}
				return err
			},
		})
		if !one.Batch {
			continue
		}
		queries = append(queries, Query{
			SQL:  `SELECT waits_for FROM job_waits WHERE account = $1 AND job = $2 AND state = $3 ORDER BY waits_for LIMIT $4`,
			Args: []any{r.step.Account, number, int64(job.Discarded), job.MaxFailedJobs}, Start: func() { one.Summary.Failed = nil },
			Row: intoList(&one.Summary.Failed),
		})
	}
	return queries
}

// End returns the queries that delete what is not needed any more: the rows of jobs that
// don't wait any more, and ends that no job waits for. An end all of whose rows are
// postponed is considered again later.
func (r *Release) End(done []int64, now time.Time) []Query {
	var queries []Query
	if len(done) > 0 {
		queries = append(queries, Query{SQL: `DELETE FROM job_waits WHERE account = $1 AND job = ANY($2)`,
			Args: []any{r.step.Account, done}})
	}
	for _, e := range r.ends {
		queries = append(queries, Query{
			SQL: `DELETE FROM job_ends WHERE number = $1
				AND NOT EXISTS (SELECT 1 FROM job_waits INDEXED BY job_waits_open WHERE account = $2 AND waits_for = $3 AND state IS NULL)`,
			Args: []any{e.number, r.step.Account, e.job},
		})
		if len(e.rows) == 0 {
			queries = append(queries, Query{
				SQL: `UPDATE job_ends SET retry_at = $2 WHERE number = $1`, Args: []any{e.number, now.Add(waitRetry)},
			})
		}
	}
	return queries
}

// waitRetry is when an end is considered again all of whose rows are postponed.
const waitRetry = time.Minute

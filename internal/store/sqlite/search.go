package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobGetMany implements store.Jobs.
func (s *Store) JobGetMany(ctx context.Context, owner job.Owner, ids []store.JobID) ([]*job.Job, error) {
	jobs := make([]*job.Job, len(ids))
	err := s.readAs(ctx, pages, func(t *tx) error {
		for i, id := range ids {
			where, arg := jobIs(id)
			j, err := t.jobWhere(where, arg)
			if err != nil {
				return err
			}
			if j != nil && j.Owner.Number == owner.Number {
				jobs[i] = j
			}
		}
		return nil
	})
	return jobs, err
}

// jobsNumbered reads the jobs with the given numbers, in that order, up to and
// including the first that exceeds a budget of bytes.
func (t *tx) jobsNumbered(numbers []int64, budget int) ([]*job.Job, error) {
	var jobs []*job.Job
	err := eachRow(t, selectJobs+`WHERE j.number = ?`, numbers, budget, func(stmt *sqlite.Stmt) (int, error) {
		j, held, err := t.scanJob(stmt)
		jobs = append(jobs, t.shown(j, held))
		return store.JobSize(j), err
	})
	return jobs, err
}

// JobTally implements store.Jobs. Executing jobs are stored as available or
// retryable, so it counts that many more of these and subtracts them.
func (s *Store) JobTally(ctx context.Context, owner job.Owner, limit int) (map[job.State]int64, error) {
	counts := map[job.State]int64{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		executing := map[job.State]int64{}
		err := t.query(`SELECT count(*) FILTER (WHERE j.state = 1), count(*) FILTER (WHERE j.state = 2)
			FROM runs r INDEXED BY runs_claimed JOIN jobs j ON j.number = r.number
			WHERE r.account = ? AND r.node > 0 AND r.kind = 0 AND r.begin_at <= ?`, func(stmt *sqlite.Stmt) error {
			executing[job.Available], executing[job.Retryable] = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
			return nil
		}, owner.Number, t.now)
		if err != nil {
			return err
		}
		for _, state := range storedStates {
			err := t.query(`SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_list WHERE account = ? AND state = ? LIMIT ?)`, func(stmt *sqlite.Stmt) error {
				counts[state] = stmt.ColumnInt64(0) - executing[state]
				return nil
			}, owner.Number, state, int64(limit)+executing[state])
			if err != nil {
				return err
			}
		}
		counts[job.Executing] = min(int64(limit), executing[job.Available]+executing[job.Retryable])
		return nil
	})
	return counts, err
}

// JobScan implements store.Jobs.
func (s *Store) JobScan(ctx context.Context, owner job.Owner, q store.JobQuery, look int, match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	wanted := q.Limit
	q.Limit, q.Offset = look, 0
	err = s.readAs(ctx, heavy, func(t *tx) error {
		found, next = nil, 0
		var numbers []int64
		looked, size, matched, last := 0, 0, 0, int64(0)
		query, args := t.newestNumbers(owner, q)
		err := t.query(`SELECT j.number, j.name, j.args FROM jobs j WHERE j.number IN (`+query+`) ORDER BY j.number DESC`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			j := &job.Job{Number: c.int64(), Name: c.optional(), Args: c.json()}
			if match(j) {
				if matched += store.JobSize(j); matched > q.Budget() && len(numbers) > 0 {
					next = last // the job comes first on the next page
					return errStop
				}
				numbers = append(numbers, j.Number)
			}
			last = j.Number
			looked, size = looked+1, size+len(j.Args)
			if looked == look || len(numbers) == wanted || size >= store.ScanBytes || matched > q.Budget() {
				next = j.Number
				return errStop
			}
			return nil
		}, args...)
		if err != nil {
			return err
		}
		found, err = t.jobsNumbered(numbers, q.Budget())
		return err
	})
	return found, next, err
}

package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobGetMany implements store.Jobs.
func (s *Store) JobGetMany(ctx context.Context, owner job.Owner, ids []job.Ref) ([]*job.Job, error) {
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
		return job.Size(j), err
	})
	return jobs, err
}

// JobTally implements store.Jobs. Executing jobs are stored as available or
// retryable, so it counts that many more of these and subtracts them.
func (s *Store) JobTally(ctx context.Context, owner job.Owner, q job.Query, limit int) (counts map[job.State]int64, cut bool, err error) {
	if err := q.Unordered(); err != nil {
		return nil, false, err
	}
	if q.Path() == job.ByFilter {
		return s.tallyFiltered(ctx, owner, q, limit)
	}
	counts = map[job.State]int64{}
	err = s.readAs(ctx, pages, func(t *tx) error {
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
		for _, state := range q.Among(storedStates) {
			err := t.query(`SELECT count(*) FROM (SELECT 1 FROM jobs INDEXED BY jobs_list WHERE account = ? AND state = ? LIMIT ?)`,
				func(stmt *sqlite.Stmt) error {
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
	return store.InStates(counts, q.States), false, err
}

// tallyFiltered counts the newest jobs that match filters.
func (s *Store) tallyFiltered(ctx context.Context, owner job.Owner, q job.Query,
	limit int) (counts map[job.State]int64, cut bool, err error) {
	q.ListQuery = job.ListQuery{Limit: limit + 1}
	err = s.readAs(ctx, heavy, func(t *tx) error {
		counts = map[job.State]int64{}
		look := limit + 1
		if !q.Combined() {
			look *= 2 // each job that matches takes two steps
		}
		numbers, next, err := t.walk(owner, q, look)
		if err != nil {
			return err
		}
		cut = next != 0 || len(numbers) > limit
		if len(q.States) == 1 { // that of all
			counts[q.States[0]] = int64(min(limit, len(numbers)))
			return nil
		}
		for _, number := range numbers[:min(limit, len(numbers))] {
			err = t.query(`SELECT CASE WHEN r.node > 0 AND r.begin_at <= ? THEN ? ELSE j.state END`+fromJobs+`WHERE j.number = ?`,
				func(stmt *sqlite.Stmt) error {
					counts[job.State(stmt.ColumnInt(0))]++
					return nil
				}, t.now, job.Executing, number)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return counts, cut, err
}

// JobScan implements store.Jobs.
func (s *Store) JobScan(ctx context.Context, owner job.Owner, q job.Query, look int,
	match func(*job.Job) bool) (found []*job.Job, next int64, err error) {
	if err := q.Unordered(); err != nil {
		return nil, 0, err
	}
	err = s.readAs(ctx, heavy, func(t *tx) (err error) {
		var numbers []int64
		if match == nil {
			numbers, next, err = t.walk(owner, q, look)
		} else {
			numbers, next, err = t.matching(owner, q, look, match)
		}
		if err != nil {
			return err
		}
		found, err = t.jobsNumbered(numbers, q.Budget())
		if n := len(found); err == nil && match == nil && n > 0 && n < len(numbers) {
			next = found[n-1].Number
		}
		return err
	})
	return found, next, err
}

// matching returns the numbers of the jobs of a page for which match returns true;
// see JobScan.
func (t *tx) matching(owner job.Owner, q job.Query, look int, match func(*job.Job) bool) (numbers []int64, next int64, err error) {
	wanted := q.Limit
	q.Limit = look
	var candidates []int64
	var after int64 // where the candidates end
	if q.Path() == job.ByFilter {
		candidates, after, err = t.walk(owner, q, look)
	} else {
		query, args := t.newestNumbers(owner, q)
		if candidates, err = t.numbers(query, args...); len(candidates) == look {
			after = candidates[look-1]
		}
	}
	size, matched, last := 0, 0, int64(0)
	for _, number := range candidates {
		j := &job.Job{}
		err = t.query(`SELECT j.number, j.name, j.args, j.packed, j.size FROM jobs j WHERE j.number = ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			j.Number, j.Name, j.Args = c.int64(), c.optional(), c.packable()
			j.Args, j.Hidden = job.SplitArgs(j.Args)
			return nil
		}, number)
		if err != nil {
			return nil, 0, err
		}
		if match(j) {
			if matched += job.Size(j); matched > q.Budget() && len(numbers) > 0 {
				return numbers, last, nil // the job comes first on the next page
			}
			numbers = append(numbers, j.Number)
		}
		last, size = j.Number, size+len(j.Args)
		if len(numbers) == wanted || size >= store.ScanBytes || matched > q.Budget() {
			return numbers, last, nil
		}
	}
	return numbers, after, err
}

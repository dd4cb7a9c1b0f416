package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// awaitAll stores what new jobs wait for, once all of a call are stored.
func (t *tx) awaitAll(jobs []store.NewJob, results []store.Inserted) error {
	for i := range jobs {
		if awaited := store.AwaitedBy(i, jobs, results); awaited != nil {
			if err := records.AwaitJobs(t, jobs[i].Job.Owner.Number, results[i].Job.Number, jobs[i].Await.Batch, awaited); err != nil {
				return err
			}
		}
	}
	return nil
}

// WaitApply implements store.WaitQueue.
func (s *Store) WaitApply(ctx context.Context, step store.WaitStep) (considered int, err error) {
	if err := s.learnOwners(ctx, []int64{step.Account}); err != nil {
		return 0, err
	}
	owner, _ := s.owners.get(step.Account)
	err = s.write(ctx, func(t *tx) error {
		if step.Begin != nil {
			step.Begin()
		}
		r, err := records.ReadRelease(t, step)
		if err != nil {
			return err
		}
		if considered = r.Considered(); considered == 0 {
			return t.commit()
		}
		waiting := &waiting{owner: owner, changes: map[int64]*change{}}
		if numbers := r.Jobs(); len(numbers) > 0 {
			if err := t.run(waiting.locks(numbers)...); err != nil {
				return err
			}
		}
		if err := r.Note(t); err != nil {
			return err
		}
		w := &writes{}
		var done []int64
		for _, number := range r.Jobs() {
			if step.Postpone > 0 {
				break
			}
			waits, err := waiting.release(t, &step, r.Of(number), w)
			if err != nil {
				return err
			}
			if !waits {
				done = append(done, number)
			}
		}
		return t.commit(append(w.queries(t), ofRecords(r.End(done, t.store.Now()))...)...)
	})
	return considered, err
}

// waiting has the jobs of a step, locked.
type waiting struct {
	owner   job.Owner
	changes map[int64]*change
}

// locks returns the queries that lock the queue items of jobs, and then the jobs.
func (w *waiting) locks(numbers []int64) []query {
	args := []any{w.owner.Number, numbers}
	return []query{
		{
			sql: `SELECT r.due, r.number, r.lane, r.attempt, r.node, r.begin_at, r.log
				FROM (SELECT j.due_at, j.number, j.account FROM ` + listedJobs + ` WHERE j.state <= 2 OFFSET 0) j
				JOIN runs r ON r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account ORDER BY r.due, r.kind, r.number FOR UPDATE OF r`,
			args: args, start: func() { w.changes = map[int64]*change{} },
			row: func(rows pgx.Rows) error {
				c := &change{snapshot: &store.Snapshot{}, owner: w.owner}
				err := c.readItem(rows)
				w.changes[c.item.Number] = c
				return err
			},
		},
		{
			sql: `SELECT ` + jobColumns + `, ` + noRun + ` FROM ` + listedJobs + ` ORDER BY j.number FOR NO KEY UPDATE OF j`, args: args,
			row: func(rows pgx.Rows) error {
				var r jobRow
				if err := rows.Scan(r.targets()...); err != nil {
					return err
				}
				c := w.changes[r.job.Number]
				if c == nil {
					c = &change{snapshot: &store.Snapshot{}, owner: w.owner}
					w.changes[r.job.Number] = c
				}
				r.job.Owner = w.owner
				c.setJob(r.job)
				return nil
			},
		},
	}
}

// release decides about a job that waits, and reports whether it still does.
func (w *waiting) release(t *tx, step *store.WaitStep, r *store.Released, to *writes) (waits bool, err error) {
	c := w.changes[r.Job]
	switch {
	case c == nil || c.snapshot.Job == nil || !store.Waits(c.snapshot.Job):
		return false, nil
	case c.moved():
		return false, errRetry
	}
	c.snapshot.Now = t.store.Now()
	changes := step.Decide(r, c.snapshot)
	if changes == nil {
		return r.Open, nil
	}
	c.collect(t, to, changes)
	return false, nil
}

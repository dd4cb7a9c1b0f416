package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobInsertMany implements store.Jobs.
func (s *Store) JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	c := &creation{jobs: jobs, results: make([]store.Inserted, len(jobs)), firsts: map[heldKey]int{}}
	c.sortOut()
	for try := 1; len(c.open) > 0; try++ {
		if err := s.write(ctx, c.store); err != nil {
			return nil, c.told(err, try)
		}
		c.settle()
		if len(c.open) > 0 && try == maxTries {
			return nil, c.told(errors.New("the keys' holders keep changing"), try)
		}
	}
	for i, first := range c.repeats {
		c.results[i] = conflict(c.results[first])
	}
	return c.results, nil
}

// heldKey is an account's idempotency key.
type heldKey struct {
	account int64
	key     string
}

func keyOf(j *job.Job) heldKey { return heldKey{j.Owner.Number, *j.Key} }

// creation stores jobs whose keys may be taken by existing jobs or by other jobs
// of the same call.
type creation struct {
	jobs    []store.NewJob
	results []store.Inserted
	firsts  map[heldKey]int // the first job of each key
	repeats map[int]int     // from jobs to the earlier job of the call with the same key
	open    []int           // jobs without a result

	stored  map[int]bool         // in this attempt
	holders map[heldKey]*job.Job // in this attempt
	over    map[int]store.Quota  // in this attempt
	rooms   []query              // in this attempt: they store the remaining room
}

func (c *creation) sortOut() {
	c.repeats = map[int]int{}
	for i, n := range c.jobs {
		if n.Job.Key != nil {
			if first, known := c.firsts[keyOf(n.Job)]; known {
				c.repeats[i] = first
				continue
			}
			c.firsts[keyOf(n.Job)] = i
		}
		c.open = append(c.open, i)
	}
}

// store stores the open jobs and reads the holders of the keys that are taken.
func (c *creation) store(t *tx) error {
	c.stored, c.holders, c.over, c.rooms = map[int]bool{}, map[heldKey]*job.Job{}, map[int]store.Quota{}, nil
	open, err := c.admit(t)
	if err != nil {
		return err
	}
	jobs := make([]store.NewJob, len(open))
	var keys []heldKey
	for k, i := range open {
		jobs[k] = c.jobs[i]
		if jobs[k].Job.Key != nil {
			keys = append(keys, keyOf(jobs[k].Job))
		}
	}
	if len(keys) == 0 {
		for _, i := range open {
			c.stored[i] = true
		}
		return t.commit(append(insertJobs(t, jobs), c.rooms...)...)
	}
	var stored []store.NewJob
	err = t.run(insertUnlessHeld(jobs, func(k int) {
		c.stored[open[k]] = true
		stored = append(stored, jobs[k])
	}))
	if err != nil {
		return err
	}
	runs := column(stored, func(n *store.NewJob) queued { return queued{itemOf(n.Job, n.Lane), 0} })
	queries := append(insertItems(t, runs), insertSchedules(stored)...)
	queries = append(queries, insertSecretUses(stored, jobOfNew)...)
	return t.commit(append(append(queries, c.readHolders(t, keys)), c.rooms...)...)
}

// readHolders reads the jobs that hold keys: the unfinished job, else the latest
// job of an existing schedule.
func (c *creation) readHolders(t *tx, keys []heldKey) query {
	return query{
		sql: `SELECT ` + jobColumns + `, ` + runColumns + ` FROM unnest($1::bigint[], $2::text[]) AS u (account, key)
			CROSS JOIN LATERAL (SELECT coalesce(
				(SELECT h.number FROM jobs h WHERE h.account = u.account AND h.key = u.key AND h.state <= 2 LIMIT 1),
				(SELECT h.number FROM jobs h WHERE h.account = u.account AND h.key = u.key ORDER BY h.number DESC LIMIT 1)) AS number OFFSET 0) k
			JOIN jobs j ON j.account = u.account AND j.number = k.number ` + joinItem + `
			WHERE j.state <= 2 OR EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id)`,
		args: []any{
			column(keys, func(k *heldKey) int64 { return k.account }), column(keys, func(k *heldKey) string { return text(k.key) }),
		},
		row: func(rows pgx.Rows) error {
			holder, err := scanShown(rows, t.now)
			if err == nil {
				c.holders[keyOf(holder)] = holder
			}
			return err
		},
	}
}

// settle turns the outcome of an attempt into results. A job whose key was taken
// at first and then found free stays open, for a retry.
func (c *creation) settle() {
	var open []int
	for _, i := range c.open {
		j := c.jobs[i].Job
		if c.stored[i] {
			c.results[i] = store.Inserted{Job: j}
			continue
		}
		if over := c.over[i]; over != store.QuotaNone {
			c.results[i] = store.Inserted{Over: over}
			continue
		}
		holder := c.holders[keyOf(j)]
		if holder == nil {
			open = append(open, i)
			continue
		}
		holder.Owner = j.Owner
		c.results[i] = store.Inserted{Job: holder, Conflict: true}
	}
	c.open = open
}

// conflict returns the result for a job whose key an earlier job of the call has.
func conflict(first store.Inserted) store.Inserted {
	if first.Over != store.QuotaNone {
		return first
	}
	shown := *first.Job
	return store.Inserted{Job: &shown, Conflict: true}
}

// told returns the error of an attempt. After the first attempt, some jobs may
// have been stored already.
func (c *creation) told(err error, try int) error {
	if try == 1 {
		return err
	}
	return unknown(fmt.Errorf("storing jobs in attempt %d: %w", try, err))
}

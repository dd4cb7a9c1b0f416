package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobInsertMany implements store.Jobs.
func (s *Store) JobInsertMany(ctx context.Context, jobs []store.NewJob) ([]store.Inserted, error) {
	if slices.ContainsFunc(jobs, func(n store.NewJob) bool { return n.Request != nil || n.Await != nil }) {
		return s.insertTogether(ctx, jobs, false, func([]store.Inserted) error { return nil })
	}
	c := newCreation(jobs)
	for try := 1; len(c.open) > 0; try++ {
		if err := s.write(ctx, c.store); err != nil {
			return nil, c.failure(err, try)
		}
		c.settle()
		if len(c.open) > 0 && try == maxTries {
			return nil, c.failure(errors.New("the keys' holders keep changing"), try)
		}
	}
	return c.all(), nil
}

// JobInsertBatch implements store.Jobs.
func (s *Store) JobInsertBatch(ctx context.Context, jobs []store.NewJob, accept func([]store.Inserted) error) ([]store.Inserted, error) {
	return s.insertTogether(ctx, jobs, true, accept)
}

// insertTogether stores jobs in one transaction. If it is bounded, it reads at most
// store.MaxHeld of jobs that exist.
func (s *Store) insertTogether(ctx context.Context, jobs []store.NewJob, bounded bool,
	accept func([]store.Inserted) error) ([]store.Inserted, error) {
	var results []store.Inserted
	err := s.write(ctx, func(t *tx) error {
		c := newCreation(jobs)
		c.whole, c.bounded = true, bounded
		if err := c.request(t); err != nil {
			return err
		}
		if len(c.open) > 0 {
			if err := c.store(t); err != nil {
				return err
			}
		}
		if c.settle(); len(c.open) > 0 {
			return errRetry // the keys' holders have changed meanwhile
		}
		results = c.all()
		if err := accept(results); err != nil {
			return err
		}
		if err := t.awaitAll(jobs, results); err != nil {
			return err
		}
		return t.commit(c.answer()...)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
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
	firsts  map[heldKey]int // the first job of each key, unless it is gone
	repeats map[int]int     // from jobs to the earlier job of the call with the same key
	settled map[int]bool    // jobs whose results an earlier attempt has set
	open    []int           // jobs without a result
	whole   bool            // the caller commits
	bounded bool            // at most store.MaxHeld of existing jobs may be read
	requests
	full map[heldKey]bool // the keys whose holders are needed with their Args

	stored     map[int]bool           // in this attempt
	holders    map[heldKey]*job.Job   // in this attempt
	resolved   map[int]store.Inserted // in this attempt
	over       map[int]store.Quota    // in this attempt
	gone       map[int]bool           // in this attempt: they name what is not there
	*admission                        // of this attempt
}

func newCreation(jobs []store.NewJob) *creation {
	c := &creation{jobs: jobs, results: make([]store.Inserted, len(jobs)), settled: map[int]bool{}}
	c.plan()
	return c
}

// plan finds the jobs without a result, and those whose key an earlier one has. A job that
// is not stored because it is gone has no key.
func (c *creation) plan() {
	c.firsts, c.repeats, c.full, c.open = map[heldKey]int{}, map[int]int{}, map[heldKey]bool{}, nil
	for i, n := range c.jobs {
		if c.answered(i) {
			continue
		}
		if n.Job.Key != nil && !c.gone[i] && !c.results[i].Gone {
			if !n.Brief || n.Resolve != nil {
				c.full[keyOf(n.Job)] = true
			}
			if first, known := c.firsts[keyOf(n.Job)]; known {
				c.repeats[i] = first
				continue
			}
			c.firsts[keyOf(n.Job)] = i
		}
		if !c.settled[i] {
			c.open = append(c.open, i)
		}
	}
}

// store stores the open jobs, reads the holders of the keys that are taken and
// commits, unless the caller does.
func (c *creation) store(t *tx) error {
	c.stored, c.holders, c.over = map[int]bool{}, map[heldKey]*job.Job{}, map[int]store.Quota{}
	c.resolved = map[int]store.Inserted{}
	finish := t.commit
	if c.whole {
		finish = t.run
	}
	gone, err := c.missing(t, true) // before anything is locked
	if err != nil {
		return err
	}
	if len(gone)+len(c.gone) > 0 {
		c.gone = gone
		c.plan()
	}
	open, err := c.admit(t, c.present())
	if err != nil {
		return err
	}
	jobs := make([]store.NewJob, len(open))
	var keys []heldKey
	var lookups []int16
	for k, i := range open {
		jobs[k] = c.jobs[i]
		if jobs[k].Job.Key != nil {
			keys, lookups = append(keys, keyOf(jobs[k].Job)), append(lookups, keyLookup(&jobs[k]))
		}
	}
	if len(keys) == 0 && !slices.ContainsFunc(c.jobs, func(n store.NewJob) bool { return n.Resolve != nil }) {
		for _, i := range open {
			c.stored[i] = true
		}
		return finish(append(insertJobs(t, jobs), c.save()...)...)
	}
	var stored []store.NewJob
	newLimitedEntries(jobs) // sets their due times
	err = t.run(t.store.insertUnlessHeld(jobs, keyLookup, t.now, func(k int) {
		c.stored[open[k]] = true
		stored = append(stored, jobs[k])
	}))
	if err != nil {
		return err
	}
	if c.bounded {
		if err := c.measure(t, open); err != nil {
			return err
		}
	}
	resolving, err := c.resolve(t, open)
	if err != nil {
		return err
	}
	items, limited := resolving.itemsOf(stored)
	queries := append(insertItems(t, items), insertParts(t, stored, limited)...)
	queries = append(append(queries, resolving.queries(t)...), c.readHolders(t, keys, lookups))
	return finish(append(queries, c.save()...)...)
}

// all returns the results of all jobs.
func (c *creation) all() []store.Inserted {
	for i, first := range c.repeats {
		if r, resolved := c.resolved[i]; resolved {
			c.results[i] = r
		} else {
			c.results[i] = conflict(c.results[first])
		}
	}
	c.repeatRequests(c.jobs, c.results)
	return c.results
}

// readHolders reads the jobs that hold keys: the unfinished job, else the latest
// job of an existing schedule, else a final job that still holds its key.
func (c *creation) readHolders(t *tx, keys []heldKey, lookups []int16) query {
	return query{
		sql: `SELECT ` + jobHead + `CASE WHEN u.whole THEN j.args END, CASE WHEN u.whole THEN j.packed END, CASE WHEN u.whole THEN j.size END` + jobTail + `, ` + runColumns +
			fromHolders + joinItem,
		args: c.holdersOf(t, keys, lookups),
		row: func(rows pgx.Rows) error {
			holder, err := scanShown(rows, t.now)
			if err == nil {
				c.holders[keyOf(holder)] = holder
			}
			return err
		},
	}
}

// measure returns a fault if the holders of keys that are taken are larger than
// store.MaxHeld together, with the jobs that wait for them.
func (c *creation) measure(t *tx, open []int) error {
	var keys []heldKey
	var lookups []int16
	for _, i := range open {
		if j := c.jobs[i].Job; j.Key != nil && !c.stored[i] && c.full[keyOf(j)] {
			keys, lookups = append(keys, keyOf(j)), append(lookups, keyLookup(&c.jobs[i]))
		}
	}
	if len(keys) == 0 {
		return nil
	}
	size := int64(0)
	err := t.run(query{
		sql: `SELECT coalesce(sum(` + argsSize + ` + coalesce((SELECT sum(coalesce(f.size, octet_length(f.args))) FROM jobs f
				WHERE f.account = u.account AND f.key = u.key AND f.state <= 2 AND f.follows IS NOT NULL), 0)), 0)::bigint` + fromHolders,
		args: c.holdersOf(t, keys, lookups),
		row:  func(rows pgx.Rows) error { return rows.Scan(&size) },
	})
	if err == nil && size > store.MaxHeld {
		return store.TooMuchHeld()
	}
	return err
}

// fromHolders selects from the jobs that hold keys, for the arguments of holdersOf.
const fromHolders = ` FROM unnest($1::bigint[], $2::text[], $3::smallint[], $5::boolean[]) AS u (account, key, lookup, whole)
			CROSS JOIN LATERAL (SELECT u.account, coalesce(
				(SELECT h.number FROM jobs h WHERE h.account = u.account AND h.key = u.key AND h.state <= 2 AND h.follows IS NULL LIMIT 1),
				(SELECT l.number FROM (SELECT h.account, h.number, h.schedule_id FROM jobs h WHERE h.account = u.account AND h.key = u.key ORDER BY h.number DESC LIMIT 1) l
					WHERE EXISTS (SELECT FROM schedules s WHERE s.account = l.account AND s.id = l.schedule_id OFFSET 0)),
				(SELECT h.number FROM jobs h WHERE u.lookup > 0 AND h.account = u.account AND h.key = u.key
					AND h.remembered_until > $4 AND (u.lookup = 2 OR h.held_until > $4) ORDER BY h.number DESC LIMIT 1)) AS number OFFSET 0) k
			JOIN jobs j ON j.account = k.account AND j.number = k.number `

func (c *creation) holdersOf(t *tx, keys []heldKey, lookups []int16) []any {
	return []any{
		column(keys, func(k *heldKey) int64 { return k.account }), column(keys, func(k *heldKey) string { return text(k.key) }), lookups,
		t.now.UnixMicro(),
		column(keys, func(k *heldKey) bool { return c.full[*k] }),
	}
}

// settle turns the outcome of an attempt into results. A job whose key was taken
// at first and then found free stays open, for a retry.
func (c *creation) settle() {
	var open []int
	for _, i := range c.open {
		j := c.jobs[i].Job
		c.settled[i] = true
		if c.stored[i] {
			c.results[i] = store.Inserted{Job: j}
			continue
		}
		if c.gone[i] {
			c.results[i] = store.Inserted{Gone: true}
			continue
		}
		if over := c.over[i]; over != store.QuotaNone {
			c.results[i] = store.Inserted{Over: over}
			continue
		}
		if r, resolved := c.resolved[i]; resolved {
			c.results[i] = r
			continue
		}
		holder := c.holders[keyOf(j)]
		if holder == nil {
			open, c.settled[i] = append(open, i), false
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

// failure returns the error of an attempt. After the first attempt, some jobs may
// have been stored already.
func (c *creation) failure(err error, try int) error {
	if try == 1 {
		return err
	}
	return unknown(fmt.Errorf("storing jobs in attempt %d: %w", try, err))
}

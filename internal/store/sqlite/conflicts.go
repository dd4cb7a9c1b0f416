package sqlite

import (
	"context"
	"fmt"
	"maps"
	"runtime"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// JobInsertBatch implements store.Jobs.
func (s *Store) JobInsertBatch(ctx context.Context, jobs []store.NewJob, accept func([]store.Inserted) error) ([]store.Inserted, error) {
	results := make([]store.Inserted, len(jobs))
	if err := s.hasSpace(); err != nil {
		return nil, err
	}
	values := argsOf(jobs)
	err := s.writeSized(ctx, sizeOf(jobs), func(t *tx) (err error) {
		refs, used := len(t.refs), maps.Clone(t.used)
		release := sqlitex.Save(t.conn)
		defer func() {
			if release(&err); err != nil {
				t.refs, t.used = t.refs[:refs], used
			}
		}()
		if err := t.insertAll(jobs, values, results, store.MaxHeld); err != nil {
			return err
		}
		if err := accept(results); err != nil {
			return err
		}
		return t.awaitAll(jobs, results)
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

func sizeOf(jobs []store.NewJob) (size int) {
	for i := range jobs {
		size += jobs[i].Size()
	}
	return size
}

// yieldEvery is after how many jobs of a batch other goroutines may run. A timer would
// wait up to 10 ms for the processor otherwise.
const yieldEvery = 8

// insertAll stores new jobs in order, as far as their keys are free. It stops once it
// has read more than maxHeld of jobs that hold keys.
func (t *tx) insertAll(jobs []store.NewJob, args []storedArgs, results []store.Inserted, maxHeld int) (err error) {
	var changed replacements
	for i := range jobs {
		if i%yieldEvery == yieldEvery-1 {
			runtime.Gosched()
		}
		if results[i], err = t.createOnce(jobs[i], &args[i], &changed); err != nil {
			return err
		}
		if changed.read > maxHeld {
			return store.TooMuchHeld()
		}
	}
	return changed.store(t)
}

// create stores a new job, unless its key is taken or it exceeds a limit. If the
// job replaces another, that is added to changed.
func (t *tx) create(n store.NewJob, args *storedArgs, changed *replacements) (store.Inserted, error) {
	if gone, err := t.gone(n.Job.Owner.Number, n.Names); err != nil || gone {
		return store.Inserted{Gone: gone}, err
	}
	if n.Job.Key != nil {
		held, err := changed.holders(n.Job), error(nil)
		if held == nil {
			if held, err = t.keyHolders(&n); held != nil {
				changed.read += held.Size()
			}
		}
		if err != nil {
			return store.Inserted{}, err
		}
		if held != nil {
			c := resolve(&n, held)
			switch {
			case c == nil:
				return store.Inserted{Job: t.shown(held.Job, held.Claim), Conflict: true}, nil
			case c.Job.ID != n.Job.ID:
				store.Hold(c.Job) // later calls see that it does not start soon
				changed.add(held, c, n.Lane)
				return store.Inserted{Job: c.Job, Conflict: true, Changed: true}, nil
			}
			n.Job = c.Job
		}
	}
	over, err := t.over(n)
	if err != nil || over != store.QuotaNone {
		return store.Inserted{Over: over}, err
	}
	if n.Schedule != nil {
		if err := t.insertSchedule(n.Schedule); err != nil {
			return store.Inserted{}, err
		}
	}
	if err := t.insertJob(n, args); err != nil {
		return store.Inserted{}, err
	}
	if n.Job.Follows != 0 {
		changed.follows(n.Job)
	}
	return store.Inserted{Job: n.Job}, nil
}

func resolve(n *store.NewJob, held *store.KeyHolders) *store.Changes {
	if n.Resolve == nil {
		return nil
	}
	return n.Resolve(held, n.Job)
}

// keyHolders returns who has the key of a new job; nil if the key is free.
func (t *tx) keyHolders(n *store.NewJob) (*store.KeyHolders, error) {
	account, key := n.Job.Owner.Number, *n.Job.Key
	columns := selectJobs
	if n.Brief && n.Resolve == nil {
		columns = selectBrief
	}
	h, err := t.pendingHolders(columns, account, key)
	if err != nil || h != nil || n.Resolve != nil {
		return h, err
	}
	return t.finalHolder(columns, account, key, n.KeyInHeader)
}

// pendingHolders returns the unfinished job with a key and its follower, or the
// latest job of the schedule with the key; nil if there is none. See snapshotOf for
// columns.
func (t *tx) pendingHolders(columns string, account int64, key string) (*store.KeyHolders, error) {
	m, err := t.snapshotOf(columns, `j.account = ? AND j.key = ? ORDER BY j.number DESC LIMIT 1`, account, key)
	if err != nil || m.Job == nil {
		return nil, err
	}
	h := &store.KeyHolders{Now: t.now}
	if m.Job.Follows != 0 {
		if !m.Job.State.Final() {
			h.Follower = m.Job
		}
		if m, err = t.snapshotOf(columns, `j.number = ?`, m.Job.Follows); err != nil || m.Job == nil {
			return nil, err
		}
	}
	h.Job, h.Claim = m.Job, m.Claim
	switch {
	case !m.Job.State.Final():
		return h, nil
	case m.Job.ScheduleID != uuid.Nil:
		// A schedule keeps its key for as long as it exists.
		exists := false
		err := t.query(`SELECT 1 FROM schedules WHERE id = ?`, func(*sqlite.Stmt) error {
			exists = true
			return nil
		}, m.Job.ScheduleID)
		if err != nil || exists {
			return h, err
		}
	}
	return nil, nil
}

// finalHolder returns the final job that holds a key, for all calls or also for
// those with the key in a header; nil if there is none. See snapshotOf for columns.
func (t *tx) finalHolder(columns string, account int64, key string, inHeader bool) (*store.KeyHolders, error) {
	where := `j.account = ?1 AND j.key = ?2 AND j.remembered_until > ?3`
	if !inHeader {
		where += ` AND j.held_until > ?3`
	}
	m, err := t.snapshotOf(columns, where+` ORDER BY j.remembered_until DESC LIMIT 1`, account, key, t.now)
	if err != nil || m.Job == nil {
		return nil, err
	}
	return &store.KeyHolders{Now: t.now, Job: m.Job}, nil
}

// named returns the job that a key names: the follower while one waits, else the
// holder; nil if the key is free.
func (t *tx) named(account int64, key string) (*job.Job, error) {
	h, err := t.pendingHolders(selectJobs, account, key)
	if err == nil && h == nil {
		h, err = t.finalHolder(selectJobs, account, key, false)
	}
	switch {
	case err != nil || h == nil:
		return nil, err
	case h.Follower != nil:
		return h.Follower, nil
	}
	return t.shown(h.Job, h.Claim), nil
}

// replace stores the new definition of a pending job that no node has claimed.
func (t *tx) replace(c *store.Changes, lane uint32) error {
	j := c.Job
	item := store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Account: j.Owner.Number}
	if err := t.exec(`UPDATE jobs SET hops = ?, lane = ? WHERE number = ?`, j.Hops, laneOf(j, lane), j.Number); err != nil {
		return fmt.Errorf("replacing a job: %w", err)
	}
	if j.Follows == 0 {
		err := t.query(`SELECT due_at FROM jobs WHERE number = ?`, func(stmt *sqlite.Stmt) error {
			item.Due = (&columns{stmt: stmt}).time()
			return nil
		}, j.Number)
		if err != nil {
			return err
		}
		if err := t.removeItem(&item); err != nil {
			return err
		}
	} else if err := t.deleteLimited(item.Account, item.Number); err != nil {
		return err
	}
	item.Lane = lane
	return t.apply(&store.Changes{Job: j, UpdateDefinition: true, Revisions: c.Revisions}, &item)
}

// releaseFollower lets the job start that waits for a job to end.
func (t *tx) releaseFollower(ended *job.Job) error {
	if ended.Key == nil || ended.ScheduleID != uuid.Nil {
		return nil
	}
	var next *store.QueueKey
	err := t.query(`SELECT number, max(due_at, ?), account, lane, revision FROM jobs WHERE follows = ? AND state <= 2`,
		func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			next = &store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: c.int64()}, Due: c.time(), Account: c.int64(),
				Lane: uint32(c.int64()), Revision: c.int64()}
			return nil
		}, t.now, ended.Number)
	if err != nil || next == nil {
		return err
	}
	if !ended.State.Final() { // it has left the queue without an end
		if err := t.exec(`UPDATE jobs SET key = NULL WHERE number = ?`, ended.Number); err != nil {
			return fmt.Errorf("freeing the key of a job: %w", err)
		}
	}
	if err := t.exec(`UPDATE jobs SET follows = NULL, lane = NULL, due_at = ? WHERE number = ?`, next.Due, next.Number); err != nil {
		return fmt.Errorf("releasing a job that waits for another: %w", err)
	}
	if err := t.showPlaces(next); err != nil {
		return err
	}
	return t.insertItem(*next, 0)
}

// laneOf returns the column lane of a job: its lane if it follows another.
func laneOf(j *job.Job, lane uint32) any {
	if j.Follows == 0 {
		return nil
	}
	return lane
}

package sqlite

import (
	"context"
	"sort"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobsAhead implements store.Summaries. It reads the queue, where items that limits
// hold are at a distance from the others: each step has two ranges.
func (s *Store) JobsAhead(ctx context.Context, owner job.Owner, bounds []time.Time, limit, look,
	pending int) (steps []job.DueStep, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		steps = make([]job.DueStep, len(bounds)-1)
		for i := range steps {
			for _, held := range []int64{0, heldMicros} {
				span := dueSpan{bounds[i].UnixMicro() + held, bounds[i+1].UnixMicro() + held, held}
				if err := t.queuedAhead(owner, &steps[i], span, limit, look); err != nil {
					return err
				}
			}
		}
		if job.AnyPartly(steps) {
			if steps, err = t.pendingAhead(owner, bounds, limit, pending, steps); err != nil {
				return err
			}
		}
		return t.describeDue(owner, steps)
	})
	return steps, err
}

// dueSpan is a part of the queue. Its items are due earlier by later than the queue says.
type dueSpan struct{ low, high, later int64 } // microseconds; high is not included

// queuedAhead adds a part of the queue to a step. Most rows are only counted.
func (t *tx) queuedAhead(owner job.Owner, step *job.DueStep, span dueSpan, limit, look int) error {
	var first []job.DueJob
	count, looked := 0, 0
	const items = ` FROM (SELECT number, due, account, kind FROM runs WHERE due >= ? AND due < ? ORDER BY due LIMIT ?)`
	err := t.query(`SELECT count(*), count(*) FILTER (WHERE account = ? AND kind = 0)`+items, func(stmt *sqlite.Stmt) error {
		looked, count = stmt.ColumnInt(0), stmt.ColumnInt(1)
		return nil
	}, owner.Number, span.low, span.high, look)
	if err != nil {
		return err
	}
	err = t.query(`SELECT number, due`+items+` WHERE account = ? AND kind = 0 LIMIT ?`, func(stmt *sqlite.Stmt) error {
		first = append(first, job.DueJob{Number: stmt.ColumnInt64(0), DueAt: time.UnixMicro(stmt.ColumnInt64(1) - span.later).UTC()})
		return nil
	}, span.low, span.high, look, owner.Number, limit)
	step.Add(count, looked >= look, first, limit)
	return err
}

// pendingAhead reads the owner's pending jobs in place of the queue. If there are too
// many, it returns known.
func (t *tx) pendingAhead(owner job.Owner, bounds []time.Time, limit, pending int, known []job.DueStep) ([]job.DueStep, error) {
	looked := 0
	const counted = `SELECT * FROM (SELECT 1 FROM jobs INDEXED BY jobs_list WHERE account = ? AND state = ? LIMIT ?)`
	err := t.query(`SELECT count(*) FROM (`+counted+` UNION ALL `+counted+`)`, func(stmt *sqlite.Stmt) error {
		looked = stmt.ColumnInt(0)
		return nil
	}, owner.Number, job.Available, pending, owner.Number, job.Retryable, pending)
	if err != nil || looked >= pending {
		return known, err
	}
	steps := make([]job.DueStep, len(bounds)-1)
	const of = `SELECT * FROM (SELECT number, due_at % ? AS due FROM jobs INDEXED BY jobs_list WHERE account = ? AND state = ? LIMIT ?)`
	err = t.query(of+` UNION ALL `+of+` ORDER BY due, number`, func(stmt *sqlite.Stmt) error {
		due := time.UnixMicro(stmt.ColumnInt64(1)).UTC()
		i := sort.Search(len(bounds), func(i int) bool { return bounds[i].After(due) }) - 1
		if i < 0 || i >= len(steps) {
			return nil
		}
		if steps[i].Count++; steps[i].Count <= limit {
			steps[i].First = append(steps[i].First, job.DueJob{Number: stmt.ColumnInt64(0), DueAt: due})
		}
		return nil
	}, heldMicros, owner.Number, job.Available, pending, heldMicros, owner.Number, job.Retryable, pending)
	return steps, err
}

// describeDue reads the fields of the jobs in steps.
func (t *tx) describeDue(owner job.Owner, steps []job.DueStep) error {
	found := map[int64]job.DueJob{}
	for _, number := range job.DueNumbers(steps) {
		err := t.query(`SELECT number, name, schedule_id, host FROM jobs WHERE number = ? AND account = ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			d := job.DueJob{Number: c.int64(), Name: c.optional(), ScheduleID: c.uuid(), Host: c.text()}
			found[d.Number] = d
			return nil
		}, number, owner.Number)
		if err != nil {
			return err
		}
	}
	job.DescribeDue(steps, found)
	return nil
}

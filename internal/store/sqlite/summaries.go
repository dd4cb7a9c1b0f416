package sqlite

import (
	"context"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ScheduleRuns implements store.Summaries.
func (s *Store) ScheduleRuns(ctx context.Context, owner job.Owner, schedules []uuid.UUID,
	limit int) (map[uuid.UUID][]job.RunSummary, error) {
	runs := map[uuid.UUID][]job.RunSummary{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		for _, schedule := range schedules {
			err := t.query(`SELECT j.number, j.state, j.scheduled_at, j.due_at, j.attempted_at, coalesce(j.completed_at, j.cancelled_at, j.discarded_at),
				(SELECT l.inserted_at FROM logs l WHERE l.job = j.number AND l.event = 1 AND l.inserted_at <= ? ORDER BY l.id LIMIT 1), coalesce(r.node, 0), r.begin_at`+
				fromJobs+`WHERE +j.account = ? AND j.schedule_id = ? ORDER BY j.number DESC LIMIT ?`, func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				g := job.RunSummary{Number: c.int64(), State: job.State(c.int()), ScheduledAt: c.time(), DueAt: c.time(),
					AttemptedAt: c.time(), EndedAt: c.time(), StartedAt: c.time()}
				g.DueAt, _ = store.OwnDue(g.DueAt)
				if node, begin := c.int64(), c.time(); node > 0 && !begin.After(t.now) {
					g.State, g.AttemptedAt = job.Executing, begin
				}
				runs[schedule] = append(runs[schedule], g)
				return nil
			}, t.now, owner.Number, schedule, limit)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return runs, err
}

// JobsDue implements store.Summaries.
func (s *Store) JobsDue(ctx context.Context, owner job.Owner, before time.Time, limit, look int) (*job.DueJobs, error) {
	due := &job.DueJobs{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		numbers, looked := []int64{}, 0
		err := t.query(`SELECT number, account = ? AND kind = 0 FROM runs WHERE due >= ? AND due < ? ORDER BY due LIMIT ?`,
			func(stmt *sqlite.Stmt) error {
				looked++
				if stmt.ColumnInt64(1) == 1 {
					numbers = append(numbers, stmt.ColumnInt64(0))
				}
				return nil
			}, owner.Number, t.now, before, look)
		if err != nil {
			return err
		}
		if due.Partly = looked == look; due.Partly {
			if numbers, err = t.dueOfPending(owner, before, look, numbers, &due.Partly); err != nil {
				return err
			}
		}
		due.Count = len(numbers)
		due.Jobs, err = t.jobsNumbered(numbers[:min(limit, len(numbers))], job.PageBytes)
		return err
	})
	return due, err
}

// dueOfPending searches an owner's pending jobs. If there are too many, it sets
// partly and returns known.
func (t *tx) dueOfPending(owner job.Owner, before time.Time, look int, known []int64, partly *bool) ([]int64, error) {
	pending, numbers := 0, []int64{}
	const of = `SELECT * FROM (SELECT number, due_at FROM jobs INDEXED BY jobs_list WHERE account = ? AND state = ? LIMIT ?)`
	err := t.query(of+` UNION ALL `+of+` ORDER BY due_at`, func(stmt *sqlite.Stmt) error {
		pending++
		if at := stmt.ColumnInt64(1); at >= t.now.UnixMicro() && at < before.UnixMicro() {
			numbers = append(numbers, stmt.ColumnInt64(0))
		}
		return nil
	}, owner.Number, job.Available, look, owner.Number, job.Retryable, look)
	if err != nil || pending >= look {
		return known, err
	}
	*partly = false
	return numbers, nil
}

package sqlite

import (
	"context"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// FailuresSince implements store.Summaries. It reads the index of failed jobs, and
// the last outcome of each by the index of a job's logs.
func (s *Store) FailuresSince(ctx context.Context, owner job.Owner, since time.Time, limit int) ([]job.FailedJob, error) {
	var found []job.FailedJob
	err := s.readAs(ctx, pages, func(t *tx) error {
		return t.query(`SELECT j.number, j.name, j.schedule_id, j.host, j.discarded_at, coalesce(l.event, 0), `+cutText(`l`, `?4`, ``)+`
			FROM jobs j INDEXED BY jobs_failed LEFT JOIN logs l ON l.seq = (SELECT k.seq FROM logs k INDEXED BY logs_job
				WHERE k.job = j.number AND k.event IN (2, 3) ORDER BY k.id DESC LIMIT 1)
			WHERE j.account = ?1 AND j.discarded_at >= ?2 ORDER BY j.discarded_at DESC, j.number DESC LIMIT ?3`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			f := job.FailedJob{Number: c.int64(), Name: c.optional(), ScheduleID: c.uuid(), Host: c.text(), DiscardedAt: c.time()}
			event := c.int()
			if head, _ := c.cut(job.FailurePrefix, 0); event > 0 {
				f.Cause = job.FailureCause(events[event], []byte(head))
			}
			found = append(found, f)
			return nil
		}, owner.Number, since, limit, job.FailurePrefix)
	})
	return found, err
}

// JobFailures implements store.Summaries. It reads the log of each job's latest
// failure by the index of a job's logs.
func (s *Store) JobFailures(ctx context.Context, owner job.Owner, numbers []int64) (map[int64]job.LastFailure, error) {
	found := map[int64]job.LastFailure{}
	err := s.readAs(ctx, pages, func(t *tx) error {
		for _, number := range numbers {
			err := t.query(`SELECT l.event, `+cutText(`l`, `?3`, `?4`)+` FROM logs l INDEXED BY logs_job
				WHERE l.job = ?1 AND l.account = ?2 AND l.event IN (2, 3) ORDER BY l.id DESC LIMIT 1`, func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				event := events[c.int()]
				prefix, suffix := c.cut(job.FailurePrefix, job.FailureSuffix)
				if suffix == "" {
					suffix = prefix
				}
				found[number] = job.ReadLastFailure(event, []byte(prefix), []byte(suffix))
				return nil
			}, number, owner.Number, job.FailurePrefix, job.FailureSuffix)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

// SchedulesFailing implements store.Summaries.
func (s *Store) SchedulesFailing(ctx context.Context, owner job.Owner, limit int) ([]job.FailingSchedule, error) {
	var found []job.FailingSchedule
	err := s.readAs(ctx, pages, func(t *tx) error {
		return t.query(`SELECT id, name, failures, failing_since, failure FROM schedules INDEXED BY schedules_failing
			WHERE account = ? AND failing_since IS NOT NULL AND disabled_at IS NULL ORDER BY failing_since, id LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			found = append(found, job.FailingSchedule{ID: c.uuid(), Name: c.optional(), Failures: c.int64(), Since: c.time(), Cause: c.text()})
			return nil
		}, owner.Number, limit)
	})
	return found, err
}

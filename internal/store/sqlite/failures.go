package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

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
				prefix, suffix := c.cut(job.FailureHead, job.FailureSuffix)
				if suffix == "" {
					suffix = prefix
				}
				found[number] = job.ReadLastFailure(event, []byte(prefix), []byte(suffix))
				return nil
			}, number, owner.Number, job.FailureHead, job.FailureSuffix)
			if err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
}

package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobMessages implements store.Jobs.
func (s *Store) JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error) {
	var found []*job.Delivery
	err := s.readAs(ctx, pages, func(t *tx) error {
		found = nil
		return t.query(`SELECT number, message, job_attempt, channel, url, event, attempt, due
			FROM deliveries INDEXED BY deliveries_job WHERE job = ? AND account = ? AND begin_at <= ? AND channel <= 2 ORDER BY number LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			d := &job.Delivery{Owner: owner, Job: number, Number: c.int64(), MessageID: c.text(), JobAttempt: c.int()}
			d.Channel, d.URL, d.Event, d.Attempt, d.DueAt = job.Channel(c.int()), c.text(), c.text(), c.int(), c.time()
			found = append(found, d)
			return nil
		}, number, owner.Number, t.now, limit)
	})
	return found, err
}

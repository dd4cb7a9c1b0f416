package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobMessages implements store.Jobs.
func (s *Store) JobMessages(ctx context.Context, owner job.Owner, number int64, limit int) ([]*job.Delivery, error) {
	var found []*job.Delivery
	err := s.readAs(ctx, pages, query{
		sql: `SELECT number, message, job_attempt, channel, url, event, attempt, due FROM deliveries
			WHERE account = (SELECT $1::bigint) AND job = $2 AND begin_at <= $3 AND channel <= 2 ORDER BY number LIMIT $4`,
		args:  []any{owner.Number, number, s.Now().UnixMicro(), limit},
		start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			d := &job.Delivery{Owner: owner, Job: number}
			found = append(found, d)
			return rows.Scan(&d.Number, &d.MessageID, &d.JobAttempt, &d.Channel, &d.URL, &d.Event, &d.Attempt, timeOf{&d.DueAt})
		},
	})
	return found, err
}

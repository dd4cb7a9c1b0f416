package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitsWaiting implements store.Limits. It finds the first item of each limit, and
// counts those of the limits that it returns.
func (s *Store) LimitsWaiting(ctx context.Context, owner job.Owner, limit, most int) ([]store.LimitLine, error) {
	var found []store.LimitLine
	err := s.readAs(ctx, pages, query{
		sql: `SELECT f.key, f.paused, f.due, (SELECT count(*) FROM (SELECT FROM limit_items i
				WHERE i.account = (SELECT $1::bigint) AND i.key = f.key AND i.state = 1 AND i.due <= $2 LIMIT $4) n)
			FROM (SELECT l.key, l.paused, w.due FROM limits l CROSS JOIN LATERAL (SELECT i.due FROM limit_items i
					WHERE i.account = (SELECT $1::bigint) AND i.key = l.key AND i.state = 1 AND i.due <= $2 ORDER BY i.key, i.state, i.due LIMIT 1) w
				WHERE l.account = (SELECT $1::bigint) AND NOT l.deleted ORDER BY w.due, l.key LIMIT $3) f ORDER BY f.due, f.key`,
		args: []any{owner.Number, s.Now().UnixMicro(), limit, most}, start: func() { found = nil },
		row: func(rows pgx.Rows) error {
			var l store.LimitLine
			err := rows.Scan(&l.Key, &l.Paused, timeOf{&l.Since}, &l.Waiting)
			found = append(found, l)
			return err
		},
	})
	return found, err
}

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// AccountPurge implements store.People. It deletes what creates queue items
// first.
func (s *Store) AccountPurge(ctx context.Context, settled time.Time, limit int) (n int, err error) {
	type ended struct {
		account int64
		at      time.Time
	}
	var deleted []ended
	err = s.readAs(ctx, access, query{
		sql:   `SELECT number, deleted_at FROM accounts WHERE deleted_at IS NOT NULL AND purged_at IS NULL ORDER BY number`,
		start: func() { deleted = nil },
		row: func(rows pgx.Rows) error {
			var e ended
			err := rows.Scan(&e.account, timeOf{&e.at})
			deleted = append(deleted, e)
			return err
		},
	})
	for _, e := range deleted {
		for _, some := range purges {
			if err != nil || n > 0 {
				return n, err
			}
			n, err = s.prune(ctx, some, e.account, limit)
		}
		if err != nil || n > 0 {
			return n, err
		}
		for _, owned := range records.Purged {
			if err := s.write(ctx, func(t *tx) error {
				return t.commit(
					ofRecord(owned.Purge(records.PostgreSQL, e.account, limit, &n)))
			}); err != nil || n > 0 {
				return n, err
			}
		}
		rest := ofRecords(records.LockOut(records.PostgreSQL, e.account))
		if e.at.Before(settled) {
			rest = append(rest, query{sql: `UPDATE accounts SET purged_at = $1 WHERE number = $2`,
				args: []any{s.Now().UnixMicro(), e.account}})
		}
		err = s.write(ctx, func(t *tx) error { return t.commit(rest...) })
	}
	return n, err
}

// purges delete records of an account, each up to a limit: schedules, then jobs
// with their queue items and deliveries, pending jobs first, then the rest.
var purges = []string{
	`DELETE FROM schedules d USING (SELECT account, id FROM schedules WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`,
	`WITH o AS (SELECT account, number FROM jobs WHERE account = (SELECT $1::bigint) ORDER BY state, number LIMIT $2 FOR UPDATE),
		j AS (DELETE FROM jobs d USING o WHERE d.account = o.account AND d.number = o.number RETURNING d.account, d.number, d.due_at),
		m AS (DELETE FROM deliveries d USING o WHERE d.account = o.account AND d.job = o.number RETURNING d.account, d.number, d.due),
		a AS (DELETE FROM runs r USING j WHERE r.due = j.due_at AND r.kind = 0 AND r.number = j.number AND r.account = j.account),
		b AS (DELETE FROM runs r USING m WHERE r.due = m.due AND r.kind = 1 AND r.number = m.number AND r.account = m.account),
		c AS (DELETE FROM completions c USING o WHERE c.account = o.account AND c.job = o.number)
		SELECT 1 FROM j`,
	`DELETE FROM logs d USING (SELECT account, id FROM logs WHERE account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`,
	`DELETE FROM operation_jobs d USING (SELECT k.operation, k.last FROM operations p JOIN operation_jobs k ON k.operation = p.id WHERE p.account = (SELECT $1::bigint) LIMIT $2) o
		WHERE d.operation = o.operation AND d.last = o.last RETURNING 1`,
}

// NodeList implements store.People.
func (s *Store) NodeList(ctx context.Context) ([]operator.Node, error) {
	var nodes []operator.Node
	err := s.readAs(ctx, access, query{
		sql: `SELECT number, started_at, beat_at FROM nodes ORDER BY number`, start: func() { nodes = nil },
		row: func(rows pgx.Rows) error {
			var n operator.Node
			err := rows.Scan(&n.Number, timeOf{&n.StartedAt}, timeOf{&n.HeartbeatAt})
			nodes = append(nodes, n)
			return err
		},
	})
	return nodes, err
}

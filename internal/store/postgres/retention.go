package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
)

// JobPrune implements store.Retention. It keeps the newest job of an existing
// schedule, which is returned for duplicates of its key. It skips rows that
// another node is deleting.
func (s *Store) JobPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	return s.prune(ctx, `WITH gone AS (DELETE FROM jobs d USING (
		SELECT j.account, j.number FROM jobs j
		WHERE j.state >= 4 AND coalesce(j.completed_at, j.cancelled_at, j.discarded_at) < $1
		AND NOT (j.schedule_id IS NOT NULL AND EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0)
			AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.account = j.account AND k.schedule_id = j.schedule_id))
		ORDER BY coalesce(j.completed_at, j.cancelled_at, j.discarded_at) LIMIT $2 FOR UPDATE OF j SKIP LOCKED) o
		WHERE d.account = o.account AND d.number = o.number RETURNING d.account, d.number, d.id, d.revision),
		completions AS (DELETE FROM completions c USING gone g WHERE c.account = g.account AND c.job = g.number),
		history AS (DELETE FROM revisions r USING gone WHERE gone.revision > 1 AND r.account = gone.account AND r.record = gone.id)
		SELECT 1 FROM gone`, before.UnixMicro(), limit)
}

// LogPrune implements store.Retention. IDs contain the time of a log, so it uses
// the index by account and ID, account by account.
func (s *Store) LogPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	return s.prune(ctx, `DELETE FROM logs d USING (
		SELECT l.account, l.id FROM accounts a CROSS JOIN LATERAL (
			SELECT k.account, k.id FROM logs k WHERE k.account = a.number AND k.id < $1 AND k.inserted_at < $2
			AND NOT EXISTS (SELECT FROM deliveries d WHERE d.account = k.account AND d.job = k.job AND d.parts IS NOT NULL
				AND position(replace(k.id::text, '-', '') IN d.parts) > 0 OFFSET 0)
			AND NOT EXISTS (SELECT FROM runs r WHERE r.account = k.account AND r.number = k.job AND r.node > 0 AND r.log = k.id OFFSET 0)
			AND NOT EXISTS (SELECT FROM completions c WHERE c.account = k.account AND c.job = k.job AND c.state = 1 AND c.response = k.id OFFSET 0)
			ORDER BY k.id LIMIT $3 FOR UPDATE OF k SKIP LOCKED) l LIMIT $3) o
		WHERE d.account = o.account AND d.id = o.id RETURNING 1`, job.IDBound(before), before.UnixMicro(), limit)
}

func (s *Store) prune(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		n = 0
		return t.commit(query{sql: sql, args: args, row: func(pgx.Rows) error {
			n++
			return nil
		}})
	})
	if err != nil {
		return 0, fmt.Errorf("deleting old records: %w", err)
	}
	return n, nil
}

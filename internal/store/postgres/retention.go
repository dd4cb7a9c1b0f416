package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// ended is when a job j became final.
const ended = `coalesce(j.completed_at, j.cancelled_at, j.discarded_at)`

// JobPrune implements store.Retention. It keeps the newest job of an existing
// schedule, which is returned for duplicates of its key. It skips rows that
// another node is deleting. Since jobs_final has only the time, Number of the mark is
// how many jobs that became final at that time the round has kept.
func (s *Store) JobPrune(ctx context.Context, before time.Time, after store.PruneMark, limit int) (store.Pruned, error) {
	args := []any{before.UnixMicro(), after.At.UnixMicro(), after.Number, limit, true}
	var last int64
	batch, err := s.pruneBehind(ctx, after, limit, `WITH seen AS MATERIALIZED (
		SELECT j.account, j.number, `+ended+` AS at,
			j.schedule_id IS NOT NULL AND EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0)
				AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.account = j.account AND k.schedule_id = j.schedule_id) AS newest
		FROM jobs j WHERE j.state >= 4 AND `+ended+` >= $2 AND `+ended+` < $1 ORDER BY `+ended+` OFFSET $3 LIMIT $4),
		gone AS (DELETE FROM jobs d USING (
			SELECT j.account, j.number, seen.at FROM seen CROSS JOIN LATERAL (SELECT j.account, j.number FROM jobs j
				WHERE j.account = seen.account AND j.number = seen.number AND j.state >= 4 AND `+ended+
		` < $1 AND $5 FOR UPDATE OF j SKIP LOCKED) j
			WHERE NOT seen.newest) o
			WHERE d.account = o.account AND d.number = o.number RETURNING d.account, d.number, d.id, d.revision, o.at),
		completions AS (DELETE FROM completions c USING gone g WHERE c.account = g.account AND c.job = g.number),
		history AS (DELETE FROM revisions r USING gone WHERE gone.revision > 1 AND r.account = gone.account AND r.record = gone.id)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM seen), at,
			(SELECT count(*) FROM seen s WHERE s.at = l.at) - (SELECT count(*) FROM gone WHERE gone.at = l.at) + CASE WHEN at = $2 THEN $3 ELSE 0 END
		FROM (SELECT max(at) AS at FROM seen) l WHERE at IS NOT NULL`, args,
		func(mark *store.PruneMark) []any { return []any{&last, &mark.Number} })
	if batch.Examined > 0 {
		batch.Next.At = time.UnixMicro(last)
	}
	return batch, err
}

// LogPrune implements store.Retention. IDs contain the time of a log, so it uses
// the index by account and ID: it steps from log to log, and from the first log of an
// account that is not old to the next account.
func (s *Store) LogPrune(ctx context.Context, before time.Time, after store.PruneMark, limit int) (store.Pruned, error) {
	step := func(account, id string) string {
		return `(SELECT k.account, k.id, k.inserted_at, CASE WHEN k.id < $1 THEN k.id ELSE 'ffffffff-ffff-ffff-ffff-ffffffffffff' END AS last
			FROM logs k WHERE (k.account, k.id) > (` + account + `, ` + id + `) ORDER BY k.account, k.id LIMIT 1)`
	}
	args := []any{job.IDBound(before), before.UnixMicro(), after.Account, after.ID, limit, true}
	return s.pruneBehind(ctx, after, limit, `WITH RECURSIVE walk AS (`+step(`$3`, `$4`)+`
		UNION ALL SELECT k.* FROM walk w CROSS JOIN LATERAL `+step(`w.account`, `w.last`)+` k),
		seen AS MATERIALIZED (SELECT * FROM walk LIMIT $5),
		gone AS (DELETE FROM logs d USING (
			SELECT k.account, k.id FROM seen CROSS JOIN LATERAL (SELECT k.account, k.id FROM logs k WHERE k.account = seen.account AND k.id = seen.id
				AND NOT EXISTS (SELECT FROM deliveries d WHERE d.account = k.account AND d.job = k.job AND d.parts IS NOT NULL
					AND position(replace(k.id::text, '-', '') IN d.parts) > 0 OFFSET 0)
				AND NOT EXISTS (SELECT FROM runs r WHERE r.account = k.account AND r.number = k.job AND r.node > 0 AND r.log = k.id OFFSET 0)
				AND NOT EXISTS (SELECT FROM completions c WHERE c.account = k.account AND c.job = k.job AND c.state = 1 AND c.response = k.id OFFSET 0)
				FOR UPDATE OF k SKIP LOCKED) k
			WHERE seen.id < $1 AND seen.inserted_at < $2 AND $6) o
			WHERE d.account = o.account AND d.id = o.id RETURNING 1)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM seen), account, last FROM seen ORDER BY account DESC, id DESC LIMIT 1`,
		args,
		func(mark *store.PruneMark) []any { return []any{&mark.Account, idOf{&mark.ID}} })
}

// pruneBehind runs a batch. Its statement returns a row with how many records it
// deleted and examined, and the columns of the next mark; none if it examined none. The
// last argument is whether it deletes.
func (s *Store) pruneBehind(ctx context.Context, after store.PruneMark, limit int, sql string, args []any,
	mark func(*store.PruneMark) []any) (batch store.Pruned, err error) {
	run := func() error {
		return s.write(ctx, func(t *tx) error {
			batch = store.Pruned{Next: after}
			return t.commit(query{sql: sql, args: args, row: func(rows pgx.Rows) error {
				return rows.Scan(append([]any{&batch.Removed, &batch.Examined}, mark(&batch.Next)...)...)
			}})
		})
	}
	if err = run(); err != nil {
		err = fmt.Errorf("deleting old records: %w", err)
		if args[len(args)-1] = false; limit > 1 || run() != nil {
			return store.Pruned{Next: after}, err
		}
	}
	batch.More = batch.Examined == limit
	return batch, err
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

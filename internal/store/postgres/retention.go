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
// schedule, which is returned for duplicates of its key. It skips rows that others have
// locked, and deletes rows by their place in the table, without a further lookup. A final
// job stays final, so nothing else has to be true of them.
func (s *Store) JobPrune(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
	args := []any{before.UnixMicro(), after.At.UnixMicro(), after.Number, limit, true}
	var last int64
	batch, err := s.pruneBehind(ctx, after, limit, `WITH seen AS MATERIALIZED (
		SELECT j.account, j.number, j.ctid AS place, `+ended+` AS at,
			j.schedule_id IS NOT NULL AND EXISTS (SELECT FROM schedules s WHERE s.account = j.account AND s.id = j.schedule_id OFFSET 0)
				AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.account = j.account AND k.schedule_id = j.schedule_id) AS newest
		FROM jobs j WHERE j.state >= 4 AND (`+ended+`, j.number) > ($2, $3) AND `+ended+` < $1 ORDER BY `+ended+`, j.number LIMIT $4),
		gone AS (DELETE FROM jobs d WHERE d.ctid = ANY (ARRAY(
			SELECT j.ctid FROM seen CROSS JOIN LATERAL (SELECT j.ctid FROM jobs j WHERE j.ctid = seen.place FOR UPDATE OF j SKIP LOCKED) j
			WHERE NOT seen.newest AND $5)) RETURNING d.account, d.number, d.id, d.revision),
		completions AS (DELETE FROM completions c USING gone g WHERE c.account = g.account AND c.job = g.number),
		history AS (DELETE FROM revisions r USING gone WHERE gone.revision > 1 AND r.account = gone.account AND r.record = gone.id)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM seen), at, number FROM seen ORDER BY at DESC, number DESC LIMIT 1`, args,
		func(mark *store.PruneCursor) []any { return []any{&last, &mark.Number} })
	if batch.Examined > 0 {
		batch.Next.At = time.UnixMicro(last)
	}
	return batch, err
}

// lastID sorts behind every other ID.
const lastID = `'ffffffff-ffff-ffff-ffff-ffffffffffff'`

// LogPrune implements store.Retention. IDs contain the time of a log, so it reads
// ranges of the index by account and ID: the old logs of the account that the last batch
// ended in, then those of further accounts. Of an account that has none it reads the first
// log. Rows are deleted by their places without a lock before: logs don't change, and nodes
// that delete the same rows do so in the same order.
func (s *Store) LogPrune(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
	first := func(account string) string {
		return `SELECT k.account, k.id FROM logs k WHERE k.account > ` + account + ` ORDER BY k.account, k.id LIMIT 1`
	}
	old := func(behind string) string {
		return `SELECT k.account, k.id, k.job, k.inserted_at, k.ctid AS place FROM logs k WHERE ` + behind + ` AND k.id < $1
			ORDER BY k.id LIMIT $5`
	}
	args := []any{job.IDBound(before), before.UnixMicro(), after.Account, after.ID, limit, true}
	return s.pruneBehind(ctx, after, limit, `WITH RECURSIVE accounts AS ((`+first(`$3`)+`)
		UNION ALL SELECT n.* FROM accounts a CROSS JOIN LATERAL (`+first(`a.account`)+`) n),
		seen AS MATERIALIZED ((`+old(`k.account = (SELECT $3::bigint) AND k.id > $4`)+`)
			UNION ALL SELECT a.account, k.id, k.job, k.inserted_at, k.place FROM accounts a
				LEFT JOIN LATERAL (`+old(`k.account = a.account AND k.id >= a.id AND a.id < $1`)+`) k ON true LIMIT $5),
		gone AS (DELETE FROM logs d WHERE d.ctid = ANY (ARRAY(SELECT k.place FROM seen k WHERE k.inserted_at < $2 AND $6
			AND NOT EXISTS (SELECT FROM deliveries d WHERE d.account = k.account AND d.job = k.job AND d.parts IS NOT NULL
				AND position(replace(k.id::text, '-', '') IN d.parts) > 0 OFFSET 0)
			AND NOT EXISTS (SELECT FROM runs r WHERE r.account = k.account AND r.number = k.job AND r.node > 0 AND r.log = k.id OFFSET 0)
			AND NOT EXISTS (SELECT FROM completions c WHERE c.account = k.account AND c.job = k.job AND c.state = 1 AND c.response = k.id OFFSET 0)
			)) RETURNING 1)
		SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM seen), account, coalesce(id, `+lastID+`) FROM seen
			ORDER BY account DESC, id DESC NULLS FIRST LIMIT 1`, args,
		func(mark *store.PruneCursor) []any { return []any{&mark.Account, idOf{&mark.ID}} })
}

// pruneBehind runs a batch. Its statement returns a row with how many records it
// deleted and examined, and the columns of the next mark; none if it examined none. The
// last argument is whether it deletes.
func (s *Store) pruneBehind(ctx context.Context, after store.PruneCursor, limit int, sql string, args []any,
	mark func(*store.PruneCursor) []any) (batch store.Pruned, err error) {
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

package sqlite

import (
	"context"
	"fmt"
	"time"
)

// JobPrune implements store.Retention. It keeps the newest job of an existing
// schedule, which is returned for duplicates of its key.
func (s *Store) JobPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM jobs WHERE number IN (
			SELECT j.number FROM jobs j INDEXED BY jobs_final
			WHERE j.state >= 4 AND coalesce(j.completed_at, j.cancelled_at, j.discarded_at) < ?
			AND NOT (j.schedule_id IS NOT NULL AND EXISTS (SELECT 1 FROM schedules s WHERE s.id = j.schedule_id)
				AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.schedule_id = j.schedule_id))
			ORDER BY coalesce(j.completed_at, j.cancelled_at, j.discarded_at) LIMIT ?)`, before, limit)
		if err != nil {
			return fmt.Errorf("deleting old jobs: %w", err)
		}
		n = t.changed()
		return nil
	})
	return n, err
}

// LogPrune implements store.Retention. Logs are stored in order of time, so it
// reads the first ones, and as many more as it may have to keep.
func (s *Store) LogPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM logs WHERE seq IN (
			SELECT l.seq FROM (SELECT seq, id, account, job, inserted_at FROM logs ORDER BY seq
				LIMIT ?1 + (SELECT count(*) FROM deliveries INDEXED BY deliveries_parts WHERE parts IS NOT NULL) + (SELECT count(*) FROM runs INDEXED BY runs_claimed WHERE node > 0)) l
			WHERE l.inserted_at < ?2
			AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.job = l.job AND d.parts IS NOT NULL AND instr(d.parts, lower(hex(l.id))) > 0)
			AND NOT EXISTS (SELECT 1 FROM runs r INDEXED BY runs_claimed WHERE r.account = l.account AND r.number = l.job AND r.node > 0 AND r.log = l.id)
			ORDER BY l.seq LIMIT ?1)`, limit, before)
		if err != nil {
			return fmt.Errorf("deleting old logs: %w", err)
		}
		n = t.changed()
		return nil
	})
	return n, err
}

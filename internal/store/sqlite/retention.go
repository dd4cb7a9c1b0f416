package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
)

// removedBytes is about how many bytes are removed at once: others wait for the
// writer meanwhile.
const removedBytes = 2 << 20

// within selects the first keys of rows of keys and sizes, up to removedBytes of
// them, and at least one.
func within(rows string) string {
	return fmt.Sprintf(`SELECT key FROM (SELECT key, size, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM (%s)) WHERE total - size < %d`, rows, removedBytes)
}

// finished tells that a final job j ended before a time and is not the newest of
// a schedule that still exists: duplicates of its key are answered with that.
const finished = `j.state >= 4 AND coalesce(j.completed_at, j.cancelled_at, j.discarded_at) < ?
	AND NOT (j.schedule_id IS NOT NULL AND EXISTS (SELECT 1 FROM schedules s WHERE s.id = j.schedule_id)
		AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.schedule_id = j.schedule_id))`

// JobPrune implements store.Retention. A great many may have to stay, so those
// that go are looked for beside the writer.
func (s *Store) JobPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	old, err := s.keys(ctx, within(`SELECT j.number AS key, `+jobArgsSize+` AS size FROM jobs j INDEXED BY jobs_final WHERE `+finished+`
		ORDER BY coalesce(j.completed_at, j.cancelled_at, j.discarded_at) LIMIT ?`), before, limit)
	if err != nil {
		return 0, fmt.Errorf("looking for old jobs: %w", err)
	}
	return s.removeAll(ctx, old, func(t *tx, key int64) (bool, error) {
		account, edited, err := t.editedJob(key)
		if err != nil {
			return false, err
		}
		removed, err := t.deleteTagged(jobTags, key, `DELETE FROM jobs AS j WHERE j.number = ? AND `+finished, key, before)
		if err == nil && removed {
			err = t.exec(`DELETE FROM completions WHERE job = ?`, key)
		}
		if err == nil && removed && edited != uuid.Nil {
			err = t.deleteRevisions(account, edited)
		}
		return removed, err
	})
}

// keys reads the keys that a query selects.
func (s *Store) keys(ctx context.Context, query string, args ...any) (found []int64, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		found = nil
		return t.query(query, func(stmt *sqlite.Stmt) error {
			found = append(found, stmt.ColumnInt64(0))
			return nil
		}, args...)
	})
	return found, err
}

// removeAll calls remove for each key in one transaction, and returns how many
// rows were removed.
func (s *Store) removeAll(ctx context.Context, keys []int64, remove func(t *tx, key int64) (removed bool, err error)) (n int, err error) {
	if len(keys) == 0 {
		return 0, nil
	}
	err = s.write(ctx, func(t *tx) error {
		n = 0
		for _, key := range keys {
			removed, err := remove(t, key)
			if err != nil {
				return fmt.Errorf("removing old records: %w", err)
			}
			if removed {
				n++
			}
		}
		return nil
	})
	return n, err
}

// needed tells of an old log l that it must stay.
const needed = `(EXISTS (SELECT 1 FROM deliveries d WHERE d.job = l.job AND d.parts IS NOT NULL AND instr(d.parts, lower(hex(l.id))) > 0)
	OR EXISTS (SELECT 1 FROM runs r INDEXED BY runs_claimed WHERE r.account = l.account AND r.number = l.job AND r.node > 0 AND r.log = l.id)
	OR EXISTS (SELECT 1 FROM completions c WHERE c.account = l.account AND c.job = l.job AND c.state = 1 AND c.response = l.id))`

// LogPrune implements store.Retention. A great many old logs may have to stay, so
// they are looked for beside the writer.
func (s *Store) LogPrune(ctx context.Context, before time.Time, limit int) (n int, err error) {
	old, err := s.oldLogs(ctx, before, limit)
	if err != nil {
		return 0, fmt.Errorf("looking for old logs: %w", err)
	}
	return s.removeAll(ctx, old, func(t *tx, key int64) (bool, error) {
		err := t.exec(`DELETE FROM logs AS l WHERE l.seq = ? AND l.inserted_at < ? AND NOT `+needed, key, before)
		return t.changed() > 0, err
	})
}

// oldLogs finds logs that are to go, up to limit and removedBytes of them. They
// stand nearly in order of time, so it ends at the limit's number of newer ones.
func (s *Store) oldLogs(ctx context.Context, before time.Time, limit int) (old []int64, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		old = nil
		newer, size := 0, int64(0)
		return t.query(`SELECT l.seq, CASE WHEN l.inserted_at < ? THEN `+needed+` ELSE 2 END, `+payloadSize+` FROM logs l ORDER BY l.seq`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			switch seq, what := c.int64(), c.int(); what {
			case 0:
				old = append(old, seq)
				size += c.int64()
			case 2:
				newer++
			}
			if len(old) == limit || newer == limit || size >= removedBytes {
				return errStop
			}
			return nil
		}, before)
	})
	return old, err
}

package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// removedBytes is about how many bytes are removed at once: others wait for the
// writer meanwhile.
const removedBytes = 2 << 20

// within selects the first keys of rows of keys and sizes, up to removedBytes of
// them, and at least one.
func within(rows string) string {
	return fmt.Sprintf(`SELECT key FROM (SELECT key, size, sum(size) OVER (ROWS UNBOUNDED PRECEDING) AS total FROM (%s)) WHERE total - size < %d`, rows, removedBytes)
}

// ended is when a job j became final.
const ended = `coalesce(j.completed_at, j.cancelled_at, j.discarded_at)`

// newest tells that a job j is the newest of a schedule that still exists:
// duplicates of its key are answered with that.
const newest = `(j.schedule_id IS NOT NULL AND EXISTS (SELECT 1 FROM schedules s WHERE s.id = j.schedule_id)
	AND j.number = (SELECT max(k.number) FROM jobs k WHERE k.schedule_id = j.schedule_id))`

// JobPrune implements store.Retention. A great many may have to stay, so those
// that go are looked for beside the writer.
func (s *Store) JobPrune(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
	old, batch, err := s.oldJobs(ctx, before, after, limit)
	if err != nil {
		return batch, fmt.Errorf("looking for old jobs: %w", err)
	}
	batch.Removed, err = s.removeAll(ctx, old, func(t *tx, key int64) (bool, error) {
		account, edited, err := t.editedJob(key)
		if err != nil {
			return false, err
		}
		removed, err := t.deleteTagged(jobTags, key, `DELETE FROM jobs AS j WHERE j.number = ? AND j.state >= 4 AND `+ended+` < ? AND NOT `+
			newest, key, before)
		if err == nil && removed {
			err = t.exec(`DELETE FROM completions WHERE job = ?`, key)
		}
		if err == nil && removed && edited != uuid.Nil {
			err = t.deleteRevisions(account, edited)
		}
		return removed, err
	})
	return batch, err
}

// oldJobs finds jobs that are to go, up to removedBytes of them.
func (s *Store) oldJobs(ctx context.Context, before time.Time, after store.PruneCursor,
	limit int) (old []int64, batch store.Pruned, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		old, batch = nil, store.Pruned{Next: after}
		size := int64(0)
		return t.query(`SELECT `+ended+`, j.number, CASE WHEN `+newest+` THEN -1 ELSE `+jobArgsSize+` END FROM jobs j INDEXED BY jobs_final
			WHERE j.state >= 4 AND `+ended+` >= ?1 AND (`+ended+`, j.number) > (?1, ?2) AND `+ended+` < ?3 ORDER BY `+ended+`, j.number LIMIT ?4`,
			func(stmt *sqlite.Stmt) error {
				c := &columns{stmt: stmt}
				batch.Examined++
				batch.Next = store.PruneCursor{At: c.time(), Number: c.int64()}
				if bytes := c.int64(); bytes >= 0 {
					old = append(old, batch.Next.Number)
					size += bytes
				}
				if batch.More = batch.Examined == limit || size >= removedBytes; batch.More {
					return errStop
				}
				return nil
			}, instant(after.At), after.Number, before, limit)
	})
	return old, batch, err
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
func (s *Store) LogPrune(ctx context.Context, before time.Time, after store.PruneCursor, limit int) (store.Pruned, error) {
	old, batch, err := s.oldLogs(ctx, before, after, limit)
	if err != nil {
		return batch, fmt.Errorf("looking for old logs: %w", err)
	}
	batch.Removed, err = s.removeAll(ctx, old, func(t *tx, key int64) (bool, error) {
		err := t.exec(`DELETE FROM logs AS l WHERE l.seq = ? AND l.inserted_at < ? AND NOT `+needed, key, before)
		return t.changed() > 0, err
	})
	return batch, err
}

// oldLogs finds logs that are to go, up to removedBytes of them. They stand nearly in
// order of time, so a batch of newer ones ends the round; the next one begins with
// these.
func (s *Store) oldLogs(ctx context.Context, before time.Time, after store.PruneCursor,
	limit int) (old []int64, batch store.Pruned, err error) {
	err = s.readAs(ctx, background, func(t *tx) error {
		old, batch = nil, store.Pruned{Next: after}
		newer, firstNewer, size := 0, int64(0), int64(0)
		err := t.query(`SELECT l.seq, CASE WHEN l.inserted_at < ? THEN `+needed+` ELSE 2 END, `+payloadSize+
			` FROM logs l WHERE l.seq > ? ORDER BY l.seq LIMIT ?`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			batch.Examined++
			batch.Next.Number = c.int64()
			switch c.int() {
			case 0:
				old = append(old, batch.Next.Number)
				size += c.int64()
			case 2:
				if newer++; newer == 1 {
					firstNewer = batch.Next.Number
				}
			}
			if batch.More = batch.Examined == limit || size >= removedBytes; batch.More {
				return errStop
			}
			return nil
		}, before, after.Number, limit)
		if batch.More = batch.More && newer < batch.Examined; !batch.More && newer > 0 {
			batch.Next.Number = firstNewer - 1
		}
		return err
	})
	return old, batch, err
}

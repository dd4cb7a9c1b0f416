package sqlite

import (
	"context"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// checkpointBytes is the length of the write-ahead log at which it is
// checkpointed: 16,000 pages, because the same pages are written repeatedly.
// keptBytes is the size to which SQLite truncates the file when it restarts the
// log. It is larger, because a commit that overwrites costs half of one that makes
// the file grow: 0.3 instead of 0.6 ms, and 45 instead of 85 µs of CPU.
const (
	checkpointBytes = 16_000 * 4096
	keptBytes       = checkpointBytes + checkpointBytes/4

	perPage = 4096 + 24 // bytes in the log
)

// checkpoint keeps the write-ahead log bounded until ctx ends.
func (s *Store) checkpoint(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			s.checkpointLarge(ctx)
		}
	}
}

// minCheckpoint is the smallest write-ahead log that is checkpointed because
// space is short.
const minCheckpoint = 1 << 20

// checkpointLarge checkpoints the write-ahead log if it has grown large. It uses
// a separate connection while the writer continues. The writer then checkpoints
// the few pages that it added meanwhile, so that the log can restart. A failed
// checkpoint loses nothing; the next one follows in a second.
func (s *Store) checkpointLarge(ctx context.Context) {
	info, err := os.Stat(s.path + "-wal")
	if err != nil || s.watch.lost.Load() != nil {
		return
	}
	if info.Size() < s.checkpointAt() {
		s.keepLog(ctx)
		return
	}
	length, err := s.logLength(ctx)
	low := s.watch.low.Load()
	if low {
		length = info.Size() // the file is truncated, too
	}
	if err != nil || length < s.checkpointAt() {
		return
	}
	// A commit may restart the log as soon as all of it has been checkpointed.
	if err := s.writer.submit(ctx, &write{outside: s.limitLog, done: make(chan error, 1)}); err != nil {
		return
	}
	finish := checkpointLog
	if blocked := s.checkpointBeside(); !blocked && (low || info.Size() > 8*checkpointBytes) {
		finish = truncateLog
	}
	_ = s.writer.submit(ctx, &write{outside: finish, done: make(chan error, 1)})
}

// limitLog sets how much of the log's file remains when the log restarts: keptBytes, but
// nothing of a database that Litestream copies. If Litestream was down when the log
// restarted, and the last frame that it had copied is still behind the end of the new log,
// it would continue, without the frames that it had not copied: what it then restores is
// damaged.
func (s *Store) limitLog(conn *sqlite.Conn) error {
	copied, err := number(conn, `SELECT count(*) FROM sqlite_schema WHERE name = '_litestream_seq'`)
	if err != nil {
		return err
	}
	limit := int64(keptBytes)
	if copied > 0 {
		limit = 0
	}
	s.truncates.Store(limit == 0)
	return setLogLimit(conn, limit)
}

// keepLog has the log's file kept again after limitLog had it truncated: Litestream, if it
// is up, would take each truncation for a reason to upload the whole database.
func (s *Store) keepLog(ctx context.Context) {
	if s.truncates.CompareAndSwap(true, false) {
		keep := func(conn *sqlite.Conn) error { return setLogLimit(conn, keptBytes) }
		_ = s.writer.submit(ctx, &write{outside: keep, done: make(chan error, 1)})
	}
}

func setLogLimit(conn *sqlite.Conn, bytes int64) error {
	return sqlitex.ExecuteTransient(conn, fmt.Sprintf(`PRAGMA journal_size_limit = %d`, bytes), nil)
}

// checkpointBeside checkpoints on a connection of its own. It reports whether a reader has
// stood in the way since the last time: it keeps part of the log, because it still uses the
// database as it was before. A reader may do so for long, such as Litestream, which copies
// the database: to wait for it in vain would stop the writer a quarter of the time. Readers
// that come and go are worth the wait; without it they may keep the log for as long as the
// load lasts.
func (s *Store) checkpointBeside() (blocked bool) {
	conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite, sqlite.OpenWAL)
	if err != nil {
		return false // the writer's own checkpoint reports it
	}
	_ = sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(PASSIVE)`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		length, copied := stmt.ColumnInt64(1), stmt.ColumnInt64(2)
		blocked = s.checkpointed.Swap(copied) == copied && (length-copied)*perPage >= minCheckpoint
		return nil
	}})
	_ = conn.Close()
	return blocked
}

// checkpointAt returns the size at which the write-ahead log is checkpointed. It
// is smaller if little space is free.
func (s *Store) checkpointAt() int64 {
	free := s.watch.free.Load()
	if free < 0 {
		return checkpointBytes
	}
	return max(minCheckpoint, min(checkpointBytes, free/8))
}

// logLength returns how many bytes of the write-ahead log are in use. The file is
// longer after the log has restarted. It asks SQLite: to open the log's index, which
// has the number too, and to close it would end this process's locks on it.
func (s *Store) logLength(ctx context.Context) (length int64, err error) {
	count := func(stmt *sqlite.Stmt) error {
		length = stmt.ColumnInt64(1) * perPage
		return nil
	}
	err = s.writer.submit(ctx, &write{outside: func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(NOOP)`, &sqlitex.ExecOptions{ResultFunc: count})
	}, done: make(chan error, 1)})
	return length, err
}

func checkpointLog(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(PASSIVE)`, nil)
}

// readersWait is how long truncateLog waits for readers.
const readersWait = 250 * time.Millisecond

// truncateLog checkpoints and truncates the write-ahead log. It must wait until no
// reader uses the log, but only briefly, because writers wait meanwhile.
func truncateLog(conn *sqlite.Conn) error {
	conn.SetBusyTimeout(readersWait)
	defer conn.SetBusyTimeout(busyTimeout)
	return sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(TRUNCATE)`, nil)
}

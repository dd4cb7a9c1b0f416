package sqlite

import (
	"context"
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
	if err != nil || info.Size() < s.checkpointAt() || s.watch.lost.Load() != nil {
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
	if conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite, sqlite.OpenWAL); err == nil {
		_ = checkpointLog(conn)
		_ = conn.Close()
	}
	finish := checkpointLog
	if low || info.Size() > 8*checkpointBytes {
		finish = truncateLog
	}
	_ = s.writer.submit(ctx, &write{outside: finish, done: make(chan error, 1)})
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
	const perPage = 4096 + 24
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

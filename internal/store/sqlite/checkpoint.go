package sqlite

import (
	"context"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// checkpointBytes is how large the write-ahead log grows before its pages are
// moved into the database: 16,000 pages, since the same pages are written
// again and again. keptBytes is what is left of the file when it starts anew,
// so that its size tells when it has grown again.
const (
	checkpointBytes = 16_000 * 4096
	keptBytes       = checkpointBytes / 4
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

// minCheckpoint is the least of a write-ahead log that is moved for want of space.
const minCheckpoint = 1 << 20

// checkpointLarge moves the write-ahead log into the database, when it has
// grown large, from a connection of its own, while the writer goes on. What the
// writer has added meanwhile it moves itself, a few pages; then the log starts
// anew. A failed checkpoint loses nothing; the next one is soon to come.
func (s *Store) checkpointLarge(ctx context.Context) {
	info, err := os.Stat(s.path + "-wal")
	if err != nil || info.Size() < s.checkpointAt() || s.watch.lost.Load() != nil {
		return
	}
	if conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadWrite, sqlite.OpenWAL); err == nil {
		_ = moveLog(conn)
		_ = conn.Close()
	}
	finish := moveLog
	if s.watch.low.Load() || info.Size() > 8*checkpointBytes {
		finish = cutLog
	}
	_ = s.writer.submit(ctx, &write{outside: finish, done: make(chan error, 1)})
}

// checkpointAt returns from what size on the write-ahead log is moved: less than
// usual where little space is free.
func (s *Store) checkpointAt() int64 {
	free := s.watch.free.Load()
	if free < 0 {
		return checkpointBytes
	}
	return max(minCheckpoint, min(checkpointBytes, free/8))
}

func moveLog(conn *sqlite.Conn) error {
	return sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(PASSIVE)`, nil)
}

// readersWait is how long cutLog waits for those who read.
const readersWait = 250 * time.Millisecond

// cutLog moves the write-ahead log and gives its space back, which those who
// read from it hold up. They are waited for only briefly, since writers wait too.
func cutLog(conn *sqlite.Conn) error {
	conn.SetBusyTimeout(readersWait)
	defer conn.SetBusyTimeout(busyTimeout)
	return sqlitex.ExecuteTransient(conn, `PRAGMA wal_checkpoint(TRUNCATE)`, nil)
}

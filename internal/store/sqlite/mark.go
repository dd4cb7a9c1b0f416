package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The lock file contains a mark: the database's probe count (see Store.writeProbe), or
// "stopped" after a clean shutdown. A database with a lower count than its mark
// has lost its write-ahead log. SQLite would silently open what is left.
const (
	markRunning = "running %20d\n"
	markStopped = "stopped                     \n" // the same length
)

// mark writes a probe count to the lock file.
func (s *Store) mark(beats int64) error { return s.writeMark(fmt.Sprintf(markRunning, beats)) }

func (s *Store) writeMark(text string) error {
	s.marking.Lock()
	defer s.marking.Unlock()
	file, err := os.OpenFile(s.path+".lock", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("marking the lock file: %w", err)
	}
	_, err = file.WriteAt([]byte(text), 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("marking the lock file: %w", err)
	}
	return nil
}

// checkMark returns an error if a database has lost its write-ahead log. It must
// be called before anything is written.
func checkMark(path string) error {
	text, err := os.ReadFile(path + ".lock")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s.lock: %w", path, err)
	}
	var beats int64
	if n, err := fmt.Sscanf(strings.TrimSpace(string(text)), strings.TrimSpace(strings.ReplaceAll(markRunning, "20", "")),
		&beats); n != 1 || err != nil {
		return nil // shut down cleanly, or never marked
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the database %s is missing, though the service that used it was not shut down cleanly; put it back together with %[1]s-wal, or delete %[1]s.lock to start with an empty database", path)
	}
	if found := probeCount(path); found < beats {
		return fmt.Errorf("the write-ahead log %s-wal is missing, and with it the latest changes; put it back, or delete %[1]s.lock to continue without them", path)
	}
	return nil
}

// probeCount returns the probe count of a database; 0 if it can't be read.
func probeCount(path string) (beats int64) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return 0
	}
	defer conn.Close()
	conn.SetBusyTimeout(busyTimeout)
	_ = sqlitex.ExecuteTransient(conn, `SELECT beat FROM probes`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		beats = stmt.ColumnInt64(0)
		return nil
	}})
	return beats
}

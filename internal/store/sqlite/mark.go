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

// The lock file carries a mark: how many beats the database had when they were
// last written, and "stopped" instead when the node has stopped in order. A
// database that has fewer beats without having been stopped in order has lost
// what its write-ahead log held: SQLite would start with what is left, silently.
const (
	markRunning = "running %20d\n"
	markStopped = "stopped                     \n" // as long
)

// mark notes a number of beats.
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

// checkMark refuses a database that has lost its write-ahead log, before
// anything is written.
func checkMark(path string) error {
	text, err := os.ReadFile(path + ".lock")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s.lock: %w", path, err)
	}
	var beats int64
	if n, err := fmt.Sscanf(strings.TrimSpace(string(text)), strings.TrimSpace(strings.ReplaceAll(markRunning, "20", "")), &beats); n != 1 || err != nil {
		return nil // stopped in order, or never marked
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the database %s is missing, though the service that used it was not stopped in order; put it back together with %[1]s-wal, or delete %[1]s.lock to begin with an empty database", path)
	}
	if found := beatsOf(path); found < beats {
		return fmt.Errorf("the write-ahead log %s-wal is missing, and with it what was stored last; put it back, or delete %[1]s.lock to go on without what it held", path)
	}
	return nil
}

// beatsOf reads how many beats a database has; 0 when it can't be told.
func beatsOf(path string) (beats int64) {
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

package disk

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// intact fails the test unless a database has no damage.
func intact(t *testing.T, path string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := check(conn); err != nil {
		t.Error(err)
	}
}

// check returns what SQLite's own check finds wrong.
func check(conn *sqlite.Conn) error {
	var found []string
	err := sqlitex.ExecuteTransient(conn, `PRAGMA integrity_check`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		found = append(found, stmt.ColumnText(0))
		return nil
	}})
	if err == nil && strings.Join(found, "; ") != "ok" {
		err = fmt.Errorf("the database is damaged: %s", strings.Join(found, "; "))
	}
	return err
}

// jobsIn returns the states of all jobs, and how often each is queued.
func jobsIn(conn *sqlite.Conn) (states map[int64]int64, queued map[int64]int, err error) {
	states, queued = map[int64]int64{}, map[int64]int{}
	err = errors.Join(
		sqlitex.ExecuteTransient(conn, `SELECT number, state FROM jobs`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			states[stmt.ColumnInt64(0)] = stmt.ColumnInt64(1)
			return nil
		}}),
		sqlitex.ExecuteTransient(conn, `SELECT number FROM runs WHERE kind = 0`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				queued[stmt.ColumnInt64(0)]++
				return nil
			}}))
	return states, queued, err
}

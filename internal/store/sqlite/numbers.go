package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// numbersFormat is the content of the file beside the database that survives a
	// restore: the id of the database and a number above which no job was stored.
	numbersFormat = "%32s %020d\n"
	// numbersStep is how many job numbers the file covers ahead, and the multiple to
	// which a restore rounds up.
	numbersStep = 100_000
	// maxNumber is the highest integer that JSON readers keep exactly.
	maxNumber = 1<<53 - 1
)

// numbers maintains the file of job numbers beside a database. Only the writer uses it.
type numbers struct {
	path    string // of the file
	id      string // of the database
	covered int64  // the file's number
}

// numbersOf reads the file of the database at path, whose connection is conn.
func numbersOf(path string, conn *sqlite.Conn) (n numbers, err error) {
	n.path = path + ".numbers"
	if n.id, err = databaseID(conn); err != nil {
		return n, fmt.Errorf("reading the id of the database: %w", err)
	}
	n.covered, err = n.read()
	return n, err
}

// read returns the file's number; 0 without a file, or if it belongs to another database.
func (n *numbers) read() (covered int64, err error) {
	text, err := os.ReadFile(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", n.path, err)
	}
	var id string
	if _, err := fmt.Sscanf(string(text), "%32s %d\n", &id, &covered); err != nil || id != n.id {
		return 0, nil
	}
	return covered, nil
}

// cover makes sure that the file covers a job's number. It is called before the commit
// of the job, in a transaction that excludes other processes.
func (n *numbers) cover(number int64) error {
	if number <= n.covered {
		return nil
	}
	covered, err := n.read()
	if err != nil {
		return fault.Unreachable(err)
	}
	if covered < number {
		covered = roundUp(number+numbersStep/2, numbersStep)
		if err := n.write(covered); err != nil {
			return fault.Unreachable(err)
		}
	}
	n.covered = covered
	return nil
}

func (n *numbers) write(covered int64) error {
	_, err := os.Stat(n.path)
	created := errors.Is(err, fs.ErrNotExist)
	file, err := os.OpenFile(n.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s; check its permissions: %w", n.path, err)
	}
	_, err = file.WriteAt(fmt.Appendf(nil, numbersFormat, n.id, covered), 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", n.path, err)
	}
	if created {
		return syncPath(filepath.Dir(n.path))
	}
	return nil
}

// databaseID returns the id of a database; "" if it is older than such ids.
func databaseID(conn *sqlite.Conn) (id string, err error) {
	known, err := number(conn, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'database_id'`)
	if err != nil || known == 0 {
		return "", err
	}
	err = sqlitex.ExecuteTransient(conn, `SELECT id FROM database_id`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		id = stmt.ColumnText(0)
		return nil
	}})
	return id, err
}

func roundUp(n, multiple int64) int64 { return (n + multiple - 1) / multiple * multiple }

package sqlite

import (
	"errors"
	"fmt"
	"io"
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
	// numbersSuffix is what the name of the file adds to that of the database.
	numbersSuffix = ".numbers"
	// lastNumber selects the highest job number that was assigned.
	lastNumber = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'jobs'`
)

// numbers maintains the file of job numbers beside a database. Only the writer uses it. The
// file stays open, so that a lack of descriptors or of space keeps no job from being stored.
type numbers struct {
	file    *os.File
	id      string // of the database
	covered int64  // the file's number
}

// openNumbers opens the file of the database at path, whose connection is conn. A file that
// is new, or of another database, covers the numbers that the database has assigned.
func openNumbers(path string, conn *sqlite.Conn) (n numbers, err error) {
	if n.id, err = databaseID(conn); err != nil {
		return n, fmt.Errorf("reading the id of the database: %w", err)
	}
	if n.file, err = os.OpenFile(path+numbersSuffix, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return n, fmt.Errorf("opening %s; check its permissions: %w", path+numbersSuffix, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.file.Close())
		}
	}()
	if n.covered, err = readNumbers(n.file, n.id); err != nil || n.covered > 0 {
		return n, err
	}
	last, err := number(conn, lastNumber)
	if err != nil {
		return n, fmt.Errorf("reading the last job number: %w", err)
	}
	if err := n.write(roundUp(last+1, numbersStep)); err != nil {
		return n, err
	}
	return n, syncPath(filepath.Dir(path))
}

// readNumbers returns the number in a file; 0 if it belongs to another database than that
// with the id.
func readNumbers(file io.ReaderAt, id string) (covered int64, err error) {
	text := make([]byte, len(fmt.Sprintf(numbersFormat, "", 0)))
	n, err := file.ReadAt(text, 0)
	if err != nil && err != io.EOF {
		return 0, fmt.Errorf("reading the file of job numbers: %w", err)
	}
	var found string
	if _, err := fmt.Sscanf(string(text[:n]), "%32s %d\n", &found, &covered); err != nil || found != id {
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
	covered, err := readNumbers(n.file, n.id)
	if err != nil {
		return fault.Unreachable(err)
	}
	if covered >= number {
		n.covered = covered
		return nil
	}
	if err := n.write(roundUp(number+numbersStep/2, numbersStep)); err != nil {
		return fault.Unreachable(err)
	}
	return nil
}

func (n *numbers) write(covered int64) error {
	_, err := n.file.WriteAt(fmt.Appendf(nil, numbersFormat, n.id, covered), 0)
	if err == nil {
		err = n.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", n.file.Name(), err)
	}
	n.covered = covered
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

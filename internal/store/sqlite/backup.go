package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// backupPages is how many pages are copied between checks of the context:
// 16 MiB of the usual 4 KiB pages.
const backupPages = 4096

// BackupResult describes a backup.
type BackupResult struct {
	Bytes int64 // size of the file
	At    time.Time
}

// RestoreResult describes a restored database.
type RestoreResult struct {
	Bytes int64 // size of the file
	At    time.Time
	// LastJob is the highest job number that the backup had assigned, NextJob the
	// number of the next new job.
	LastJob, NextJob int64
	Skipped          Skipped
}

// Backup copies the database at path, which may be in use, to a new file that
// only its owner can read. The copy is a consistent snapshot. Backup returns an
// error if to exists or path is not a punctual database.
func Backup(ctx context.Context, path, to string) (result BackupResult, err error) {
	if _, err := os.Stat(path); err != nil {
		return result, fmt.Errorf("the database %s can't be read: %w", path, err)
	}
	result.At = time.Now().UTC()
	result.Bytes, err = copyFile(ctx, path, to, func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteScript(conn, `
			DROP TABLE IF EXISTS backup;
			CREATE TABLE backup (made_at INTEGER NOT NULL) STRICT;
			INSERT INTO backup VALUES (:at);`,
			&sqlitex.ExecOptions{Named: map[string]any{":at": result.At.UnixMicro()}})
	})
	return result, err
}

// Restore creates the database at path from a backup. It returns an error if a
// database, or one of its files, exists at path or if the backup is damaged. It
// skips the job numbers that may have been assigned since the backup, so that no
// number is used twice; see [Skipped]. nextJob is the next number if the caller knows
// it, otherwise 0.
func Restore(ctx context.Context, backup, path string, nextJob int64) (result RestoreResult, err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if _, err := os.Lstat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			return result, fmt.Errorf("%s exists; stop the service and move %s, %s-wal and %s-shm away first", path+suffix, path, path,
				path)
		}
	}
	if _, err := os.Stat(backup); err != nil {
		return result, fmt.Errorf("the backup %s can't be read: %w", backup, err)
	}
	_, err = os.Lstat(path + ".lock")
	created := errors.Is(err, fs.ErrNotExist)
	lock := flock.New(path + ".lock")
	if held, err := lock.TryLock(); err != nil {
		return result, fmt.Errorf("locking %s: %w", path, err)
	} else if !held {
		return result, fmt.Errorf("a punctual serves %s; stop it first", path)
	}
	defer func() {
		if err != nil && created {
			_ = os.Remove(path + ".lock") // what is left of it does no harm
		}
		err = errors.Join(err, lock.Unlock())
	}()
	result.Bytes, err = copyFile(ctx, backup, path, func(conn *sqlite.Conn) error {
		if err := checkIntegrity(conn); err != nil {
			return err
		}
		// The mark in the lock file describes the previous database.
		if err := os.Truncate(path+".lock", 0); err != nil {
			return err
		}
		return skipNumbers(conn, path, nextJob, time.Now(), &result)
	})
	return result, err
}

// copyFile copies a database to a temporary file, calls finish on it and then
// renames it.
func copyFile(ctx context.Context, from, to string, finish func(*sqlite.Conn) error) (bytes int64, err error) {
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s exists and is not overwritten; give another path", to)
	}
	partial := to + ".partial"
	file, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s exists: another copy is being made, or one was interrupted; remove it in that case", partial)
	} else if err != nil {
		return 0, fmt.Errorf("creating %s; check the path and its permissions: %w", partial, err)
	}
	if err := file.Close(); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial)
			_ = os.Remove(partial + "-journal")
		}
	}()
	if err := copyPages(ctx, from, partial, finish); err != nil {
		return 0, err
	}
	if err := publish(partial, to); err != nil {
		return 0, err
	}
	info, err := os.Stat(to)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func copyPages(ctx context.Context, from, to string, finish func(*sqlite.Conn) error) (err error) {
	source, err := sqlite.OpenConn(from, sqlite.OpenReadOnly)
	if err != nil {
		return fmt.Errorf("opening %s; check its permissions: %w", from, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	source.SetBusyTimeout(busyTimeout)
	if err := checkOurs(source); err != nil {
		return fmt.Errorf("%s can't be copied: %w", from, err)
	}
	target, err := sqlite.OpenConn(to, sqlite.OpenReadWrite)
	if err != nil {
		return fmt.Errorf("opening %s: %w", to, err)
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	// The open transaction makes the copy a snapshot of the source.
	end := sqlitex.Transaction(source)
	err = stepPages(ctx, source, target)
	end(&err)
	if err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	// The copy must be a single file, without a write-ahead log.
	if err := sqlitex.ExecuteTransient(target, `PRAGMA journal_mode = DELETE`, nil); err != nil {
		return fmt.Errorf("finishing %s: %w", to, err)
	}
	if err := finish(target); err != nil {
		return fmt.Errorf("finishing %s: %w", to, err)
	}
	return nil
}

func stepPages(ctx context.Context, source, target *sqlite.Conn) (err error) {
	if _, err := number(source, `SELECT count(*) FROM sqlite_schema`); err != nil {
		return err
	}
	backup, err := sqlite.NewBackup(target, "main", source, "main")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backup.Close()) }()
	for more := true; more; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if more, err = backup.Step(backupPages); err != nil {
			return err
		}
	}
	return nil
}

// checkOurs returns an error if the database is not punctual's, or is of a newer
// version.
func checkOurs(conn *sqlite.Conn) error {
	id, err := number(conn, `PRAGMA application_id`)
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultNotADB {
		return errors.New("it is not a SQLite database")
	} else if err != nil {
		return err
	}
	if id != applicationID {
		return errors.New("it is not a punctual database")
	}
	schema, err := schema()
	if err != nil {
		return err
	}
	version, err := number(conn, `PRAGMA user_version`)
	if err != nil {
		return err
	}
	return knownVersion(version, schema)
}

func checkIntegrity(conn *sqlite.Conn) error {
	var found string
	err := sqlitex.ExecuteTransient(conn, `PRAGMA integrity_check(1)`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		found = stmt.ColumnText(0)
		return nil
	}})
	if err != nil {
		return err
	}
	if found != "ok" {
		return fmt.Errorf("the backup is damaged (%s); use another one", found)
	}
	return nil
}

// madeAt returns when a backup was made. A copy made by other means does not
// record it; the time of its newest job is a lower bound.
func madeAt(conn *sqlite.Conn) (time.Time, error) {
	query := `SELECT coalesce(max(inserted_at), 0) FROM jobs WHERE number = (SELECT max(number) FROM jobs)`
	marked, err := number(conn, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'backup'`)
	if err != nil {
		return time.Time{}, err
	}
	if marked > 0 {
		query = `SELECT coalesce(max(made_at), 0) FROM backup`
	}
	at, err := number(conn, query)
	return time.UnixMicro(at).UTC(), err
}

func number(conn *sqlite.Conn, query string) (n int64, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		n = stmt.ColumnInt64(0)
		return nil
	}})
	return n, err
}

// publish renames a finished file durably.
func publish(partial, to string) error {
	if err := syncPath(partial); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces a file.
	if err := os.Link(partial, to); err != nil {
		return fmt.Errorf("naming the copy %s: %w", to, err)
	}
	if err := os.Remove(partial); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

func syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
)

// checkFiles returns an error if this user can't read and write the database's
// files or directory.
func checkFiles(path string) error {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("looking for the directory of %s: %w", path, err)
	}
	for _, file := range [...]string{dir, path, path + "-wal", path + "-shm", path + ".lock", path + ".numbers"} {
		info, err := os.Stat(file)
		if err != nil {
			continue // missing, or SQLite reports the error
		}
		if sentence := unwritable(file, info); sentence != "" {
			return errors.New(sentence)
		}
	}
	return nil
}

// explain turns an error of opening a database into one that tells the operator
// what to do.
func explain(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultNotADB:
		return fmt.Errorf("the file %s is not a SQLite database, or its beginning is damaged; give another path, or restore it from a backup: %w", path, err)
	case sqlite.ResultCorrupt:
		return fmt.Errorf("the database %s is damaged; restore it from a backup, or save what can be read with the command .recover of the sqlite3 program: %w", path, err)
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm, sqlite.ResultAuth:
		return fmt.Errorf("the database %s can't be written; check that its directory and files belong to the user that punctual runs as, and that the disk is not mounted read-only: %w", path, err)
	case sqlite.ResultFull:
		return fmt.Errorf("the disk of the database %s is full; free some space and start again: %w", path, err)
	case sqlite.ResultIOErr:
		return fmt.Errorf("the disk of the database %s fails or is full; see the system's log: %w", path, err)
	}
	return err
}

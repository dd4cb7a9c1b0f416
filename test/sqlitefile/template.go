package sqlitefile

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// Template is a database that is made once and copied. The zero value is ready for use.
type Template struct {
	once sync.Once
	text []byte
	err  error
}

// Copy writes a copy of the database to path, which must not exist. The first call makes
// the database with create, which migrates a new one at the path that it gets and closes
// it again.
func (t *Template) Copy(path string, create func(path string) error) error {
	t.once.Do(func() { t.text, t.err = made(create) })
	if t.err != nil {
		return t.err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copying a database: %w", err)
	}
	if _, err = file.Write(t.text); err != nil {
		_ = file.Close() // the caller returns the other error
		return fmt.Errorf("copying a database: %w", err)
	}
	return file.Close()
}

// made returns the database that create makes.
func made(create func(path string) error) ([]byte, error) {
	dir, err := os.MkdirTemp("", "punctual-sqlitefile-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "punctual.db")
	if err := create(path); err != nil {
		return nil, fmt.Errorf("making the database to copy: %w", err)
	}
	// What has not been moved out of the log would be missing in copies.
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil, fmt.Errorf("making the database to copy: %d bytes are in its log", log.Size())
	}
	return os.ReadFile(path)
}

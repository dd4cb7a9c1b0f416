package sqlitetest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store/sqlite"
	"github.com/punctual-dev/punctual/test/sqlitefile"
)

var template sqlitefile.Template

// Open opens a new store with a clock for one test, which closes it.
func Open(t testing.TB, now func() time.Time) *sqlite.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "punctual.db")
	err := template.Copy(path, func(path string) error {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

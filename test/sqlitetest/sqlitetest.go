package sqlitetest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store/sqlite"
)

// Open opens a new store with a clock for one test, which closes it.
func Open(t testing.TB, now func() time.Time) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "punctual.db"), sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

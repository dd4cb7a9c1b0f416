package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/storetest"
	"github.com/punctual-dev/punctual/test/sqlitefile"
)

var template sqlitefile.Template

// fresh opens an empty store. The caller must close it.
func fresh(tb testing.TB, clock func() time.Time) store.Store {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "punctual.db")
	err := template.Copy(path, func(path string) error {
		s, err := Open(tb.Context(), path, Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := Open(tb.Context(), path, Options{Exclusive: true, Now: clock})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock func() time.Time) store.Store { return fresh(t, clock) })
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B, clock func() time.Time) store.Store { return fresh(b, clock) })
}

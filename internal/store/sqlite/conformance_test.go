package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/storetest"
)

// fresh opens an empty store. The caller must close it.
func fresh(tb testing.TB, clock func() time.Time) store.Store {
	tb.Helper()
	s, err := Open(tb.Context(), filepath.Join(tb.TempDir(), "punctual.db"), Options{Exclusive: true, Now: clock})
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

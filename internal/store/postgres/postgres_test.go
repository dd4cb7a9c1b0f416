package postgres_test

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/internal/store/storetest"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// migrated gives a database with all tables for one test.
func migrated(t testing.TB) string {
	t.Helper()
	return pgtest.URLFrom(t, "migrated", func(url string) error {
		s, err := postgres.Open(t.Context(), url)
		if err != nil {
			return err
		}
		return s.Close()
	})
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, _ func() time.Time) store.Store { return open(t, migrated(t)) })
}

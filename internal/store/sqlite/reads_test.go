package sqlite

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// occupy takes all connections of a class until the test ends.
func occupy(t *testing.T, s *Store, c class) {
	t.Helper()
	for range connections[c] {
		conn, err := s.pools[c].Take(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.pools[c].Put(conn) })
	}
}

// The engine and sign-in have their own connections.
func TestRead_ListsDoNotBlockOtherClasses(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "punctual.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []class{single, pages, background} {
		occupy(t, s, c)
	}
	ctx := t.Context()
	if _, err := s.MonthsOf(ctx, store.ScheduleKey{Account: 1}, 10); notFound(err) != nil {
		t.Errorf("MonthsOf waits for reads of all records: %v", err)
	}
	occupy(t, s, heavy)
	for name, read := range map[string]func() error{
		"QueuePeek": func() error { _, err := s.QueuePeek(ctx, store.QueueKey{}, time.Time{}, 10); return err },
		"QueueLoad": func() error { _, err := s.QueueLoad(ctx, []store.QueueKey{{}}); return err },
		"KeyFind":   func() error { _, err := s.KeyFind(ctx, []byte("x")); return notFound(err) },
		"SessionFind": func() error {
			_, err := s.SessionFind(ctx, []byte("x"), s.Now())
			return notFound(err)
		},
		"AccountOf": func() error { _, err := s.AccountOf(ctx, 1); return notFound(err) },
	} {
		if err := read(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRead_ListWithoutAConnectionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "punctual.db"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		occupy(t, s, heavy)
		begun := time.Now()
		_, err = s.JobList(t.Context(), job.Owner{Number: 1}, job.Query{ListQuery: job.ListQuery{Limit: 1, Order: job.Order{Field: "id"}}})
		if fault.CodeOf(err) != fault.Unavailable || time.Since(begun) != store.ReadWithin {
			t.Errorf("after %s: %v", time.Since(begun), err)
		}
		if _, err := s.JobList(t.Context(), job.Owner{Number: 1}, job.Query{ListQuery: job.ListQuery{Limit: 1}}); err != nil {
			t.Errorf("a list that is not sorted: %v", err)
		}
	})
}

func TestRead_TimesOut(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "punctual.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.readWithin = 20 * time.Millisecond
	endless := func(t *tx) error {
		return t.query(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n`, nil)
	}
	if err := s.readAs(t.Context(), heavy, endless); fault.CodeOf(err) != fault.TooMany {
		t.Errorf("an endless read: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.readAs(ctx, engine, endless); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a read that its caller ends: %v", err)
	}
}

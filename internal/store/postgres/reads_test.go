package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

func openFresh(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), pgtest.URL(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestRead_ListsDoNotBlockOtherClasses(t *testing.T) {
	s := openFresh(t)
	for _, c := range []class{pages, heavy} {
		for range connections[c] {
			conn, err := s.pools[c].Acquire(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
		}
	}
	ctx := t.Context()
	for name, read := range map[string]func() error{
		"QueuePeek": func() error { _, err := s.QueuePeek(ctx, store.QueueKey{}, time.Time{}, 10); return err },
		"KeyFind":   func() error { _, err := s.KeyFind(ctx, []byte("x")); return err },
		"AccountOf": func() error { _, err := s.AccountOf(ctx, 1); return err },
	} {
		if err := read(); err != nil && fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	late, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := s.readAs(late, heavy, query{sql: `SELECT 1`}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("a list without a free connection: %v", err)
	}
}

func TestRead_TimeoutDependsOnTheClass(t *testing.T) {
	s := openFresh(t)
	for c, want := range map[class]fault.Code{pages: fault.TooMany, heavy: fault.TooMany, engine: fault.Unavailable} {
		err := s.readAs(t.Context(), c,
			query{sql: `SELECT set_config('statement_timeout', '20ms', true)`},
			query{sql: `SELECT pg_sleep(60)`, row: func(pgx.Rows) error { return nil }})
		if fault.CodeOf(err) != want {
			t.Errorf("class %d: %v", c, err)
		}
	}
}

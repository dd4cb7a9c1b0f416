package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/postgres"
	"github.com/punctual-dev/punctual/internal/store/storetest"
	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// migrated returns the URL of a database with all tables for one test.
func migrated(t testing.TB) string {
	t.Helper()
	return pgtest.URLFrom(t, "migrated", func(url string) error {
		s, err := postgres.Open(t.Context(), url, postgres.Options{})
		if err != nil {
			return err
		}
		return s.Close()
	})
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return openWith(t, url, postgres.Options{})
}

// openWith opens a store for a slow machine.
func openWith(t testing.TB, url string, options postgres.Options) *postgres.Store {
	t.Helper()
	options.WriteWithin, options.AnswerWithin = pace.Guard(0), pace.Limit(time.Second)
	s, err := postgres.Open(t.Context(), url, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T, _ func() time.Time) store.Store { return open(t, migrated(t)) })
}

// empty returns the URL of a database without tables for one test.
func empty(t testing.TB) string { return pgtest.URL(t) }

func TestOpen_RefusesANewerDatabase(t *testing.T) {
	url := migrated(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `UPDATE schema_version SET version = 99`); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close(t.Context())
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatal("a database of a newer version was opened")
	}
	if !strings.Contains(err.Error(), "newer punctual") {
		t.Errorf("the error reads %q", err)
	}
}

func tryOpen(ctx context.Context, url string) error {
	s, err := postgres.Open(ctx, url, postgres.Options{})
	if err == nil {
		_ = s.Close()
	}
	return err
}

func BenchmarkStore(b *testing.B) {
	server, databases := pgtest.Start(b, pgtest.Durable), 0
	storetest.Benchmark(b, func(b *testing.B, _ func() time.Time) store.Store {
		databases++
		name := fmt.Sprintf("bench_%d", databases)
		if err := server.Exec(`CREATE DATABASE ` + name); err != nil {
			b.Fatal(err)
		}
		return open(b, server.URL(name))
	})
}

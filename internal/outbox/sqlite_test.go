package outbox

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestTakeSQLite_BoundsBytes(t *testing.T) {
	t.Parallel()
	url, db := databases["sqlite"](t)
	defer func() { _ = db.Close() }()
	execute(t, db, sqliteSchema)
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.db.Close() }()
	job := `{"body":"` + strings.Repeat("x", 1<<20-11) + `"}`
	insert(t, db, job, job, job, job, job, job, job, job, job)
	for _, want := range []int{maxBytes / len(job), 9 - maxBytes/len(job), 0} {
		rows, err := s.turn(t.Context(), &turn{note: strings.Repeat("n", 1+want), want: maxRows})
		if err != nil || len(rows) != want {
			t.Fatalf("the turn took %d rows, %v; want %d", len(rows), err, want)
		}
		if _, err := s.turn(t.Context(), &turn{answered: rows}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockSQLite_WaitsForWriters: a turn begins while the application writes, and sees
// what was committed meanwhile.
func TestLockSQLite_WaitsForWriters(t *testing.T) {
	t.Parallel()
	url, db := databases["sqlite"](t)
	defer func() { _ = db.Close() }()
	execute(t, db, sqliteSchema)
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.db.Close() }()
	writer, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	insert(t, writer, `{"n":1}`)
	committed := make(chan error, 1)
	var once sync.Once
	// The lock is tried once more after the commit, however long that takes. After a long
	// one the transaction is tried again.
	lock := sqliteDialect.lock
	own := *s.dialect
	s.dialect = &own
	own.lock = func(ctx context.Context, tx *sql.Tx) error {
		once.Do(func() { go func() { committed <- writer.Commit() }() })
		return lock(ctx, tx)
	}
	rows, err := s.turn(t.Context(), &turn{note: "n", want: 10})
	if err != nil || len(rows) != 1 {
		t.Errorf("the turn took %d rows, %v", len(rows), err)
	}
	if err := <-committed; err != nil {
		t.Error(err)
	}
	var timeout int
	if err := s.db.QueryRow(`PRAGMA busy_timeout`).Scan(&timeout); err != nil || timeout != 5000 {
		t.Errorf("what comes next waits %d ms for others, %v", timeout, err)
	}
}

// TestLockSQLite_RestoresItsConnection: what uses the connection of a transaction that
// failed waits for other writers, whatever ended it.
func TestLockSQLite_RestoresItsConnection(t *testing.T) {
	t.Parallel()
	url, db := databases["sqlite"](t)
	defer func() { _ = db.Close() }()
	execute(t, db, sqliteSchema)
	writer, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writer.Rollback() }()
	insert(t, writer, `{"n":1}`)
	for name, end := range map[string]func(cancel func()) error{
		"the lock is not free": func(func()) error { return errors.New("not free") },
		"the context ends":     func(cancel func()) error { cancel(); return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open(url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.db.Close() }()
			s.db.SetMaxOpenConns(1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			own := *s.dialect
			s.dialect = &own
			own.lock = func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
					return err
				}
				return end(cancel)
			}
			if _, err := s.turn(ctx, &turn{note: "n", want: 10}); err == nil {
				t.Fatal("the turn succeeded")
			}
			var timeout int
			if err := s.db.QueryRow(`PRAGMA busy_timeout`).Scan(&timeout); err != nil || timeout != 5000 {
				t.Errorf("what comes next waits %d ms for others, %v", timeout, err)
			}
		})
	}
}

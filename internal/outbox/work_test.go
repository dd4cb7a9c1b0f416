package outbox

import (
	"context"
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestTake_ReadsWhatABatchHas counts the pages that PostgreSQL reads for a batch beside
// rows that were deleted, which an old transaction keeps. A vacuum found few others, so the
// planner expects few rows: it would read and sort all that wait, or visit all that were
// deleted.
func TestTake_ReadsWhatABatchHas(t *testing.T) {
	t.Parallel()
	// All rows that wait have more than 100 pages.
	const rows, few, batch, most = 10_000, 30, 100, 50
	url := pgtest.URL(t)
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.db.SetMaxIdleConns(0) // a new connection has read nothing
	s.abandoned = pace.Guard(s.abandoned)
	schema, err := Schema("postgres")
	if err != nil {
		t.Fatal(err)
	}
	// Autovacuum would decide by itself when the planner learns what.
	execute(t, s.db, schema, `ALTER TABLE punctual_outbox SET (autovacuum_enabled = false)`)

	old, err := s.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Rollback() }()
	if _, err := old.Exec(`SELECT 1 FROM punctual_outbox`); err != nil {
		t.Fatal(err)
	}
	enqueue := `INSERT INTO punctual_outbox (job) SELECT '{"url": "https://x"}' FROM generate_series(1, $1)`
	if _, err := s.db.Exec(enqueue, rows); err != nil {
		t.Fatal(err)
	}
	for left := rows; left > 0; {
		_, got := take(t, s, maxRows)
		left -= len(got)
		if _, err := s.turn(t.Context(), &turn{answered: got}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.Exec(enqueue, few); err != nil {
		t.Fatal(err)
	}
	execute(t, s.db, `VACUUM ANALYZE punctual_outbox`)
	if _, err := s.db.Exec(enqueue, rows); err != nil {
		t.Fatal(err)
	}
	// What was committed since the batch before is visited once.
	take(t, s, batch)
	for range 2 {
		if pages, got := take(t, s, batch); len(got) != batch || pages > most {
			t.Errorf("took %d rows and read %d pages, want %d and at most %d", len(got), pages, batch, most)
		}
	}
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%.60s: %v", statement, err)
		}
	}
}

// take takes a batch, and returns how many pages of the table and its indexes were read.
func take(t *testing.T, s *source, want int) (pages int, taken []row) {
	t.Helper()
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(driver any) (err error) {
		c := driver.(*stdlib.Conn).Conn()
		if taken, err = s.settleAndTake(t.Context(), c, &turn{want: want}); err != nil {
			return err
		}
		if pages, err = pagesRead(t.Context(), c); err != nil {
			return err
		}
		_, err = c.Exec(t.Context(), `COMMIT`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, taken
}

// pagesRead returns how many pages a new connection has read.
func pagesRead(ctx context.Context, c *pgx.Conn) (pages int, err error) {
	err = c.QueryRow(ctx, `SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid)) FROM pg_class c
		WHERE c.oid = 'punctual_outbox'::regclass OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = 'punctual_outbox'::regclass)`).Scan(&pages)
	return pages, err
}

package outbox

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestTake_KeepsItsPlanAsTheTableGrows: the queries are planned while the table is empty,
// then many rows wait, then few, each before and after the planner learns of it. A batch is
// always found by indexes.
func TestTake_KeepsItsPlanAsTheTableGrows(t *testing.T) {
	t.Parallel()
	const rows, batch, most = 20_000, 100, 60
	url, db := onPostgres(t)
	s := newSource(t, url)
	execute(t, db, `ALTER TABLE punctual_outbox SET (autovacuum_enabled = false)`)
	insertRows := func(n int) {
		t.Helper()
		execute(t, db, fmt.Sprintf(`INSERT INTO punctual_outbox (job) SELECT '{"url": "https://x"}' FROM generate_series(1, %d)`, n))
	}
	check := func(when string, want int) {
		t.Helper()
		// What was committed since the batch before is visited once.
		takePrepared(t, s, batch)
		for range 2 {
			if scans, pages, got := takePrepared(t, s, batch); scans > 0 || pages > most || got != want {
				t.Errorf("%s: took %d rows with %d sequential scans and %d pages; want %d with none and at most %d", when, got, scans, pages,
					want, most)
			}
		}
	}
	check("no rows", 0)
	insertRows(rows)
	check("many rows", batch)
	execute(t, db, `ANALYZE punctual_outbox`)
	check("many rows, analysed", batch)
	execute(t, db, `DELETE FROM punctual_outbox`, `VACUUM ANALYZE punctual_outbox`)
	check("no rows again", 0)
	insertRows(rows)
	check("many rows, analysed while there were none", batch)
	if s.unprepared {
		t.Error("the queries are not prepared")
	}
}

// newSource returns a source with one connection.
func newSource(t *testing.T, url string) *source {
	t.Helper()
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.db.SetMaxOpenConns(1)
	s.abandoned = pace.Guard(s.abandoned)
	return s
}

// takePrepared takes a batch on the connection of the batches before. It returns how often
// the table was scanned, how many of its pages were read, and how many rows were taken.
func takePrepared(t *testing.T, s *source, want int) (scans, pages, taken int) {
	t.Helper()
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(driver any) error {
		c := driver.(*stdlib.Conn).Conn()
		scansBefore, pagesBefore, err := visited(t, c)
		if err != nil {
			return err
		}
		rows, err := s.settleAndTake(t.Context(), c, &turn{want: want})
		if err != nil {
			return err
		}
		taken = len(rows)
		if scans, pages, err = visited(t, c); err != nil {
			return err
		}
		scans, pages = scans-scansBefore, pages-pagesBefore
		_, err = c.Exec(t.Context(), `COMMIT`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return scans, pages, taken
}

// visited returns how often a connection has scanned the table, and how many pages it has
// read, since it has last told the others.
func visited(t *testing.T, c *pgx.Conn) (scans, pages int, err error) {
	if err = c.QueryRow(t.Context(), `SELECT pg_stat_get_xact_numscans('punctual_outbox'::regclass)`).Scan(&scans); err != nil {
		return 0, 0, err
	}
	pages, err = pagesRead(t.Context(), c)
	return scans, pages, err
}

// TestTurn_SurvivesTheLossOfItsStatements between two turns: rows are neither lost nor sent
// again.
func TestTurn_SurvivesTheLossOfItsStatements(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose       string // on the connection of the relay
		unprepared bool   // afterwards
	}{
		"reset":      {`DISCARD ALL`, true},
		"connection": {`SELECT pg_terminate_backend(pg_backend_pid())`, false},
		"other type": {`ALTER TABLE punctual_outbox ALTER COLUMN seq TYPE int`, true},
		"other plan": {`ALTER TABLE punctual_outbox ADD COLUMN more text, DROP CONSTRAINT punctual_outbox_pkey`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := onPostgres(t)
			s := newRecorder(t)
			r := newRelay(t, url, s.URL)
			r.source.db.SetMaxOpenConns(1)
			run(t, r)
			var want []string
			send := func() {
				t.Helper()
				for range 2 * minRows {
					want = append(want, fmt.Sprintf(`{"n":%d}`, len(want)))
				}
				insert(t, db, want[len(want)-2*minRows:]...)
				eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
			}
			send()
			_, err := r.source.db.ExecContext(t.Context(), test.lose)
			if err != nil && name != "connection" {
				t.Fatal(err)
			}
			send()
			send()
			if got := s.stored(); !slices.Equal(got, want) || s.repeated() > 0 {
				t.Errorf("%d rows again; arrived: %s", s.repeated(), strings.Join(got, " "))
			}
			r.turning.Lock()
			defer r.turning.Unlock()
			if got := r.source.unprepared; got != test.unprepared {
				t.Errorf("unprepared: %v, want %v", got, test.unprepared)
			}
		})
	}
}

// TestTurn_SurvivesTheLossOnSeveralConnections: as many have statements as a turn has tries.
func TestTurn_SurvivesTheLossOnSeveralConnections(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	s := newSource(t, url)
	const connections = 3
	s.db.SetMaxOpenConns(connections)
	s.db.SetMaxIdleConns(connections)
	var held []*sql.Conn
	for range connections {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		err = conn.Raw(func(driver any) error { return s.prepare(t.Context(), driver.(*stdlib.Conn).Conn()) })
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, conn := range held {
		if err := conn.Close(); err != nil { // returns it to the pool
			t.Fatal(err)
		}
	}
	insert(t, db, `{"n":1}`)
	execute(t, db, `ALTER TABLE punctual_outbox ALTER COLUMN seq TYPE int`)
	rows, err := s.turn(t.Context(), &turn{note: "a", want: 10})
	if err != nil || len(rows) != 1 || !s.unprepared {
		t.Errorf("took %d rows, %v, unprepared: %v; want 1", len(rows), err, s.unprepared)
	}
}

// TestTurn_WorksBehindAPooler that has another server process run the next turn, which has
// no statements.
func TestTurn_WorksBehindAPooler(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	pooled := pgtest.StartBouncer(t, url).Through(url)
	s := newSource(t, pooled)
	takes := func(of turn, want ...string) []row {
		t.Helper()
		rows, err := s.turn(t.Context(), &of)
		var got []string
		for i := range rows {
			got = append(got, string(rows[i].job))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("took %s, %v; want %s", got, err, want)
		}
		return rows
	}
	insert(t, db, `{"n":1}`)
	first := takes(turn{note: "a", want: 10}, `{"n":1}`)
	if s.unprepared {
		t.Error("not prepared although one process serves all")
	}
	other := newSource(t, pooled)
	tx, err := other.db.Begin() // has the process with the statements
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	insert(t, tx, `{"late":1}`)
	insert(t, db, `{"n":2}`)
	second := takes(turn{answered: first, ended: []string{"a"}, note: "b", want: 10}, `{"n":2}`)
	if !s.unprepared {
		t.Error("still prepared although processes change")
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	insert(t, db, `{"n":3}`)
	third := takes(turn{answered: second, ended: []string{"b"}, note: "c", want: 10}, `{"late":1}`, `{"n":3}`)
	takes(turn{answered: third, ended: []string{"c"}})
	if n := count(t, db, waiting) + notes(t, db); n > 0 {
		t.Errorf("%d rows and notes are left", n)
	}
}

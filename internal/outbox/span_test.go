package outbox

import (
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTake_KeepsTheOrderOfALongTransaction: between its first row and its last one, many
// others were inserted and taken.
func TestTake_KeepsTheOrderOfALongTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		if strings.HasPrefix(url, "sqlite") {
			t.Skip("SQLite has one transaction that writes at a time")
		}
		takesInOrder(t, url, db, 2*maxRows, time.Time{})
	})
}

// TestTake_KeepsTheOrderAfterASlowRead, as long as few other rows come between the first row
// of a transaction and its commit.
func TestTake_KeepsTheOrderAfterASlowRead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		if !strings.HasPrefix(url, "mysql") {
			t.Skip("no other reads less after a slow read")
		}
		takesInOrder(t, url, db, recent/2, time.Now().Add(time.Hour))
	})
}

// takesInOrder has others inserted and taken between the rows of a transaction, then takes
// these.
func takesInOrder(t *testing.T, url string, db *sql.DB, others int, spared time.Time) {
	t.Helper()
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	long, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Rollback() }() // without effect after the commit
	insert(t, long, `{"long":0}`)
	for n := others; n > 0; n -= maxRows {
		if _, err := db.Exec(`INSERT INTO punctual_outbox (job) VALUES ('{}')` + strings.Repeat(`, ('{}')`, min(n, maxRows)-1)); err != nil {
			t.Fatal(err)
		}
	}
	insert(t, long, `{"long":1}`)
	var before []row
	for taken := 0; taken < others; taken += len(before) {
		settles := &turn{answered: before, note: "a" + fmt.Sprint(taken), want: maxRows}
		if before, err = s.turn(t.Context(), settles); err != nil || len(before) == 0 {
			t.Fatal(len(before), err)
		}
	}
	s.sweep = time.Now().Add(time.Hour) // reading all rows would find them in their order
	s.spared = spared                   // whatever a busy machine has made of it
	if err := long.Commit(); err != nil {
		t.Fatal(err)
	}
	insert(t, db, `{"n":1}`)
	got, err := s.turn(t.Context(), &turn{answered: before, note: "b", want: maxRows})
	if err != nil || len(got) != 3 || string(got[0].job) != `{"long":0}` || string(got[1].job) != `{"long":1}` {
		t.Errorf("%d rows were taken after the commit, %v; want those of the transaction in their order, and another", len(got), err)
	}
}

func TestNear(t *testing.T) {
	t.Parallel()
	const far = 5 * recent
	last := span{far + 1, math.MaxInt64}
	for name, test := range map[string]struct{ spans, want []span }{
		"only the last": {[]span{last}, []span{last}},
		"ends too far":  {[]span{{1, 9}, {20, far - recent}, last}, []span{last}},
		"ends near":     {[]span{{20, 20}, {far - 9, far - 8}, {far - 3, far - 3}, last}, []span{{far - 9, far - 8}, {far - 3, far - 3}, last}},
		"begins far":    {[]span{{1, far - 5}, last}, []span{{far - recent + 1, far - 5}, last}},
		"at the start":  {[]span{{1, 3}, {8, math.MaxInt64}}, []span{{1, 3}, {8, math.MaxInt64}}},
	} {
		given := slices.Clone(test.spans)
		if got := near(given); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
		if !slices.Equal(given, test.spans) {
			t.Errorf("%s: changes the spans to %v", name, given)
		}
	}
}

// TestWithout compares spans with the numbers that are in them.
func TestWithout(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for range 200 {
		most := 1 + random.Int64N(400)
		spans, unseen, merges := []span{{1, most}}, map[int64]bool{}, false
		for n := range most {
			unseen[n+1] = true
		}
		for range 10 {
			var rows []row
			for n := range most {
				if random.IntN(8) == 0 {
					rows = append(rows, row{seq: n + 1})
					delete(unseen, n+1)
				}
			}
			var merged bool
			spans, merged = without(spans, rows)
			merges = merges || merged
		}
		last, in := int64(0), map[int64]bool{}
		for _, s := range spans {
			if s.from <= last || s.to < s.from {
				t.Fatalf("%v isn't in order", spans)
			}
			for last = s.from; last <= s.to; last++ {
				in[last] = true
			}
			last = s.to
		}
		for n := range unseen {
			if !in[n] {
				t.Fatalf("%d is missing in %v", n, spans)
			}
		}
		if len(spans) > maxSpans || !merges && len(in) != len(unseen) {
			t.Fatalf("%d spans have %d numbers, want %d", len(spans), len(in), len(unseen))
		}
	}
}

// TestTake_FitsLargeRows among small ones, in their order and unchanged.
func TestTake_FitsLargeRows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		s := newSource(t, url)
		var want []string
		for n := range 60 {
			size := []int{0, 100, share, share + 1, 400_000, 1<<20 - 100}[random.IntN(6)]
			want = append(want, fmt.Sprintf(`{"n":%d,"text":"%s"}`, n, strings.Repeat("ä", size/2)))
		}
		insert(t, db, want...)
		var before []row
		batches := 0
		for got := 0; got < len(want); batches++ {
			rows, err := s.turn(t.Context(), &turn{answered: before, note: fmt.Sprint(batches), want: 40})
			if err != nil || len(rows) == 0 || sizeOf(rows) > maxBytes {
				t.Fatalf("took %d rows of %d bytes after %d, %v", len(rows), sizeOf(rows), got, err)
			}
			for i := range rows {
				if string(rows[i].job) != want[got] {
					t.Fatalf("took %.60s…, want %.60s…", rows[i].job, want[got])
				}
				got++
			}
			before = rows
		}
	})
}

// TestTake_CopiesNoJobs to a temporary table, which cost MariaDB half of its CPU.
func TestTake_CopiesNoJobs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		if !strings.HasPrefix(url, "mysql") {
			t.Skip("MySQL writes temporary tables with texts to the disk")
		}
		insert(t, db, `{}`, `{"text":"`+strings.Repeat("x", 2*share)+`"}`)
		s := newSource(t, url)
		err := s.within(t.Context(), func(tx *sql.Tx) error {
			rows, err := s.take(t.Context(), tx, s, &turn{want: maxRows})
			if err != nil || len(rows) != 2 {
				t.Errorf("took %d rows, %v", len(rows), err)
			}
			var name string
			var tables int
			if err := tx.QueryRow(`SHOW SESSION STATUS LIKE 'Created_tmp_disk_tables'`).Scan(&name, &tables); err != nil || tables != 0 {
				t.Errorf("%d temporary tables, %v", tables, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

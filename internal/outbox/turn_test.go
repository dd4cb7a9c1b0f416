package outbox

import (
	"database/sql"
	"log/slog"
	"slices"
	"testing"
	"time"
)

// lost does a turn whose commit is done and whose response does not arrive.
func lost(t *testing.T, s *source, of turn) {
	t.Helper()
	before := s.position
	if _, err := s.turn(t.Context(), &of); err != nil {
		t.Fatal(err)
	}
	s.position = before
}

// TestTurn_RepeatsWhatWasCommittedUnknown: the connection is lost while a turn is committed,
// so it is repeated although it was. All rows are taken once more, as none was sent.
func TestTurn_RepeatsWhatWasCommittedUnknown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		r, err := New(Config{Source: url, Service: "http://127.0.0.1", Key: "sk_x", Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.source.db.Close() }()
		r.renewedAt = time.Now().Add(time.Hour) // it leads for as long as the test takes
		repeated := func(of turn, want ...int64) []row {
			t.Helper()
			lost(t, r.source, of)
			rows, ok := r.turn(t.Context(), &of)
			var got []int64
			for i := range rows {
				got = append(got, rows[i].seq)
			}
			if !ok || !slices.Equal(got, want) {
				t.Fatalf("the repeated turn took the rows %d, %v; want %d", got, ok, want)
			}
			return rows
		}
		noted := func(want ...string) {
			t.Helper()
			notes, _, err := r.source.notes(t.Context())
			var got []string
			for i := range notes {
				got = append(got, notes[i].id)
			}
			if slices.Sort(got); err != nil || !slices.Equal(got, want) {
				t.Errorf("the notes are %q, %v; want %q", got, err, want)
			}
		}
		insert(t, db, `{"n":1}`, `{"n":2}`, `{"n":3}`)
		first := repeated(turn{note: "a", want: 2}, 1, 2)
		noted("a")
		insert(t, db, `{"n":4}`)
		second := repeated(turn{answered: first[:1], failed: []failure{{first[1], `{}`}}, ended: []string{"a"}, note: "b", want: 10}, 3, 4)
		noted("b")
		if n := count(t, db, `SELECT count(*) FROM punctual_outbox_failed`); n != 1 {
			t.Errorf("%d rows failed, want 1", n)
		}
		repeated(turn{ended: []string{"b"}})
		noted()
		repeated(turn{note: "c", keep: second}, 3, 4)
		noted("c")
		repeated(turn{answered: second, ended: []string{"c"}, note: "d", want: 10})
		noted()
		if n := count(t, db, waiting); n != 0 {
			t.Errorf("%d rows wait, want none", n)
		}
		insert(t, db, `{"n":5}`)
		repeated(turn{note: "e", want: 10}, 5)
		noted("e")
	})
}

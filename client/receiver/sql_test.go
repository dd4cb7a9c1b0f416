package receiver

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// onEach runs a test on both databases, with the store's table and a table effects.
func onEach(t *testing.T, test func(t *testing.T, db *sql.DB, store SQLStore)) {
	for name, x := range map[string]struct {
		store SQLStore
		open  func() (*sql.DB, error)
	}{
		"sqlite": {SQLite, func() (*sql.DB, error) {
			return sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "r.db")+
				"?_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_txlock=immediate")
		}},
		"postgresql": {PostgreSQL, func() (*sql.DB, error) { return sql.Open("pgx", pgtest.URL(t)) }},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := x.open()
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for range 2 { // Create may be called at each start
				if err := x.store.Create(t.Context(), db); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (id TEXT NOT NULL)"); err != nil {
				t.Fatal(err)
			}
			test(t, db, x.store)
		})
	}
}

// effect records that a message was handled.
func effect(r *http.Request, tx *sql.Tx) error {
	_, err := tx.ExecContext(r.Context(), "INSERT INTO effects (id) VALUES ('"+Message(r.Context()).ID+"')")
	return err
}

func effects(t *testing.T, db *sql.DB) (count int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM effects").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

func TestNewSQL_CommitsEachMessageOnce(t *testing.T) {
	onEach(t, func(t *testing.T, db *sql.DB, store SQLStore) {
		h, err := NewSQL(db, store, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"$set": {"n": 1}}`)
			return effect(r, tx)
		}, Options{Verifier: verifier(t), Failed: func(_ *http.Request, err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w := serve(h, message(t, "job_a", "{}"))
			if w.Code != 200 || w.Body.String() != `{"$set": {"n": 1}}` || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("answered %d %s %v", w.Code, w.Body, w.Header())
			}
		}
		var wait sync.WaitGroup
		for i := range 12 {
			r := message(t, fmt.Sprint("job_", i%3), "{}")
			wait.Go(func() {
				if w := serve(h, r); w.Code != 200 {
					t.Errorf("a concurrent message is answered with %d", w.Code)
				}
			})
		}
		wait.Wait()
		if got := effects(t, db); got != 4 {
			t.Errorf("%d effects, want 4", got)
		}
	})
}

func TestNewSQL_RollsBackFailures(t *testing.T) {
	onEach(t, func(t *testing.T, db *sql.DB, store SQLStore) {
		calls, failures := 0, 0
		h, err := NewSQL(db, store, func(w http.ResponseWriter, r *http.Request, tx *sql.Tx) error {
			if err := effect(r, tx); err != nil {
				return err
			}
			switch calls++; calls {
			case 1:
				http.Error(w, "not now", http.StatusConflict)
			case 2:
				return errors.New("failed")
			case 3:
				_, _ = w.Write(make([]byte, 11))
			case 4:
				panic(http.ErrAbortHandler)
			default:
				w.WriteHeader(http.StatusNoContent)
			}
			return nil
		}, Options{Verifier: verifier(t), MaxResponse: 10, Failed: func(*http.Request, error) { failures++ }})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{409, 503, 503, -1, 204, 204} {
			func() {
				defer func() {
					if recover() != nil && want != -1 {
						t.Errorf("a panic, want %d", want)
					}
				}()
				if w := serve(h, message(t, "job_a", "{}")); w.Code != want {
					t.Errorf("answered %d, want %d", w.Code, want)
				}
			}()
		}
		if got := effects(t, db); got != 1 || calls != 5 || failures != 2 {
			t.Errorf("%d effects, %d calls, %d failures; want 1, 5, 2", got, calls, failures)
		}
	})
}

func TestNewSQL_ForgetsOldMessages(t *testing.T) {
	onEach(t, func(t *testing.T, db *sql.DB, store SQLStore) {
		now := time.Now()
		h, err := NewSQL(db, store, func(_ http.ResponseWriter, r *http.Request, tx *sql.Tx) error { return effect(r, tx) },
			Options{Verifier: verifier(t), Remember: time.Hour, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []time.Duration{0, 59 * time.Minute, 11 * time.Minute} {
			now = now.Add(step)
			if w := serve(h, message(t, "job_a", "{}")); w.Code != 200 {
				t.Errorf("answered %d", w.Code)
			}
		}
		if got := effects(t, db); got != 2 {
			t.Errorf("%d effects, want 2", got)
		}
	})
}

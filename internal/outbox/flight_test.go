package outbox

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onPostgres returns an empty outbox in PostgreSQL.
func onPostgres(t *testing.T) (url string, db *sql.DB) {
	t.Helper()
	url, db = databases["postgres"](t)
	t.Cleanup(func() { _ = db.Close() })
	execute(t, db, postgresSchema)
	return url, db
}

// notes counts the batches that are noted as sent, without the standing note.
func notes(t *testing.T, db *sql.DB) int {
	t.Helper()
	return count(t, db, `SELECT count(*) FROM punctual_outbox_relay WHERE id <> 'lease' AND ids NOT LIKE '* %'`)
}

// several is more rows than the first batch may have.
const several = 5 * minRows

func insertSeveral(t *testing.T, db *sql.DB) (jobs string) {
	t.Helper()
	var all []string
	for i := range several {
		all = append(all, fmt.Sprintf(`{"n":%d}`, i))
	}
	insert(t, db, all...)
	return strings.Join(all, " ")
}

// TestRelay_TakesABatchWhileOneIsSent and sends it afterwards.
func TestRelay_TakesABatchWhileOneIsSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		want := insertSeveral(t, db)
		s := newRecorder(t)
		var calls, most atomic.Int32
		both := make(chan struct{})
		answer := sync.OnceFunc(func() { close(both) })
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n := calls.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer calls.Add(-1)
			<-both
			s.ServeHTTP(w, r)
		}))
		t.Cleanup(service.Close)
		t.Cleanup(answer)
		r := newRelay(t, url, service.URL)
		r.notedFor = time.Hour
		run(t, r)
		eventually(t, "two batches are noted", func() bool { return notes(t, db) == 2 })
		answer()
		eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 && notes(t, db) == 0 })
		if got := strings.Join(s.stored(), " "); got != want || s.repeated() > 0 || most.Load() > 1 {
			t.Errorf("%d calls at once, %d rows again; arrived: %s", most.Load(), s.repeated(), got)
		}
	})
}

// TestRelay_TakesBackTheNoteOfABatchThatWaits: the service becomes unavailable, or a call
// takes long, while the next batch waits.
func TestRelay_TakesBackTheNoteOfABatchThatWaits(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]bool{"unavailable": true, "slow": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := onPostgres(t)
			want := insertSeveral(t, db)
			s := newRecorder(t)
			var well atomic.Bool
			first, ready := make(chan struct{}), make(chan struct{})
			var refused atomic.Int32
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch n := refused.Add(1); {
				case n == 1:
					close(first)
					<-ready
				}
				if refuse && !well.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				s.ServeHTTP(w, r)
			}))
			t.Cleanup(service.Close)
			r := newRelay(t, url, service.URL)
			if r.notedFor = time.Hour; !refuse {
				r.notedFor = time.Millisecond
			}
			run(t, r)
			<-first
			if refuse {
				eventually(t, "two batches are noted", func() bool { return notes(t, db) == 2 })
				close(ready)
			}
			// Both batches are taken, and one of them isn't noted.
			eventually(t, "one batch is noted", func() bool {
				r.turning.Lock()
				defer r.turning.Unlock()
				return r.source.seq > minRows && notes(t, db) == 1
			})
			well.Store(true)
			if !refuse {
				close(ready)
			}
			eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 && notes(t, db) == 0 })
			if got := strings.Join(s.stored(), " "); got != want || s.again > 0 {
				t.Errorf("%d rows again; arrived: %s", s.again, got)
			}
		})
	}
}

// TestRelay_SettlesABatchWhileTheNextIsHeld: what was answered is settled although the
// service becomes unavailable for the batch after it.
func TestRelay_SettlesABatchWhileTheNextIsHeld(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	const rest = 5 // so that no further batch is taken
	jobs := []string{`{"poison":1}`}
	for i := range minRows - 1 + rest {
		jobs = append(jobs, fmt.Sprintf(`{"n":%d}`, i))
	}
	insert(t, db, jobs...)
	s := newRecorder(t)
	var calls atomic.Int32
	var well atomic.Bool
	ready := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 1 {
			<-ready
		} else if !well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	r := newRelay(t, url, service.URL)
	r.notedFor = time.Hour
	run(t, r)
	eventually(t, "two batches are noted", func() bool { return notes(t, db) == 2 })
	close(ready)
	eventually(t, "the first batch is settled", func() bool { return count(t, db, waiting) == rest && notes(t, db) == 1 })
	if n := count(t, db, `SELECT count(*) FROM punctual_outbox_failed`); n != 1 {
		t.Errorf("%d rows have failed, want 1", n)
	}
	well.Store(true)
	eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 && notes(t, db) == 0 })
	if got := strings.Join(s.stored(), " "); got != strings.Join(jobs[1:], " ") || s.again > 0 {
		t.Errorf("%d rows again; arrived: %s", s.again, got)
	}
}

// TestRelay_StopsWhileABatchWaits: it was not sent, so it is not noted.
func TestRelay_StopsWhileABatchWaits(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	insertSeveral(t, db)
	ended := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	t.Cleanup(service.Close)
	t.Cleanup(func() { close(ended) })
	r := newRelay(t, url, service.URL)
	r.notedFor = time.Hour
	stop := run(t, r)
	eventually(t, "two batches are noted", func() bool { return notes(t, db) == 2 })
	stop()
	var ids string
	if err := db.QueryRow(`SELECT string_agg(ids, ' ') FROM punctual_outbox_relay WHERE id <> 'lease'`).Scan(&ids); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(ids)); n != minRows || count(t, db, waiting) != several {
		t.Errorf("%d rows are noted, want the %d that were sent", n, minRows)
	}
}

// TestRelay_TakesManyLateRowsOnce: the position stays until all of them are taken.
func TestRelay_TakesManyLateRowsOnce(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	s := newRecorder(t)
	relaying(t, url, s)
	late, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Rollback() }() // without effect after the commit
	const rows = 3 * maxRows
	if _, err := late.Exec(`INSERT INTO punctual_outbox (job) SELECT ('{"late":' || n || '}')::json FROM generate_series(1, $1) n`, rows); err != nil {
		t.Fatal(err)
	}
	insert(t, db, `{"n":1}`)
	eventually(t, "the first row is sent", func() bool { return len(s.stored()) == 1 })
	if err := late.Commit(); err != nil {
		t.Fatal(err)
	}
	insert(t, db, `{"n":2}`)
	eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
	got := s.stored()
	for i := range rows {
		if want := fmt.Sprintf(`{"late":%d}`, i+1); got[i+1] != want {
			t.Fatalf("row %d is %s, want %s", i+1, got[i+1], want)
		}
	}
	if len(got) != rows+2 || s.again > 0 {
		t.Errorf("%d rows arrived, %d of them again", len(got), s.again)
	}
}

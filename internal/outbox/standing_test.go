package outbox

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/punctual-dev/punctual/test/pgtest"
)

const (
	standingNotes = `SELECT count(*) FROM punctual_outbox_relay WHERE ids LIKE '* %'`
	failedRows    = `SELECT count(*) FROM punctual_outbox_failed`
)

// TestTurn_SyncsNoLightOne: only a light turn leaves the sync to the database.
func TestTurn_SyncsNoLightOne(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	insert(t, db, `{"n":1}`)
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	for light, want := range map[bool]string{true: "off", false: "on"} {
		conn, err := s.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got string
		err = conn.Raw(func(driver any) error {
			c := driver.(*stdlib.Conn).Conn()
			if _, err := s.settleAndTake(t.Context(), c, &turn{want: 1, light: light}); err != nil {
				return err
			}
			if err := c.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&got); err != nil {
				return err
			}
			_, err := c.Exec(t.Context(), `ROLLBACK`)
			return err
		})
		if err != nil || got != want {
			t.Errorf("light %v: synchronous_commit is %q, %v; want %q", light, got, err, want)
		}
		_ = conn.Close()
	}
}

// TestRelay_NotesThatItSyncsNothing while few rows wait, and no longer once many do or the
// service can't be used.
func TestRelay_NotesThatItSyncsNothing(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	s := newRecorder(t)
	var away atomic.Bool
	block, blocked := make(chan struct{}), make(chan struct{}, 10)
	close(block)
	var gate atomic.Pointer[chan struct{}]
	gate.Store(&block)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		blocked <- struct{}{}
		<-*gate.Load()
		<-blocked
		if away.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	r := newRelay(t, url, service.URL)
	r.notedFor = time.Hour
	stop := run(t, r)
	stands := func() bool { return count(t, db, standingNotes) == 1 }
	eventually(t, "the note stands", stands)
	insert(t, db, `{"n":1}`)
	eventually(t, "the row is gone and the note stands", func() bool { return count(t, db, waiting) == 0 && stands() && notes(t, db) == 0 })

	away.Store(true)
	insert(t, db, `{"n":2}`)
	eventually(t, "the note is ended while the service is away", func() bool { return !stands() && notes(t, db) == 1 })
	away.Store(false)
	eventually(t, "the note stands again", func() bool { return count(t, db, waiting) == 0 && stands() })

	held := make(chan struct{})
	gate.Store(&held)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range several * 100 {
		insert(t, tx, fmt.Sprintf(`{"many":%d}`, i))
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the note is ended while many rows wait", func() bool { return !stands() && notes(t, db) == 2 })
	close(held)
	eventually(t, "the note stands after all", func() bool { return count(t, db, waiting) == 0 && stands() && notes(t, db) == 0 })
	if s.again > 0 {
		t.Errorf("%d rows were sent again", s.again)
	}
	stop()
	if n := count(t, db, `SELECT count(*) FROM punctual_outbox_relay WHERE id <> 'lease'`); n != 0 {
		t.Errorf("%d notes are left by a relay that stopped", n)
	}
}

// TestRelay_BeginsAnewWhenTheDatabaseRecovers: rows that were settled wait again.
func TestRelay_BeginsAnewWhenTheDatabaseRecovers(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "wal_writer_delay = 10000") // so that it loses what isn't synced
	url := server.URL("postgres")
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxIdleConns(0) // none is used after a failure
	execute(t, db, postgresSchema)
	s := newRecorder(t)
	relaying(t, url, s)
	for i := range 3 {
		eventually(t, "the note stands", func() bool { return count(t, db, standingNotes) >= 1 })
		job := fmt.Sprintf(`{"n":%d}`, i)
		var id, seq, tx string
		if err := db.QueryRow(`INSERT INTO punctual_outbox (job) VALUES ('`+job+`') RETURNING id::text, seq::text, tx::text`).Scan(&id, &seq,
			&tx); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the row is gone", func() bool { return count(t, db, waiting) == 0 })
		again := s.repeated()
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the database responds", func() bool { return db.Ping() == nil })
		if count(t, db, waiting) == 0 && s.repeated() == again {
			// Something else was synced, so the row did not come back by itself.
			execute(t, db, `INSERT INTO punctual_outbox (id, job, seq, tx) OVERRIDING SYSTEM VALUE
				VALUES ('`+id+`', '`+job+`', `+seq+`, '`+tx+`')`)
		}
		eventually(t, "no row waits", func() bool { return s.repeated() > again && count(t, db, waiting) == 0 })
	}
	if got, want := strings.Join(s.stored(), " "), `{"n":0} {"n":1} {"n":2}`; got != want {
		t.Errorf("stored: %s, want %s", got, want)
	}
}

// TestRelay_SuspectsRowsAfterSixDays: whether rows were sent is not known if the database
// may have lost their notes. It is known that they weren't if it has lost none, or if they
// came later.
func TestRelay_SuspectsRowsAfterSixDays(t *testing.T) {
	t.Parallel()
	for name, recovered := range map[string]bool{"recovered": true, "not recovered": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := onPostgres(t)
			long := `now() - interval '6 days 1 hour'`
			execute(t, db, `INSERT INTO punctual_outbox (job, created_at) VALUES ('{"n":1}', `+long+`), ('{"n":2}', `+long+
				` + interval '7 seconds'), ('{"n":3}', `+long+` + interval '9 seconds')`)
			incarnation := "1700000000.1"
			if !recovered {
				if err := db.QueryRow(`SELECT ` + postgres.incarnated).Scan(&incarnation); err != nil {
					t.Fatal(err)
				}
			}
			if incarnation == "" {
				t.Skip("this version of PostgreSQL has no incarnation")
			}
			execute(t, db, `INSERT INTO punctual_outbox_relay (id, sent_at, ids) VALUES ('before', (extract(epoch FROM `+long+
				`) * 1000000)::bigint, '* `+incarnation+`')`)
			s := newRecorder(t)
			relaying(t, url, s)
			eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
			want, wantFailed := `{"n":1} {"n":2} {"n":3}`, 0
			if recovered {
				want, wantFailed = `{"n":3}`, 2
			}
			if got := strings.Join(s.stored(), " "); got != want {
				t.Errorf("arrived: %s, want %s", got, want)
			}
			if n := count(t, db, failedRows+` WHERE problem->>'reason' = 'unknown'`); n != wantFailed {
				t.Errorf("%d rows are unknown, want %d", n, wantFailed)
			}
			eventually(t, "its note is gone", func() bool {
				return count(t, db, `SELECT count(*) FROM punctual_outbox_relay WHERE id = 'before'`) == 0
			})
			execute(t, db, `INSERT INTO punctual_outbox (job, created_at) VALUES ('{"n":4}', `+long+`)`)
			eventually(t, "the row that comes later is gone", func() bool { return count(t, db, waiting) == 0 })
			if n := len(s.stored()); n != 4-wantFailed {
				t.Errorf("%d rows arrived, want the one that came later, too", n)
			}
		})
	}
}

// TestRelay_WithThreeGrants needs no other right: where it may not read the incarnation, it
// has every turn synced.
func TestRelay_WithThreeGrants(t *testing.T) {
	t.Parallel()
	for name, reads := range map[string]bool{"reads the incarnation": true, "may not read it": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := onPostgres(t)
			var role string
			if err := db.QueryRow(`SELECT 'relay_' || current_database()`).Scan(&role); err != nil {
				t.Fatal(err)
			}
			for _, each := range []string{
				`CREATE ROLE ` + role + ` LOGIN`, `GRANT SELECT, DELETE ON punctual_outbox TO ` + role,
				`GRANT SELECT, INSERT ON punctual_outbox_failed TO ` + role,
				`GRANT SELECT, INSERT, UPDATE, DELETE ON punctual_outbox_relay TO ` + role,
			} {
				execute(t, db, each)
			}
			t.Cleanup(func() { execute(t, db, `DROP OWNED BY `+role); execute(t, db, `DROP ROLE `+role) })
			if !reads {
				execute(t, db, `REVOKE EXECUTE ON FUNCTION pg_stat_get_bgwriter_stat_reset_time() FROM PUBLIC`)
			}
			s := newRecorder(t)
			_, stop := relaying(t, as(t, url, role), s)
			defer stop()
			insert(t, db, `{"n":1}`, `{"n":"poison"}`)
			eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
			if reads {
				eventually(t, "the note stands", func() bool { return count(t, db, standingNotes) == 1 })
			} else if n := count(t, db, standingNotes); n > 0 {
				t.Errorf("%d notes stand", n)
			}
		})
	}
}

// as returns the URL of a database for another role.
func as(t *testing.T, database, role string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("user", role)
	u.User, u.RawQuery = nil, q.Encode()
	return u.String()
}

// TestRelay_KnowsWhatALimitRefused: a row that a limit refuses is not stored, however long
// ago it was sent first.
func TestRelay_KnowsWhatALimitRefused(t *testing.T) {
	t.Parallel()
	r := &Relay{inherited: map[string]time.Time{"a": time.Now().Add(-doubtful)}, Metrics: newMetrics()}
	batch := []row{{id: "a"}, {id: "b"}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"status":429},{"status":429}]}`))
	}))
	defer s.Close()
	r.Service, r.Client = s.URL, s.Client()
	f := &flight{done: &turn{}, known: r.sentBefore(batch)}
	for i := range batch {
		batch[i].job = []byte(`{}`)
	}
	rest, held := r.send(t.Context(), batch, f.done)
	if len(rest) != 2 || held == nil || !held.none {
		t.Fatalf("%d rows wait: %+v", len(rest), held)
	}
	r.notStored(f, rest)
	if rest = f.giveUp(rest, &doubt{since: time.Now()}); len(rest) != 2 || len(r.inherited) > 0 {
		t.Errorf("%d rows are left, %d were sent before", len(rest), len(r.inherited))
	}
}

// TestRelay_SettlesWhileNotesAreRead: a batch that waits is settled beside the next turn.
func TestRelay_SettlesWhileNotesAreRead(t *testing.T) {
	t.Parallel()
	const many = 2000
	r := &Relay{inherited: map[string]time.Time{}, Metrics: newMetrics(), source: &source{}}
	rows := make([]row, many)
	var all []string
	for i := range rows {
		rows[i].id = fmt.Sprint(i)
		all = append(all, rows[i].id)
		r.inherited[rows[i].id] = time.Now()
	}
	var done sync.WaitGroup
	done.Go(func() {
		for i := range rows {
			r.settled(&turn{answered: rows[i : i+1]})
		}
	})
	for i := range 20 {
		r.left = []note{{id: fmt.Sprint("note", i), ids: all}}
		r.endedNotes(&turn{}, false)
		r.sentBefore(rows)
	}
	done.Wait()
	if known := r.sentBefore(rows); known != nil {
		t.Errorf("%d rows are left", len(known))
	}
}

// TestLead_RenewsTheStandingNote with the lease, so that rows which come later are not
// suspected.
func TestLead_RenewsTheStandingNote(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	s, err := open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer s.db.Close()
	execute(t, db, `INSERT INTO punctual_outbox_relay (id, sent_at, ids) VALUES ('mine', 7, '* 1'), ('other', 7, '* 1')`)
	renewed := func(holder string, want bool, ids string) {
		t.Helper()
		held, err := s.lead(t.Context(), holder, time.Hour, "mine")
		if err != nil || held != want {
			t.Fatalf("%s leads: %v, %v; want %v", holder, held, err, want)
		}
		var got string
		if err := db.QueryRow(`SELECT coalesce(string_agg(id, ' '), '') FROM punctual_outbox_relay WHERE sent_at > 7`).Scan(&got); err != nil ||
			got != ids {
			t.Errorf("renewed: %q, %v; want %q", got, err, ids)
		}
	}
	renewed("a", true, "mine")
	execute(t, db, `UPDATE punctual_outbox_relay SET sent_at = 7 WHERE id = 'mine'`)
	renewed("b", false, "")
	renewed("a", true, "mine")
}

// TestRelay_SettlesWhatIsAnswered of a batch while the rest waits, in its order.
func TestRelay_SettlesWhatIsAnswered(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		for _, status := range []int32{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
			s := newRecorder(t)
			s.refusing.Store(status)
			execute(t, db, `DELETE FROM punctual_outbox_failed`)
			insert(t, db, `{"n":1}`, `{"n":"poison"}`, `{"n":"refused"}`, `{"n":4}`)
			_, stop := relaying(t, url, s)
			eventually(t, "two rows wait", func() bool { return count(t, db, waiting) == 2 && count(t, db, failedRows) == 1 })
			s.refusing.Store(0)
			eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
			if got := strings.Join(s.stored(), " "); got != `{"n":1} {"n":"refused"} {"n":4}` || s.repeated() > 0 {
				t.Errorf("%d: %d rows again; arrived: %s", status, s.repeated(), got)
			}
			stop()
		}
	})
}

// TestRelay_BeginsAnewWithAnotherIncarnation, also if no connection has failed, as behind
// a pooler.
func TestRelay_BeginsAnewWithAnotherIncarnation(t *testing.T) {
	t.Parallel()
	url, db := onPostgres(t)
	s := newRecorder(t)
	r, _ := relaying(t, url, s)
	eventually(t, "the note stands", func() bool { return count(t, db, standingNotes) == 1 })
	incarnation := func(set string) (before string) {
		r.turning.Lock()
		defer r.turning.Unlock()
		if before = r.source.incarnation; set != "" {
			r.source.incarnation, r.source.seq = set, 1000 // rows with lower numbers wait
		}
		return before
	}
	before := incarnation("1700000000.1")
	insert(t, db, `{"n":1}`)
	eventually(t, "the row is sent", func() bool { return len(s.stored()) == 1 && count(t, db, waiting) == 0 })
	if now := incarnation(""); now != before {
		t.Errorf("the incarnation is %q, want %q", now, before)
	}
}

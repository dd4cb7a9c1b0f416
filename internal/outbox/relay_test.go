package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/pace"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// databases are what the relay is tested with.
var databases = map[string]func(t *testing.T) (url string, db *sql.DB){
	"sqlite": func(t *testing.T) (string, *sql.DB) {
		path := filepath.Join(t.TempDir(), "app.db")
		db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_txlock=immediate")
		if err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + path, db
	},
	"postgres": func(t *testing.T) (string, *sql.DB) {
		url := pgtest.URL(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		return url, db
	},
	"mysql": mariaDB,
}

// each runs a test with each database, whose outbox is empty.
func each(t *testing.T, test func(t *testing.T, url string, db *sql.DB)) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := open(t)
			t.Cleanup(func() { _ = db.Close() })
			schema, err := Schema(name)
			if err != nil {
				t.Fatal(err)
			}
			statements := []string{schema}
			if name == "mysql" {
				statements = strings.SplitAfter(strings.TrimSpace(withoutComments(schema)), ";")
			}
			for _, statement := range statements {
				if statement == "" {
					continue
				}
				if _, err := db.Exec(statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
			test(t, url, db)
		})
	}
}

func withoutComments(schema string) string {
	var lines []string
	for line := range strings.Lines(schema) {
		if !strings.HasPrefix(line, "--") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func insert(t *testing.T, to interface {
	Exec(string, ...any) (sql.Result, error)
}, jobs ...string) {
	t.Helper()
	for _, job := range jobs {
		if _, err := to.Exec(`INSERT INTO punctual_outbox (job) VALUES ('` + strings.ReplaceAll(job, "'", "''") + `')`); err != nil {
			t.Fatalf("inserting %.60s: %v", job, err)
		}
	}
}

// recorder is a service that takes batches, and remembers their items.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	items  []string // without their request_id
	ids    map[string]bool
	again  int // items whose id was known
	calls  int
	answer func(w http.ResponseWriter, r *http.Request) bool // true if it has answered
	// refusing is the status with which it refuses the items that contain "refused", and
	// those after them if the relay asks for that; 0 is none.
	refusing atomic.Int32
}

func newRecorder(t *testing.T) *recorder {
	s := &recorder{ids: map[string]bool{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.answer != nil && s.answer(w, r) {
		return
	}
	var items []json.RawMessage
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &items)
	}
	if err != nil || len(items) > 1000 || len(body) > 8<<20 || strings.Contains(string(body), "poison-all") {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, `{"status":422,"detail":"the body as a whole"}`)
		return
	}
	var results []string
	full := false
	for _, item := range items {
		id := string(item[len(`{"request_id":"`):][:36])
		rest := "{" + strings.TrimPrefix(string(item[len(`{"request_id":"`)+37:]), ",")
		switch {
		case strings.Contains(rest, "poison"):
			results = append(results, `{"status":422,"problem":{"status":422,"detail":"this item"}}`)
		case s.refusing.Load() != 0 && strings.Contains(rest, "refused") || full:
			full = strings.Contains(r.Header.Get("Prefer"), "keep-order")
			results = append(results, fmt.Sprintf(`{"status":%d,"problem":{"detail":"this item"}}`, s.refusing.Load()))
		case s.ids[id]:
			s.again++
			results = append(results, `{"status":200,"job":{}}`)
		default:
			s.ids[id] = true
			s.items = append(s.items, rest)
			results = append(results, `{"status":201,"job":{}}`)
		}
	}
	_, _ = io.WriteString(w, `{"data":[`+strings.Join(results, ",")+`]}`)
}

func (s *recorder) stored() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.items...)
}

func (s *recorder) repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.again
}

// relaying runs a relay until the test or stop ends it.
func relaying(t *testing.T, url string, s *recorder) (r *Relay, stop func()) {
	t.Helper()
	r = newRelay(t, url, s.URL)
	return r, run(t, r)
}

func newRelay(t *testing.T, url, service string) *Relay {
	t.Helper()
	r, err := New(Config{Source: url, Service: service, Key: "sk_x", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, r *Relay) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(pace.Guard(30 * time.Second)); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

const waiting = `SELECT count(*) FROM punctual_outbox`

func TestRelay_SendsRowsInOrderAndUnchanged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		s := newRecorder(t)
		var want []string
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 1500 {
			want = append(want, fmt.Sprintf(`{"url":"https://x/%d", "body":{"z":1,"a":1.10,"ä":"é"}}`, i))
		}
		insert(t, tx, want...)
		rolled, err := func() (string, error) { return `{"url":"https://never"}`, tx.Commit() }()
		if err != nil {
			t.Fatal(err)
		}
		if tx, err = db.Begin(); err != nil {
			t.Fatal(err)
		}
		insert(t, tx, rolled)
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		relaying(t, url, s)
		eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
		insert(t, db, `{}`, ` { "url" : "https://y" } `)
		want = append(want, `{}`, `{ "url" : "https://y" }`)
		eventually(t, "rows that come later are gone", func() bool { return count(t, db, waiting) == 0 })
		if got := s.stored(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d rows arrived, want %d; the last is %s", len(got), len(want), got[len(got)-1])
		}
		eventually(t, "no notes are left", func() bool {
			return notes(t, db) == 0
		})
	})
}

func TestRelay_SetsAsideWhatIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		s := newRecorder(t)
		insert(t, db, `{"n":1}`, `[2]`, `{"n":"poison"}`, `{"n":4}`, `{"n":"poison-all"}`, `{"n":6}`, `{"request_id":"mine"}`, `7`)
		relaying(t, url, s)
		eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
		if got, want := strings.Join(s.stored(), " "), `{"n":1} {"n":4} {"n":6}`; got != want {
			t.Errorf("arrived: %s, want %s", got, want)
		}
		if n := count(t, db, `SELECT count(*) FROM punctual_outbox_failed WHERE problem IS NOT NULL`); n != 5 {
			t.Errorf("%d rows failed, want 5", n)
		}
	})
}

// TestRelay_SetsAsideABatch: all rows of a batch are refused.
func TestRelay_SetsAsideABatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		s := newRecorder(t)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		const rows = 3 * minRows * 8
		for range rows {
			insert(t, tx, `{"n":"poison"}`)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		relaying(t, url, s)
		eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
		if n := count(t, db, `SELECT count(*) FROM punctual_outbox_failed`); n != rows {
			t.Errorf("%d rows failed, want %d", n, rows)
		}
	})
}

// TestSchema_RefusesWhatIsNoJob: the application is told at once.
func TestSchema_RefusesWhatIsNoJob(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, db *sql.DB) {
		for _, job := range []string{`{`, ``, `nope`, `{"body":"` + strings.Repeat("x", 1<<20) + `"}`} {
			if _, err := db.Exec(`INSERT INTO punctual_outbox (job) VALUES ('` + job + `')`); err == nil {
				t.Errorf("%.20s is accepted", job)
			}
		}
		insert(t, db, `{"body":"`+strings.Repeat("x", 1<<20-11)+`"}`)
	})
}

func TestRelay_WaitsForTheService(t *testing.T) {
	t.Parallel()
	url, db := databases["sqlite"](t)
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(sqliteSchema); err != nil {
		t.Fatal(err)
	}
	s := newRecorder(t)
	statuses := []int{401, 403, 503, 429, 500, 404, 302, 0}
	var relay atomic.Pointer[Relay]
	var sick atomic.Bool
	s.answer = func(w http.ResponseWriter, _ *http.Request) bool {
		// At a further try, its health shows what became of the one before.
		if ok, text := relay.Load().Health(); !ok && strings.Contains(string(text), "the service responded") {
			sick.Store(true)
		}
		if len(statuses) == 0 {
			return false
		}
		status := statuses[0]
		statuses = statuses[1:]
		if status == 0 {
			panic(http.ErrAbortHandler) // no response
		}
		w.WriteHeader(status)
		return true
	}
	r, _ := relaying(t, url, s)
	relay.Store(r)
	insert(t, db, `{"n":1}`, `{"n":2}`)
	eventually(t, "the rows are sent", func() bool { return count(t, db, waiting) == 0 })
	eventually(t, "the relay is well", func() bool {
		ok, _ := r.Health()
		return ok
	})
	if !sick.Load() {
		t.Error("its health has shown no refusal")
	}
	if got := strings.Join(s.stored(), " "); got != `{"n":1} {"n":2}` || count(t, db, `SELECT count(*) FROM punctual_outbox_failed`) != 0 {
		t.Errorf("arrived: %s", got)
	}
}

// TestRelay_FindsRowsOfTransactionsThatTookLong: their numbers are below those of rows
// that were sent before them.
func TestRelay_FindsRowsOfTransactionsThatTookLong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		if strings.HasPrefix(url, "sqlite") {
			t.Skip("SQLite has one transaction that writes at a time")
		}
		s := newRecorder(t)
		relaying(t, url, s)
		var open []*sql.Tx
		for i := range 3 {
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			insert(t, tx, fmt.Sprintf(`{"late":%d}`, i))
			open = append(open, tx)
		}
		insert(t, db, `{"n":1}`)
		eventually(t, "the first row is sent", func() bool { return len(s.stored()) == 1 })
		if err := open[1].Commit(); err != nil {
			t.Fatal(err)
		}
		insert(t, db, `{"n":2}`)
		eventually(t, "three rows are sent", func() bool { return len(s.stored()) == 3 })
		if err := open[0].Commit(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "four rows are sent", func() bool { return len(s.stored()) == 4 })
		if got := strings.Join(s.stored(), " "); !strings.Contains(got, `{"late":1}`) || !strings.HasSuffix(got, `{"late":0}`) {
			t.Errorf("arrived: %s", got)
		}
	})
}

func TestRelay_AnotherTakesOver(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		s := newRecorder(t)
		first, stop := relaying(t, url, s)
		insert(t, db, `{"n":1}`)
		eventually(t, "the first row is sent", func() bool { return len(s.stored()) == 1 })
		second, _ := relaying(t, url, s)
		insert(t, db, `{"n":2}`)
		eventually(t, "the second row is sent", func() bool { return len(s.stored()) == 2 })
		if !first.leads() || second.leads() {
			t.Errorf("active: the first %v, the second %v", first.leads(), second.leads())
		}
		stop()
		insert(t, db, `{"n":3}`)
		eventually(t, "the other takes over", func() bool { return len(s.stored()) == 3 && second.leads() })
	})
}

// TestRelay_TakesOverFromOneInATransaction: the relay before holds its locks and does
// nothing, as one that was suspended.
func TestRelay_TakesOverFromOneInATransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		if strings.HasPrefix(url, "sqlite") {
			t.Skip("SQLite can't end the transaction of its writer")
		}
		insert(t, db, `{"n":1}`)
		before, err := open(url)
		if err != nil {
			t.Fatal(err)
		}
		defer before.db.Close()
		before.abandoned = 3 * time.Second
		conn, err := before.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		tx, err := before.begin(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }() // fails: the database has ended it
		for _, statement := range []string{`UPDATE punctual_outbox_relay SET expires = expires + 1 WHERE id = 'lease'`,
			`DELETE FROM punctual_outbox`} {
			if _, err := before.exec(t.Context(), tx, statement); err != nil {
				t.Fatal(err)
			}
		}
		s := newRecorder(t)
		relaying(t, url, s)
		eventually(t, "the row is sent and deleted", func() bool { return len(s.stored()) == 1 && count(t, db, waiting) == 0 })
	})
}

// TestRelay_DoesNotRepeatAfterSixDays: what was sent by a relay that is gone is sent
// again while the service remembers it.
func TestRelay_DoesNotRepeatAfterSixDays(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string, db *sql.DB) {
		insert(t, db, `{"n":1}`, `{"n":2}`, `{"n":3}`)
		var ids []string
		rows, err := db.Query(`SELECT id FROM punctual_outbox ORDER BY seq`)
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		for i, age := range []time.Duration{doubtful + time.Hour, doubtful - time.Hour} {
			sent := time.Now().Add(-age).UnixMicro()
			if _, err := db.Exec(fmt.Sprintf(`INSERT INTO punctual_outbox_relay (id, sent_at, ids) VALUES ('note%d', %d, '%s')`, i, sent,
				ids[i])); err != nil {
				t.Fatal(err)
			}
		}
		s := newRecorder(t)
		relaying(t, url, s)
		eventually(t, "all rows are gone", func() bool { return count(t, db, waiting) == 0 })
		if got := strings.Join(s.stored(), " "); got != `{"n":2} {"n":3}` {
			t.Errorf("arrived: %s", got)
		}
		var problem string
		if err := db.QueryRow(`SELECT problem FROM punctual_outbox_failed`).Scan(&problem); err != nil ||
			!strings.Contains(problem, `"reason":"unknown"`) {
			t.Errorf("the old row failed with %s, %v", problem, err)
		}
		eventually(t, "no notes are left", func() bool {
			return notes(t, db) == 0
		})
	})
}

func TestSchema_GivesEachRowATimeOrderedID(t *testing.T) {
	t.Parallel()
	url, db := databases["postgres"](t)
	_ = url
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(postgresSchema); err != nil {
		t.Fatal(err)
	}
	var id string
	if err := db.QueryRow(`SELECT punctual_enqueue('{"url":"https://x"}', ordering_key => 'k')`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	if id[14] != '7' || !strings.ContainsRune("89ab", rune(id[19])) {
		t.Errorf("the id %s is no UUID of version 7", id)
	}
	if n := count(t, db, `SELECT count(*) FROM punctual_outbox WHERE ordering_key = 'k'`); n != 1 {
		t.Errorf("%d rows", n)
	}
}

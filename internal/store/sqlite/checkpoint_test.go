package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/identity"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// addOwner stores an account.
func addOwner(t *testing.T, s *Store) job.Owner {
	t.Helper()
	a := &identity.Account{Owner: job.Owner{ID: uuid.New()}, Email: uuid.NewString() + "@example.com", CreatedAt: s.Now()}
	if err := s.AccountInsert(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	return a.Owner
}

func newJob(s *Store, owner job.Owner, args string) store.NewJob {
	now := s.Now()
	return store.NewJob{Job: &job.Job{
		ID: job.NewID(now), Owner: owner, InsertedAt: now, ScheduledAt: now, DueAt: now, State: job.Available, Args: rawjson.Value(args),
	}}
}

func insert(t *testing.T, s *Store, jobs ...store.NewJob) {
	t.Helper()
	if _, err := s.JobInsertMany(t.Context(), jobs); err != nil {
		t.Fatal(err)
	}
}

func logSize(t *testing.T, s *Store) int64 {
	t.Helper()
	info, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func usedOf(t *testing.T, s *Store) int64 {
	t.Helper()
	length, err := s.logLength(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return length
}

func TestCheckpoint_BoundsTheLog(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	large := `{"body":"` + strings.Repeat("x", 1<<20) + `"}`
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for round := range rounds {
		for written := 0; written < checkpointBytes; written += len(large) {
			insert(t, s, newJob(s, owner, large))
		}
		// The store's own checkpoint may be under way; a second one does nothing then.
		again := time.NewTicker(10 * time.Millisecond)
		for try := 0; try == 0 || try < 3000 && usedOf(t, s) > checkpointBytes; try++ {
			s.checkpointLarge(t.Context())
			insert(t, s, newJob(s, owner, `{}`)) // the first write after a checkpoint restarts the log
			<-again.C
		}
		again.Stop()
		if used := usedOf(t, s); used > checkpointBytes {
			t.Errorf("round %d: the log holds %d bytes after a checkpoint, more than %d", round, used, int64(checkpointBytes))
		}
		if size := logSize(t, s); size < checkpointBytes || size > keptBytes {
			t.Errorf("round %d: the file of the log has %d bytes, want from %d to %d", round, size, int64(checkpointBytes),
				int64(keptBytes))
		}
	}
}

func TestCheckpoint_LeavesASmallLogAlone(t *testing.T) {
	s := openTest(t)
	insert(t, s, newJob(s, addOwner(t, s), `{}`))
	before := usedOf(t, s)
	if size := logSize(t, s); before == 0 || before > size || before < size-100 {
		t.Errorf("%d bytes of the log are in use, in a new file of %d", before, size)
	}
	s.checkpointLarge(t.Context())
	insert(t, s, newJob(s, addOwner(t, s), `{}`))
	if after := usedOf(t, s); after <= before {
		t.Errorf("the log went from %d to %d bytes: checkpointed too early", before, after)
	}
}

// reading begins to read a database as it is now, until end.
func reading(t *testing.T, s *Store) (end func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(s.path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	commit := sqlitex.Transaction(conn)
	if _, err := number(conn, `SELECT count(*) FROM jobs`); err != nil {
		t.Fatal(err)
	}
	return func() {
		commit(&err)
		_ = conn.Close()
	}
}

// The writer does not wait for a reader that keeps the log, as a program that copies the
// database does, but for others.
func TestCheckpoint_ReportsAReaderThatStands(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	grow := func() { insert(t, s, newJob(s, owner, `{"body":"`+strings.Repeat("x", 2*minCheckpoint)+`"}`)) }
	want := func(stands bool, when string) {
		t.Helper()
		if got := s.checkpointBeside(); got != stands {
			t.Errorf("%s, a reader stands: %t", when, got)
		}
	}
	insert(t, s, newJob(s, owner, `{}`))
	end := reading(t, s)
	grow()
	want(false, "at the first look")
	want(true, "while it reads on")
	next := reading(t, s)
	end()
	grow()
	want(false, "when another reads")
	want(true, "while that one reads on")
	next()
	want(false, "when none reads")
}

// Behind the end of a log that restarted, nothing of the old one may remain where Litestream
// copies the database. Without it, or once that is done, the file keeps its size.
func TestCheckpoint_TruncatesTheLogOfACopiedDatabase(t *testing.T) {
	// A disk on which the log is checkpointed early.
	space := func(string) (free, size int64, err error) { return 8 * minCheckpoint, 10 * minCheckpoint, nil }
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Exclusive: true, Space: space})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	owner := addOwner(t, s)
	if err := s.write(t.Context(), func(t *tx) error { return t.exec(`CREATE TABLE _litestream_seq (id INTEGER)`) }); err != nil {
		t.Fatal(err)
	}
	fill := func() {
		insert(t, s, newJob(s, owner, `{"body":"`+strings.Repeat("x", 2*minCheckpoint)+`"}`))
		s.checkpointLarge(t.Context())
		insert(t, s, newJob(s, owner, `{}`))
	}
	fill()
	if size, used := logSize(t, s), usedOf(t, s); size > used+perPage {
		t.Errorf("%d bytes of the log are in use, its file has %d", used, size)
	}
	s.checkpointLarge(t.Context()) // which finds a small log
	if err := s.write(t.Context(), func(t *tx) error { return t.exec(`DROP TABLE _litestream_seq`) }); err != nil {
		t.Fatal(err)
	}
	fill()
	if size, used := logSize(t, s), usedOf(t, s); size < used+minCheckpoint {
		t.Errorf("%d bytes of the log are in use, its file has %d", used, size)
	}
}

// A commit between the two checkpoints restarts the log, or one after a truncation for which
// a reader left no time.
func TestCheckpoint_TruncatesACopiedLogThatAReaderUses(t *testing.T) {
	space := func(string) (free, size int64, err error) { return 8 * minCheckpoint, 10 * minCheckpoint, nil }
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "p.db"), Options{Exclusive: true, Space: space})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	owner := addOwner(t, s)
	if err := s.write(t.Context(), func(t *tx) error { return t.exec(`CREATE TABLE _litestream_seq (id INTEGER)`) }); err != nil {
		t.Fatal(err)
	}
	insert(t, s, newJob(s, owner, `{"body":"`+strings.Repeat("x", 2*minCheckpoint)+`"}`))
	end := reading(t, s)
	s.watch.low.Store(true) // so that the log is to be truncated
	s.checkpointLarge(t.Context())
	s.watch.low.Store(false)
	end()
	insert(t, s, newJob(s, owner, `{}`))
	if size, used := logSize(t, s), usedOf(t, s); size > used+perPage {
		t.Errorf("%d bytes of the log are in use, its file has %d", used, size)
	}
}

package sqlite

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

func openAt(t *testing.T, path string, exclusive bool) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Exclusive: exclusive})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpen_RefusesASecondExclusiveOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	first := openAt(t, path, true)
	_, err := Open(t.Context(), path, Options{Exclusive: true})
	if err == nil || !strings.Contains(err.Error(), "is in use by another punctual; stop that one first") ||
		!strings.Contains(err.Error(), path) {
		t.Errorf("the second open returned %v", err)
	}
	if err := first.Ping(t.Context()); err != nil {
		t.Errorf("after the refusal the first store fails: %v", err)
	}
	closeStore(t, first)
	closeStore(t, openAt(t, path, true))
}

func TestOpen_CommandWorksWhileTheServiceRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	service := openAt(t, path, true)
	defer closeStore(t, service)
	command := openAt(t, path, false)
	owner := addOwner(t, command)
	insert(t, command, newJob(command, owner, `{}`))
	closeStore(t, command)
	if jobs, err := service.JobList(t.Context(), owner, job.Query{ListQuery: job.ListQuery{Limit: 10}}); err != nil || len(jobs) != 1 {
		t.Errorf("the service sees %d of the command's jobs, %v", len(jobs), err)
	}
}

func TestWrite_TwoProcessesTakeTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	service, command := openAt(t, path, true), openAt(t, path, false)
	defer closeStore(t, service)
	defer closeStore(t, command)
	owner := addOwner(t, service)
	var wg sync.WaitGroup
	for _, s := range []*Store{service, command} {
		wg.Go(func() {
			for range 100 {
				if _, err := s.JobInsertMany(t.Context(), []store.NewJob{newJob(s, owner, `{}`)}); err != nil {
					t.Errorf("JobInsertMany: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if refs, err := command.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 1000); err != nil || len(refs) != 200 {
		t.Errorf("%d queue items, %v, want 200", len(refs), err)
	}
}

func TestOpen_RefusesANewerDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	closeStore(t, openAt(t, path, true))
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(conn, `PRAGMA user_version = 99`, nil), conn.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{Exclusive: true})
	if err == nil || !strings.Contains(err.Error(), "made by a newer punctual") || !strings.Contains(err.Error(), "use that version") {
		t.Errorf("opening it returned %v", err)
	}
}

func TestOpen_RefusesAnotherProgramsDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(sqlitex.ExecuteTransient(conn, `PRAGMA application_id = 1234`, nil), conn.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), path, Options{Exclusive: true}); err == nil {
		t.Error("another program's database was accepted")
		closeStore(t, s)
	}
}

func TestOpen_RefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a text": path, "no directory": filepath.Join(path, "p.db"),
		"a directory": filepath.Dir(path)} {
		if s, err := Open(t.Context(), path, Options{Exclusive: true}); err == nil {
			t.Errorf("%s was opened", name)
			closeStore(t, s)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the path: %v", name, err)
		}
	}
}

func TestOpen_ConcurrentFirstOpensCreateTheTablesOnce(t *testing.T) {
	for range 4 {
		path := filepath.Join(t.TempDir(), "p.db")
		stores := make([]*Store, 5)
		var wg sync.WaitGroup
		for i := range stores {
			wg.Go(func() {
				s, err := Open(t.Context(), path, Options{Exclusive: i == 0})
				if err != nil {
					t.Errorf("open %d: %v", i, err)
					return
				}
				stores[i] = s
				if err := s.Ping(t.Context()); err != nil {
					t.Errorf("ping %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			if s != nil {
				closeStore(t, s)
			}
		}
	}
}

// crash copies the files of an open database, as a crash would leave them.
func crash(t *testing.T, s *Store) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "crashed.db")
	for _, suffix := range []string{"", "-wal"} {
		from, err := os.Open(s.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Create(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(from.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestWrite_CommittedRecordsSurviveACrash(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	for n := 1; n <= 6; n++ {
		insert(t, s, newJob(s, owner, `{}`), newJob(s, owner, `{}`))
		if n == 3 { // some records in the database, some in the log
			if err := s.writer.submit(t.Context(), &write{outside: checkpointLog, done: make(chan error, 1)}); err != nil {
				t.Fatal(err)
			}
		}
		revived := openAt(t, crash(t, s), true)
		jobs, err := revived.JobList(t.Context(), owner, job.Query{ListQuery: job.ListQuery{Limit: 100}})
		if err != nil || len(jobs) != 2*n {
			t.Errorf("after a crash there are %d jobs (%v), want %d", len(jobs), err, 2*n)
		}
		insert(t, revived, newJob(revived, owner, `{}`))
		closeStore(t, revived)
	}
}

// A crash may cut the log anywhere; all batches stored before the cut are intact.
func TestOpen_ATornLogLosesOnlyItsEnd(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	const batches, size = 10, 7
	for range batches {
		batch := make([]store.NewJob, size)
		for i := range batch {
			batch[i] = newJob(s, owner, `{}`)
		}
		insert(t, s, batch...)
	}
	whole := logSize(t, s)
	for cut := whole; cut > whole/2; cut -= whole/25 + 1 {
		path := crash(t, s)
		if err := os.Truncate(path+"-wal", cut); err != nil {
			t.Fatal(err)
		}
		revived := openAt(t, path, true)
		jobs, err := revived.JobList(t.Context(), owner, job.Query{ListQuery: job.ListQuery{Limit: 1000}})
		refs, peekErr := revived.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 1000)
		if err != nil || peekErr != nil || len(jobs)%size != 0 || len(refs) != len(jobs) {
			t.Errorf("cut at %d of %d: %d jobs, %d queue items, %v, %v: a batch is incomplete", cut, whole, len(jobs), len(refs), err,
				peekErr)
		}
		closeStore(t, revived)
	}
}

func TestNodeStart_AbandonsTheClaimsOfACrashedProcess(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	n := newJob(s, owner, `{}`)
	insert(t, s, n)
	node, err := s.NodeStart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refs, err := s.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 1)
	if err != nil || len(refs) != 1 {
		t.Fatalf("QueuePeek = %v, %v", refs, err)
	}
	if got, err := s.QueueClaim(t.Context(), node, []store.Claim{{QueueKey: refs[0], Attempt: 1, StartAt: s.Now()}}); err != nil ||
		!got[0] {
		t.Fatalf("QueueClaim = %v, %v", got, err)
	}
	revived := openAt(t, crash(t, s), true)
	defer closeStore(t, revived)
	if _, err := revived.NodeStart(t.Context()); err != nil {
		t.Fatal(err)
	}
	abandoned, err := revived.QueueAbandoned(t.Context(), 10)
	if err != nil || len(abandoned) != 1 || abandoned[0].Kind != store.KindJob || abandoned[0].Number != n.Job.Number {
		t.Errorf("abandoned are %v, %v, want the claimed job", abandoned, err)
	}
}

// Opening and closing the file while a service runs keeps the service's claims.
func TestOpen_OfACommandKeepsTheServicesClaims(t *testing.T) {
	s := openTest(t)
	insert(t, s, newJob(s, addOwner(t, s), `{}`))
	node, _ := s.NodeStart(t.Context())
	refs, _ := s.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, 1)
	claims := []store.Claim{{QueueKey: refs[0], Attempt: 1, StartAt: s.Now()}}
	if got, err := s.QueueClaim(t.Context(), node, claims); err != nil || !got[0] {
		t.Fatalf("QueueClaim = %v, %v", got, err)
	}
	closeStore(t, openAt(t, s.path, false))
	if held, err := s.QueueHeld(t.Context(), node, claims); err != nil || held[0] != store.Held {
		t.Errorf("the service holds %v, %v", held, err)
	}
}

func TestClose_KeepsEarlierWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openAt(t, path, true)
	owner := addOwner(t, s)
	var mu sync.Mutex
	var stored []*job.Job
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			for i := 0; ; i++ {
				n := newJob(s, owner, `{}`)
				if _, err := s.JobInsertMany(context.Background(), []store.NewJob{n}); err != nil {
					if fault.CodeOf(err) != fault.Unavailable {
						t.Errorf("a write while closing: %v", err)
					}
					return
				}
				mu.Lock()
				stored = append(stored, n.Job)
				mu.Unlock()
				if i == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	for range 4 {
		<-started
	}
	closeStore(t, s)
	wg.Wait()
	again := openAt(t, path, true)
	defer closeStore(t, again)
	for _, j := range stored {
		if _, err := again.JobGet(t.Context(), owner, job.Ref{Number: j.Number}); err != nil {
			t.Fatalf("job %d was reported as stored and is gone: %v", j.Number, err)
		}
	}
	if refs, err := again.QueuePeek(t.Context(), store.QueueKey{}, time.Time{}, len(stored)+10); err != nil || len(refs) != len(stored) {
		t.Errorf("%d queue items for %d stored jobs, %v", len(refs), len(stored), err)
	}
}

package sqlite

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

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

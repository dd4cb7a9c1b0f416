package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// lostAfterBackup makes a backup of a database with one job, stores one more whose
// number is high, and takes the database away as an operator does.
func lostAfterBackup(t *testing.T, high int64) (path, backup string) {
	t.Helper()
	dir := t.TempDir()
	path, backup = filepath.Join(dir, "p.db"), filepath.Join(dir, "backup.db")
	s := openAt(t, path, true)
	owner := addOwner(t, s)
	insert(t, s, newJob(s, owner, `{}`))
	if _, err := Backup(t.Context(), path, backup); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), func(tx *tx) error {
		return tx.exec(`UPDATE sqlite_sequence SET seq = ? WHERE name = 'jobs'`,
			high-1)
	}); err != nil {
		t.Fatal(err)
	}
	lost := newJob(s, owner, `{}`)
	if insert(t, s, lost); lost.Job.Number != high {
		t.Fatalf("the lost job has the number %d; expected %d", lost.Job.Number, high)
	}
	closeStore(t, s)
	if _, err := Restore(t.Context(), backup, path, 0); err == nil || !strings.Contains(err.Error(), "exists; stop the service and move") {
		t.Errorf("the restore over a database returned %v", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(path + suffix) // SQLite has removed some
	}
	return path, backup
}

func TestRestore_GivesNoNumberTwice(t *testing.T) {
	const high = 234_567
	path, backup := lostAfterBackup(t, high)
	// As left by a service that was killed after storing more.
	if err := os.WriteFile(path+".lock", fmt.Appendf(nil, markRunning, 999), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Restore(t.Context(), backup, path, 0)
	if err != nil {
		t.Fatal(err)
	}
	if result.LastJob != 1 || result.NextJob <= high || result.NextJob > high+2*numbersStep || result.Skipped != SkippedKnown ||
		time.Since(result.At) > time.Hour {
		t.Errorf("the restore returned %+v; expected last job 1, known numbers a little above %d, made just now", result, high)
	}
	again := openAt(t, path, true)
	defer closeStore(t, again)
	created := newJob(again, job.Owner{Number: 1}, `{}`)
	if insert(t, again, created); created.Job.Number != result.NextJob {
		t.Errorf("after the restore job %d was created; expected %d", created.Job.Number, result.NextJob)
	}
}

// A second restore of the same backup must skip what the first one's life assigned.
func TestRestore_TwiceAtOnePlaceSkipsBothLives(t *testing.T) {
	path, backup := lostAfterBackup(t, 50)
	var last int64
	for range 2 {
		result, err := Restore(t.Context(), backup, path, 0)
		if err != nil || result.NextJob <= last {
			t.Fatalf("the restore returned %+v, %v; expected a next job above %d", result, err, last)
		}
		s := openAt(t, path, true)
		created := newJob(s, job.Owner{Number: 1}, `{}`)
		insert(t, s, created)
		last = created.Job.Number
		closeStore(t, s)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestore_WithoutTheNumbersOfThisDatabaseEstimates(t *testing.T) {
	path, backup := lostAfterBackup(t, 50)
	if err := os.WriteFile(path+".numbers", fmt.Appendf(nil, numbersFormat, strings.Repeat("f", 32), 900_000_000), 0o600); err != nil {
		t.Fatal(err)
	}
	result, err := Restore(t.Context(), backup, path, 0)
	if err != nil || result.NextJob != numbersStep+1 || result.Skipped != SkippedEstimated {
		t.Errorf("the restore beside another database's numbers returned %+v, %v", result, err)
	}
}

func TestRestore_TakesTheNextNumber(t *testing.T) {
	path, backup := lostAfterBackup(t, 50)
	for _, next := range []int64{1, maxNumber + 1} {
		if _, err := Restore(t.Context(), backup, path, next); err == nil || !strings.Contains(err.Error(), "--next-job") {
			t.Errorf("a restore with the next number %d returned %v", next, err)
		}
	}
	if result, err := Restore(t.Context(), backup, path, 77); err != nil || result.NextJob != 77 || result.Skipped != SkippedGiven {
		t.Errorf("a restore with the next number 77 returned %+v, %v", result, err)
	}
}

// A continuous copy lacks seconds only, which may have had a burst.
func TestRestore_EstimatesABurst(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	owner := addOwner(t, s)
	if err := s.write(t.Context(), func(tx *tx) error {
		return tx.exec(`INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)`, numbersStep-2)
	}); err != nil {
		t.Fatal(err)
	}
	last := newJob(s, owner, `{}`)
	last.Job.InsertedAt = now.Add(-time.Second)
	insert(t, s, last)
	var result RestoreResult
	err := s.write(t.Context(), func(tx *tx) error { return skipNumbers(tx.conn, filepath.Join(t.TempDir(), "q.db"), 0, now, &result) })
	if err != nil || result.LastJob != numbersStep-1 || result.NextJob < result.LastJob+minSkipped {
		t.Errorf("skipping numbers returned %+v, %v", result, err)
	}
}

// A copy made by other means does not record when; Restore uses its newest job.
func TestRestore_EstimatesFromTheBusiestHour(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	owner := addOwner(t, s)
	for range 400 {
		job := newJob(s, owner, `{}`)
		job.Job.InsertedAt = now.Add(-24 * time.Hour)
		insert(t, s, job)
	}
	var result RestoreResult
	err := s.write(t.Context(), func(tx *tx) error { return skipNumbers(tx.conn, filepath.Join(t.TempDir(), "q.db"), 0, now, &result) })
	// 400 an hour, ten times: 2 a second for 86,401 s, rounded up.
	if err != nil || result.LastJob != 400 || result.NextJob != 200_001 || result.Skipped != SkippedEstimated ||
		!result.At.Equal(now.Add(-24*time.Hour)) {
		t.Errorf("skipping numbers returned %+v, %v", result, err)
	}
}

// A job whose number the file can't cover isn't stored.
func TestNumbers_CoverBeforeTheCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	s := openAt(t, path, true)
	defer closeStore(t, s)
	owner := addOwner(t, s)
	if covered, err := readNumbers(s.writer.numbers.file, s.writer.numbers.id); err != nil || covered < 1 || covered%numbersStep != 0 {
		t.Errorf("the file of a new database covers %d, %v", covered, err)
	}
	insert(t, s, newJob(s, owner, `{}`))
	if err := s.write(t.Context(), func(tx *tx) error {
		return tx.exec(
			`UPDATE sqlite_sequence SET seq = 5000000 WHERE name = 'jobs'`)
	}); err != nil {
		t.Fatal(err)
	}
	good := s.writer.numbers.file
	s.writer.numbers.file = os.NewFile(^uintptr(0), "closed")
	if _, err := s.JobInsertMany(t.Context(), []store.NewJob{newJob(s, owner, `{}`)}); err == nil {
		t.Error("a job was stored whose number is not covered")
	}
	if n := count(t, s, `SELECT count(*) FROM jobs`); n != 1 {
		t.Errorf("there are %d jobs; expected the first one only", n)
	}
	s.writer.numbers.file = good
	insert(t, s, newJob(s, owner, `{}`))
	if covered, err := readNumbers(good, s.writer.numbers.id); err != nil || covered < 5_000_001 || covered%numbersStep != 0 {
		t.Errorf("the file covers %d, %v", covered, err)
	}
}

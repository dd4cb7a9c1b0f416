package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
)

// A failed transaction must not change the count, and writes that share a
// transaction are counted once.
func TestUses_StayCorrectAfterFailedTransactions(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	owner := addOwner(t, s)
	create := func(tx *tx) error {
		n := newJob(s, owner, `{}`)
		n.Caps.Pending = 100
		if _, err := tx.over(n); err != nil {
			return err
		}
		args := storeArgs(n.Job)
		return tx.insertJob(n, &args)
	}
	wants := func(when string, want int64) {
		t.Helper()
		use, err := s.AccountUse(t.Context(), owner.Number, 1000)
		if err != nil || use.Pending != want {
			t.Errorf("%s: %d pending jobs, %v, want %d", when, use.Pending, err, want)
		}
		if jobs, err := s.JobList(t.Context(), owner, job.Query{ListQuery: job.ListQuery{Limit: 100}}); err != nil ||
			int64(len(jobs)) != want {
			t.Errorf("%s: %d jobs are stored, %v", when, len(jobs), err)
		}
	}
	commit := func(f func(*tx) error) error { return s.write(t.Context(), f) }
	for range 2 {
		if err := commit(create); err != nil {
			t.Fatal(err)
		}
	}
	wants("after two", 2)
	broken := errors.New("broken on purpose")
	err := commit(func(tx *tx) error { return errors.Join(create(tx), broken) })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	wants("after one that failed", 2)
	if _, err := s.writer.transact([]*write{{run: create}, {run: create}}); err != nil {
		t.Fatal(err)
	}
	wants("after two in one transaction", 4)
}

// What a failed transaction counted is not kept: it may have seen its own deletes.
func TestUses_ForgetWhatAFailedTransactionCounted(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "p.db"), true)
	defer closeStore(t, s)
	owner := addOwner(t, s)
	broken := errors.New("broken on purpose")
	capped := newJob(s, owner, `{}`)
	capped.Caps.Pending = 100
	err := s.write(t.Context(), func(tx *tx) error {
		args := storeArgs(capped.Job)
		return tx.insertJob(capped, &args)
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.write(t.Context(), func(tx *tx) error {
		if err := tx.exec(`DELETE FROM jobs WHERE account = ?`, owner.Number); err != nil {
			return err
		}
		if _, err := tx.over(capped); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if use, err := s.AccountUse(t.Context(), owner.Number, 1000); err != nil || use.Pending != 1 {
		t.Errorf("%d pending jobs, %v, want 1", use.Pending, err)
	}
}

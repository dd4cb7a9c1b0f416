package sqlite

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// TestPrune_GoesOnBehindARecordThatCannotBeRemoved: with a limit of 1, the mark is behind
// it though removing it fails.
func TestPrune_GoesOnBehindARecordThatCannotBeRemoved(t *testing.T) {
	s := openTest(t)
	owner := addOwner(t, s)
	err := s.write(t.Context(), func(x *tx) error {
		for _, statement := range []string{
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3)
				INSERT INTO jobs (number, id, account, state, inserted_at, scheduled_at, due_at, completed_at, args) SELECT i, randomblob(16), ?1, 4, 0, 0, 0, i, '{}' FROM n`,
			`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3)
				INSERT INTO logs (id, account, job, event, inserted_at, payload) SELECT randomblob(16), ?1, i, 2, 0, '{}' FROM n`,
		} {
			if err := x.exec(statement, owner.Number); err != nil {
				return err
			}
		}
		if err := x.exec(`CREATE TRIGGER stuck_job BEFORE DELETE ON jobs WHEN OLD.number = 1 BEGIN SELECT RAISE(ABORT, 'stuck'); END`); err != nil {
			return err
		}
		return x.exec(`CREATE TRIGGER stuck_log BEFORE DELETE ON logs WHEN OLD.seq = 1 BEGIN SELECT RAISE(ABORT, 'stuck'); END`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, prune := range map[string]func(context.Context, time.Time, store.PruneCursor, int) (store.Pruned, error){"jobs": s.JobPrune,
		"logs": s.LogPrune} {
		before := s.Now().Add(-time.Hour)
		if _, err := prune(t.Context(), before, store.PruneCursor{}, 10); err == nil {
			t.Errorf("%s: no error", kind)
		}
		batch, err := prune(t.Context(), before, store.PruneCursor{}, 1)
		if err == nil || batch.Next == (store.PruneCursor{}) || batch.Removed != 0 || !batch.More {
			t.Errorf("%s: the first alone: %+v, %v", kind, batch, err)
		}
		if batch, err = prune(t.Context(), before, batch.Next, 10); err != nil || batch.Removed != 2 {
			t.Errorf("%s: those behind it: %+v, %v", kind, batch, err)
		}
	}
}

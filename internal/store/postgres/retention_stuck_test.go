package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestPrune_GoesOnBehindARecordThatCannotBeRemoved: with a limit of 1, the mark is behind
// it though removing it fails.
func TestPrune_GoesOnBehindARecordThatCannotBeRemoved(t *testing.T) {
	s, err := Open(t.Context(), pgtest.URL(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	exec := func(sql string, args ...any) {
		t.Helper()
		if err := s.write(t.Context(), func(t *tx) error { return t.commit(query{sql: sql, args: args}) }); err != nil {
			t.Fatal(err)
		}
	}
	// Two of the jobs became final at the same time.
	exec(`INSERT INTO jobs (account, number, id, state, inserted_at, scheduled_at, due_at, completed_at, args)
		SELECT 1, i, gen_random_uuid(), 4, 0, 0, 0, (i + 1) / 2, '{}' FROM generate_series(1, 3) i`)
	exec(`INSERT INTO logs (account, id, job, event, inserted_at, payload) SELECT i, $1::uuid, i, 2, 0, '{}' FROM generate_series(1, 3) i`,
		job.IDBound(time.UnixMicro(0)))
	exec(`CREATE FUNCTION stuck() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stuck'; END $$`)
	exec(`CREATE TRIGGER stuck BEFORE DELETE ON jobs FOR EACH ROW WHEN (OLD.number = 1) EXECUTE FUNCTION stuck()`)
	exec(`CREATE TRIGGER stuck BEFORE DELETE ON logs FOR EACH ROW WHEN (OLD.account = 1) EXECUTE FUNCTION stuck()`)
	for kind, prune := range map[string]func(context.Context, time.Time, store.PruneCursor, int) (store.Pruned, error){"jobs": s.JobPrune,
		"logs": s.LogPrune} {
		before := s.Now().Add(-time.Hour)
		after := store.PruneCursor{}
		if batch, err := prune(t.Context(), before, after, 10); err == nil || batch.Next != after {
			t.Errorf("%s: %+v, %v", kind, batch, err)
		}
		removed, failed := 0, 0
		for batch := (store.Pruned{More: true}); batch.More && failed < 3; removed += batch.Removed {
			var err error
			if batch, err = prune(t.Context(), before, after, 1); err != nil {
				failed++
				if batch.Next == after {
					t.Fatalf("%s: the mark stays at %+v", kind, after)
				}
			}
			after = batch.Next
		}
		if removed != 2 || failed != 1 {
			t.Errorf("%s: %d were removed and %d failed, want 2 and 1", kind, removed, failed)
		}
	}
}

package postgres

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pgtest"
)

// blocks returns how many blocks the statements since the last call have read.
func (o *observed) blocks() (n int) {
	for _, p := range o.take() {
		n += p.Plan.HitBlocks + p.Plan.ReadBlocks
	}
	return n
}

// round prunes in batches until a round is over, and returns how many records it
// removed, in how many batches, and how many blocks one of these read at most.
func (o *observed) round(t *testing.T, prune func(after store.PruneCursor) (store.Pruned, error)) (removed, batches, most int) {
	t.Helper()
	o.take()
	for batch := (store.Pruned{More: true}); batch.More; batches++ {
		var err error
		if batch, err = prune(batch.Next); err != nil {
			t.Fatal(err)
		}
		removed, most = removed+batch.Removed, max(most, o.blocks())
	}
	return removed, batches, most
}

// TestPrune_ReadsBoundedBlocks removes, and looks for the runs that monthly reports count, beside many
// runs of disabled schedules that became final at one time, and many accounts without old logs.
func TestPrune_ReadsBoundedBlocks(t *testing.T) {
	const kept, gone, accounts, bound = 4000, 50, 3000, 25 * pruneBound
	o := observe(t, pgtest.URL(t))
	exec := func(sql string, args ...any) {
		t.Helper()
		conn, err := o.pools[pages].Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Release()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`INSERT INTO schedules (account, id, name, inserted_at, first_due, epoch, args)
			SELECT 1 + i % 2, md5('s' || i)::uuid, 'name', 0, 0, 0, '{}' FROM generate_series(1, $1::int) i`, kept)
	exec(`INSERT INTO jobs (account, number, id, state, schedule_id, inserted_at, scheduled_at, due_at, completed_at, args)
			SELECT 1 + i % 2, i, gen_random_uuid(), 4, CASE WHEN i <= $1::int THEN md5('s' || i)::uuid END, 0, 0, 0, (i > 100)::int, '{}' FROM generate_series(1, $1::int + $2::int) i`, kept, gone)
	exec(`INSERT INTO logs (account, id, job, event, inserted_at, payload)
			SELECT i, CASE WHEN i > $1::int - $2::int THEN $3::uuid ELSE $4::uuid END, i, 2, CASE WHEN i > $1::int - $2::int THEN 0 ELSE $5::bigint END, '{}' FROM generate_series(1, $1::int) i`,
		accounts, gone, job.IDBound(time.UnixMicro(0)), job.IDBound(o.Now()), o.Now().UnixMicro())
	before := o.Now().Add(-time.Hour)
	seen, steps, blocks := 0, 0, 0
	for ended := (store.EndedSchedules{More: true}); ended.More; steps++ {
		o.take()
		var err error
		if ended, err = o.MonthsEnded(t.Context(), ended.Next, before, pruneBound); err != nil {
			t.Fatal(err)
		}
		seen, blocks = seen+len(ended.Keys), max(blocks, o.blocks())
	}
	if seen != kept || steps != (kept+gone)/pruneBound+1 || blocks > bound {
		t.Errorf("%d schedules with ended runs were found in %d steps of up to %d blocks, want %d, and %d blocks at most", seen, steps, blocks,
			kept, bound)
	}
	removed, batches, most := o.round(t, func(after store.PruneCursor) (store.Pruned, error) {
		return o.JobPrune(t.Context(), before, after, pruneBound)
	})
	if removed != gone || batches != (kept+gone)/pruneBound+1 || most > bound {
		t.Errorf("%d jobs were removed in %d batches of up to %d blocks, want %d, and %d blocks at most", removed, batches, most, gone,
			bound)
	}
	removed, batches, most = o.round(t, func(after store.PruneCursor) (store.Pruned, error) {
		return o.LogPrune(t.Context(), before, after, pruneBound)
	})
	if removed != gone || batches != accounts/pruneBound+1 || most > bound {
		t.Errorf("%d logs were removed in %d batches of up to %d blocks, want %d, and %d blocks at most", removed, batches, most, gone,
			bound)
	}
}

package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestLatestRun_UsesTheIndexOfRuns: also when statistics say that every schedule has
// a large part of the jobs, so that a scan of all jobs by number would find its runs
// as soon.
func TestLatestRun_UsesTheIndexOfRuns(t *testing.T) {
	s := openFresh(t)
	conn, err := s.pools[pages].Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`SET statement_timeout = 0`) // for slow machines
	exec(`INSERT INTO jobs (account, number, id, state, schedule_id, inserted_at, scheduled_at, due_at, args)
		SELECT 1, n, gen_random_uuid(), 4, '00000000-0000-4000-8000-000000000001', 0, 0, 0, '{}' FROM generate_series(1, 20000) AS n`)
	exec(`ANALYZE jobs`)
	exec(`SET plan_cache_mode = force_generic_plan`)
	exec(`PREPARE latest (bigint, uuid[]) AS SELECT j.* FROM unnest($2) AS n (id) CROSS JOIN LATERAL (SELECT j.number` + latestRun +
		`17) j`)
	rows, err := conn.Query(t.Context(), `EXPLAIN EXECUTE latest (1, '{00000000-0000-4000-8000-000000000002}')`)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "using jobs_schedule") || strings.Contains(plan, "jobs_pkey") {
		t.Errorf("the plan is:\n%s", plan)
	}
}

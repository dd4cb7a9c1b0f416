package postgres

import (
	"io/fs"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pgtest"
)

// TestMigrate_YieldsToNodes: a migration that waits for a table, and has locked one that
// the table's user needs, makes that wait for no longer than lockWithin.
func TestMigrate_YieldsToNodes(t *testing.T) {
	ctx, url := t.Context(), pgtest.URL(t)
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var earlier int // how many migrations the version before packed texts had
	for names[earlier] < "migrations/0034" {
		earlier++
	}
	node, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close(ctx) }()
	if err := migrateFrom(ctx, node, names[:earlier], 0); err != nil {
		t.Fatal(err)
	}
	exec := func(sql string) {
		t.Helper()
		if _, err := node.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// The node would notice the deadlock and fail, the migration would not.
	exec(`SET deadlock_timeout = '1s'; BEGIN; UPDATE runs SET node = 1`)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.RuntimeParams["deadlock_timeout"] = "1h"
	done := make(chan error, 1)
	go func() { done <- migrate(ctx, config) }()
	watch, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close(ctx) }()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		const waiting = `SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'runs'::regclass AND NOT granted)`
		if err := watch.QueryRow(ctx, waiting).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	exec(`UPDATE jobs SET state = 1`)
	exec(`COMMIT`)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if version, err := schemaVersion(ctx, watch); err != nil || version != len(names) {
		t.Errorf("the tables have version %d, want %d (%v)", version, len(names), err)
	}
}

// TestMigrate_CommitsEach: a migration that has to wait does so while those before it
// are committed, so that it holds none of their locks.
func TestMigrate_CommitsEach(t *testing.T) {
	ctx, url := t.Context(), pgtest.URL(t)
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	index := func(name string) (n int) {
		for names[n] < "migrations/"+name {
			n++
		}
		return n
	}
	node, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = node.Close(ctx) }()
	if err := migrateFrom(ctx, node, names[:index("0038")], 0); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO schedules (account, id, key, inserted_at, first_due, epoch, hops, args) VALUES (1, gen_random_uuid(), 'k', 1, 1, 0, 0, '{"limits":["l"]}')`,
		`INSERT INTO jobs (account, number, id, state, schedule_id, key, inserted_at, scheduled_at, due_at, hops, args) SELECT 1, 1, gen_random_uuid(), 0, id, key, 1, 1, 1, 0, args FROM schedules`,
		`INSERT INTO runs (due, kind, number, account, lane, attempt, revision) VALUES (1, 0, 1, 1, 0, 0, 1)`,
		`BEGIN`,
		`UPDATE runs SET lane = 1`, // 0042 waits for it
	} {
		if _, err := node.Exec(ctx, sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- migrate(ctx, config) }()
	watch, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = watch.Close(ctx) }()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		const waiting = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'transactionid')`
		if err := watch.QueryRow(ctx, waiting).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if version, err := schemaVersion(ctx, watch); err != nil || version != index("0042") {
		t.Errorf("while 0042 waits, the tables have version %d, want %d (%v)", version, index("0042"), err)
	}
	if _, err := node.Exec(ctx, `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if version, err := schemaVersion(ctx, watch); err != nil || version != len(names) {
		t.Errorf("the tables have version %d, want %d (%v)", version, len(names), err)
	}
}

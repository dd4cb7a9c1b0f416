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
	if err := migrateAll(ctx, node, names[:earlier], 0); err != nil {
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

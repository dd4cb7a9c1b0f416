package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is held during a migration ("punctual", in ASCII). It is released
// with the transaction, so it works through a pooler too.
const migrationLock = 0x70756e637475616c

const (
	// lockWithin is how long a migration waits for a lock of one table. Meanwhile it may
	// have locked others, on which nodes of the previous version wait.
	lockWithin = 100 * time.Millisecond
	// lockPause is how long they go on until the migration is tried again.
	lockPause = 100 * time.Millisecond
	// lockTries is how often it is tried so. Then it waits for as long as it takes, as
	// for a dump.
	lockTries = 60
)

// migrate applies the missing migrations in one transaction. Of nodes that start
// at the same time, one migrates and the others wait.
func migrate(ctx context.Context, config *pgx.ConnConfig) (err error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	conn, err := connect(ctx, config, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var version int
	err = atOnce(ctx, func(ctx context.Context) error {
		version, err = schemaVersion(ctx, conn)
		return err
	})
	if err != nil || version == len(names) {
		return err
	} else if version > len(names) {
		return newer(version, len(names))
	}
	for range lockTries {
		switch err := migrateAll(ctx, conn, names, lockWithin); code(err) {
		case "55P03", "40P01": // lock not available, deadlock
			if !rest(ctx, lockPause) {
				return err
			}
		default:
			return err
		}
	}
	return migrateAll(ctx, conn, names, 0)
}

// migrateAll applies the missing migrations. It waits for each lock of a table at most
// so long; 0 for as long as it takes.
func migrateAll(ctx context.Context, conn *pgx.Conn, names []string, within time.Duration) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("beginning the migration of the tables: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after a commit
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return fmt.Errorf("waiting for another node that migrates the tables: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(within.Milliseconds(), 10)); err != nil {
		return fmt.Errorf("preparing the migration of the tables: %w", err)
	}
	version, err := schemaVersion(ctx, conn)
	if err != nil {
		return err
	}
	if version > len(names) {
		return newer(version, len(names))
	}
	for i := version; i < len(names); i++ {
		if err := migrateOne(ctx, conn, names[i], i+1); err != nil {
			return err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("migrating the tables: %w", err)
	}
	return nil
}

func newer(version, known int) error {
	return fmt.Errorf("the database was made by a newer punctual (tables of version %d, this one knows %d); use that version", version, known)
}

// schemaVersion returns how many migrations were applied; 0 if there are no tables.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var exists bool
	// Don't use to_regclass, which may have cached the result from before the lock.
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relname = 'schema_version' AND n.nspname = current_schema())`, pgx.QueryExecModeExec).Scan(&exists)
	if err == nil && exists {
		err = conn.QueryRow(ctx, `SELECT version FROM schema_version`, pgx.QueryExecModeExec).Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("reading the version of the tables: %w", err)
	}
	return version, nil
}

func migrateOne(ctx context.Context, conn *pgx.Conn, name string, version int) error {
	text, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	script := string(text)
	if version == 1 {
		script += `;CREATE TABLE schema_version (version integer NOT NULL); INSERT INTO schema_version VALUES (0);`
	}
	script += fmt.Sprintf(`;UPDATE schema_version SET version = %d;`, version)
	if _, err := conn.PgConn().Exec(ctx, script).ReadAll(); err != nil {
		return fmt.Errorf("migrating the tables with %s: %w", name, err)
	}
	return nil
}

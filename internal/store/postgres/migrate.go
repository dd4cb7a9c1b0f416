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

	"github.com/punctual-dev/punctual/internal/pause"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is held during each migration ("punctual", in ASCII). It is released
// with the transaction, so it works through a pooler too, also one that has a single
// connection to the server.
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

// migrate applies the missing migrations, each in a transaction of its own, so that none
// holds locks while others run. Of nodes that start at the same time, one applies a
// migration and the others wait.
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
	if err != nil {
		return err
	}
	return migrateFrom(ctx, conn, names, version)
}

// migrateFrom applies the migrations that tables of a version lack.
func migrateFrom(ctx context.Context, conn *pgx.Conn, names []string, version int) (err error) {
	for version < len(names) && err == nil {
		version, err = migrateNext(ctx, conn, names)
	}
	if err == nil && version > len(names) {
		return newer(version, len(names))
	}
	return err
}

// migrateNext applies the first missing migration. It tries again if that has to wait for
// a lock. It returns the version of the tables then.
func migrateNext(ctx context.Context, conn *pgx.Conn, names []string) (version int, err error) {
	for range lockTries {
		version, err = migrateOnce(ctx, conn, names, lockWithin)
		switch code(err) {
		case "55P03", "40P01": // lock not available, deadlock
			if !pause.For(ctx, lockPause) {
				return version, err
			}
		default:
			return version, err
		}
	}
	return migrateOnce(ctx, conn, names, 0)
}

// migrateOnce applies the first missing migration, if there is one, and returns the
// version of the tables then. It waits for each lock of a table at most so long; 0 for as
// long as it takes.
func migrateOnce(ctx context.Context, conn *pgx.Conn, names []string, within time.Duration) (version int, err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return 0, fmt.Errorf("beginning the migration of the tables: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // does nothing after a commit
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return 0, fmt.Errorf("waiting for another node that migrates the tables: %w", err)
	}
	if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, strconv.FormatInt(within.Milliseconds(), 10)); err != nil {
		return 0, fmt.Errorf("preparing the migration of the tables: %w", err)
	}
	// Another node may have applied it meanwhile.
	version, err = schemaVersion(ctx, conn)
	if err != nil || version >= len(names) {
		return version, err
	}
	if err := migrateOne(ctx, conn, names[version], version+1); err != nil {
		return version, err
	}
	if err := tx.Commit(ctx); err != nil {
		return version, fmt.Errorf("migrating the tables: %w", err)
	}
	return version + 1, nil
}

func newer(version, known int) error {
	return fmt.Errorf("the database was made by a newer punctual (tables of version %d, this one knows %d); use that version", version,
		known)
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

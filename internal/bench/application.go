package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	appoutbox "github.com/punctual-dev/punctual/client/outbox"
	schema "github.com/punctual-dev/punctual/internal/outbox"
)

// applicationSchema is the schema of PostgreSQL that holds the tables of the outbox and
// is dropped in the end.
const applicationSchema = "punctual_bench_outbox"

// application is the database of an application with an outbox.
type application struct {
	url     string // for the relay
	db      *sql.DB
	dialect appoutbox.Dialect
	drop    func(ctx context.Context) error
}

// newApplication makes the tables of an outbox: in a schema of its own on PostgreSQL, or
// in a SQLite file.
func (t *trial) newApplication(ctx context.Context) (a *application, err error) {
	dialect := "sqlite"
	if t.OutboxURL != "" {
		dialect = "postgres"
		a, err = openApplicationPostgres(ctx, t.OutboxURL)
	} else {
		a, err = openApplicationSQLite(filepath.Join(t.directory, fmt.Sprintf("application-%d.db", t.run)))
	}
	if err != nil {
		return nil, err
	}
	a.db.SetMaxOpenConns(outboxWriters)
	a.db.SetMaxIdleConns(outboxWriters)
	statements, err := schema.Schema(dialect)
	if err == nil {
		_, err = a.db.ExecContext(ctx, statements)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the tables of the outbox: %w", err), a.close(ctx))
	}
	return a, nil
}

func openApplicationPostgres(ctx context.Context, address string) (*application, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("--outbox-url can't be read; give one as in postgres://USER:PASSWORD@HOST/DATABASE")
	}
	query := u.Query()
	query.Set("search_path", applicationSchema)
	u.RawQuery = query.Encode()
	db, err := sql.Open("pgx", u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the application's database: %w", err)
	}
	drop := func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+applicationSchema+" CASCADE")
		return err
	}
	err = drop(ctx) // of a bench that was killed
	if err == nil {
		_, err = db.ExecContext(ctx, "CREATE SCHEMA "+applicationSchema)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the schema %s in the application's database: %w", applicationSchema, err), db.Close())
	}
	return &application{url: u.String(), db: db, dialect: appoutbox.PostgreSQL, drop: drop}, nil
}

func openApplicationSQLite(file string) (*application, error) {
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(WAL)"}}
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the application's database: %w", err)
	}
	return &application{url: "sqlite:" + file, db: db, dialect: appoutbox.SQLite, drop: func(context.Context) error {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(file + suffix) // the directory is removed in the end
		}
		return nil
	}}, nil
}

// close drops the tables, also after an interruption.
func (a *application) close(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
	defer stop()
	return errors.Join(a.drop(ctx), a.db.Close())
}

package pgtest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/test/pace"
)

// shared is the server of this process: its URL with %s for the database.
var shared = sync.OnceValues(func() (string, error) {
	if given := os.Getenv("TEST_DATABASE_URL"); given != "" {
		u, err := url.Parse(given)
		if err != nil {
			return "", fmt.Errorf("TEST_DATABASE_URL can't be read; give one as in postgres://USER@HOST:5432/DATABASE")
		}
		return given, pingable(given, u.Path)
	}
	var err error
	// Its databases are too small and short-lived to be vacuumed in turn, which with
	// hundreds of them would start a process ten times a second.
	if kept, err = start([]string{"autovacuum_naptime = 1h"}); err != nil {
		return "", err
	}
	return kept.URL("postgres"), nil
})

// kept is the server of this process. It is referred to for as long as the
// process lives, since its guard acts when the file to it is collected.
var kept *Server

func pingable(given, path string) error {
	if strings.Trim(path, "/") == "" {
		return fmt.Errorf("TEST_DATABASE_URL names no database")
	}
	return on(given, func(context.Context, *pgx.Conn) error { return nil })
}

// on runs f on a connection.
func on(databaseURL string, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), pace.Guard(time.Minute))
	defer cancel()
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }() // nothing hangs on it any more
	return f(ctx, conn)
}

var (
	counter   atomic.Int64
	templates sync.Map // names of template databases by key, each a func() (string, error)
)

// URL returns an empty database for one test.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, "template1")
}

// URLFrom returns a database for one test that is a copy of one that prepare has
// made ready, once for each key.
func URLFrom(t testing.TB, key string, prepare func(databaseURL string) error) string {
	t.Helper()
	made, _ := templates.LoadOrStore(key, sync.OnceValues(func() (string, error) {
		server, err := shared()
		if err != nil {
			return "", err
		}
		name := unique()
		err = on(server, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `CREATE DATABASE `+name)
			return err
		})
		if err == nil {
			err = prepare(named(server, name))
		}
		return name, err
	}))
	name, err := made.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return create(t, name)
}

func unique() string { return fmt.Sprintf("test_%d_%d", os.Getpid(), counter.Add(1)) }

// named returns a URL with another database.
func named(databaseURL, name string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return databaseURL // checked before
	}
	u.Path = "/" + name
	return u.String()
}

// CopyDatabase makes a database that is a copy of another one, on a server that does
// not wait for its disk: copying files costs less there than logging what they contain.
func CopyDatabase(ctx context.Context, conn *pgx.Conn, template, name string) error {
	statement := `CREATE DATABASE ` + name + ` TEMPLATE ` + template
	if conn.PgConn().ParameterStatus("server_version") >= "15" {
		statement += ` STRATEGY FILE_COPY`
	}
	_, err := conn.Exec(ctx, statement)
	return err
}

func create(t testing.TB, template string) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	name := unique()
	err = on(server, func(ctx context.Context, conn *pgx.Conn) error {
		if kept != nil {
			return CopyDatabase(ctx, conn, template, name)
		}
		_, err := conn.Exec(ctx, `CREATE DATABASE `+name+` TEMPLATE `+template)
		return err
	})
	if err != nil {
		t.Fatalf("making a database: %v", err)
	}
	if kept != nil {
		return named(server, name) // it goes with the server; dropping it would wait for a checkpoint
	}
	t.Cleanup(func() {
		err := on(server, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`)
			return err
		})
		if err != nil {
			t.Logf("removing the database %s: %v", name, err)
		}
	})
	return named(server, name)
}

package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"github.com/punctual-dev/punctual/internal/pause"
)

var sqliteDialect = dialect{
	name: "sqlite", now: `CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)`, json: "TEXT",
	columns: `id, job, CAST((julianday(created_at) - 2440587.5) * 86400000000 AS INTEGER) AS created, length(CAST(job AS BLOB)) AS size`,
	bind:    func(query string) string { return query }, lock: lockSQLite, restore: waitOthers,
	take: takeSQLite, again: busy,
}

// takeSQLite takes the first rows after those under way: one transaction writes at a time,
// so numbers are in the order of the commits. Rows are read one at a time and cost only
// what is read, so the query needs no bound of bytes.
func takeSQLite(ctx context.Context, tx *sql.Tx, s *source, t *turn) (rows []row, err error) {
	if !t.ahead {
		s.seq = math.MinInt64
	}
	found, err := tx.QueryContext(ctx, `SELECT seq, `+s.columns+` FROM punctual_outbox WHERE seq > ? ORDER BY seq LIMIT `+strconv.Itoa(t.want),
		s.seq)
	if err != nil {
		return nil, fmt.Errorf("reading rows of the outbox: %w", err)
	}
	defer func() { _ = found.Close() }()
	size := 0
	for found.Next() {
		var r row
		var created int64
		var bytes int
		if err := found.Scan(&r.seq, &r.id, &r.job, &created, &bytes); err != nil {
			return nil, fmt.Errorf("reading rows of the outbox: %w", err)
		}
		if size += bytes; len(rows) > 0 && size > maxBytes {
			break
		}
		r.createdAt = time.UnixMicro(created)
		rows, s.seq = append(rows, r), r.seq
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("reading rows of the outbox: %w", err)
	}
	return rows, nil
}

const (
	// lockEvery is how often the relay tries to become the writer, and lockWithin for how
	// long. SQLite's own waiting tries ever less often, up to each 100 ms: beside writers
	// that follow one another closely, it would find the lock free after seconds.
	// The first tries are at short pauses; a writer that takes longer is not asked so often.
	lockEvery  = time.Millisecond
	lockSlowly = 5 * time.Millisecond
	lockHasty  = 200 // tries
	lockWithin = 5 * time.Second
	// waitOthers is SQLite's own waiting in all other statements.
	waitOthers = `PRAGMA busy_timeout = 5000`
)

func busy(err error) bool {
	var failed *sqlite.Error
	return errors.As(err, &failed) && failed.Code()&0xff == 5 // SQLITE_BUSY
}

// lockSQLite makes a transaction that has read nothing the one that writes.
func lockSQLite(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, `PRAGMA busy_timeout = 0`); err != nil {
		return err
	}
	end := time.Now().Add(lockWithin)
	for try := 1; ; try++ {
		_, err := tx.ExecContext(ctx, `UPDATE punctual_outbox_relay SET id = id WHERE false`)
		if !busy(err) || !time.Now().Before(end) || ctx.Err() != nil {
			if err == nil { // the commit may have to wait for readers
				_, err = tx.ExecContext(ctx, waitOthers)
			}
			return err
		}
		if try < lockHasty {
			pause.For(ctx, lockEvery)
		} else {
			pause.For(ctx, lockSlowly)
		}
	}
}

func openSQLite(address string) (*source, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(address, "sqlite:"), "file:"), "//")
	if path == "" {
		return nil, errors.New("the URL of the outbox names no file; give one as in sqlite:app.db")
	}
	// A relay never creates a database: the application has it. Transactions wait for
	// other writers in lockSQLite.
	query := url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, errors.New("the URL of the outbox can't be used: " + err.Error())
	}
	return &source{db: db, dialect: &sqliteDialect}, nil
}

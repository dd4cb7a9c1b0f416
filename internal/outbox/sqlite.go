package outbox

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"

	"modernc.org/sqlite"
)

var sqliteDialect = dialect{
	name: "sqlite", now: `CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)`, json: "TEXT",
	columns: `id, job, CAST((julianday(created_at) - 2440587.5) * 86400000000 AS INTEGER) AS created, length(CAST(job AS BLOB)) AS size`,
	bind:    func(query string) string { return query },
	// One transaction writes at a time, so numbers are in the order of the commits.
	take: func(ctx context.Context, tx *sql.Tx, s *source, want int) ([]row, error) {
		rows, _, err := s.selectRows(ctx, tx, want, maxBytes, "seq", `seq > 0`)
		return rows, err
	},
	again: func(err error) bool {
		var failed *sqlite.Error
		return errors.As(err, &failed) && failed.Code()&0xff == 5 // SQLITE_BUSY
	},
}

func openSQLite(address string) (*source, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(address, "sqlite:"), "file:"), "//")
	if path == "" {
		return nil, errors.New("the URL of the outbox names no file; give one as in sqlite:app.db")
	}
	// A relay never creates a database: the application has it. Transactions wait for
	// other writers when they begin.
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, errors.New("the URL of the outbox can't be used: " + err.Error())
	}
	return &source{db: db, dialect: &sqliteDialect}, nil
}

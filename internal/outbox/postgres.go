package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

var postgres = dialect{
	name: "postgres", now: `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, json: "json",
	columns: `id::text AS id, job::text AS job, (extract(epoch FROM created_at) * 1000000)::bigint AS created, octet_length(job::text) AS size`,
	// All statements of a turn see one snapshot.
	options: &sql.TxOptions{Isolation: sql.LevelRepeatableRead},
	limit:   limitPostgres,
	bind:    numbered, take: takePostgres,
	again: func(err error) bool {
		var server *pgconn.PgError
		return errors.As(err, &server) && (server.Code == "40001" || server.Code == "40P01")
	},
}

// snapshot is which transactions were under way: the bound above which all were, and
// some below it.
type snapshot struct {
	bound   string
	running string // an array literal
}

// minFresh is how many bytes of a batch must be left to take rows above the position.
const minFresh = 1 << 20

func openPostgres(url string) (*source, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the outbox can't be read; give one as in postgres://USER:PASSWORD@HOST:5432/DATABASE")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	// Works behind poolers, which don't keep prepared statements.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return &source{db: stdlib.OpenDB(*config), dialect: &postgres}, nil
}

// limitPostgres holds for one transaction, so poolers don't matter. The second setting is
// for a server that waits for its client to read. The third has rows read in the order of
// an index: the table is empty most of the time, so the planner may believe that few rows
// wait, and would read and sort all of them for each batch. The penalty that this puts on
// the rows that are sorted nevertheless would start the compiler.
func limitPostgres(d time.Duration) string {
	ms := strconv.FormatInt(d.Milliseconds(), 10)
	return `SELECT set_config('idle_in_transaction_session_timeout', '` + ms + `', true), set_config('tcp_user_timeout', '` + ms +
		`', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true)`
}

// numbered replaces the question marks of a query by $1, $2 and so on.
func numbered(query string) string {
	parts := strings.Split(query, "?")
	b := strings.Builder{}
	for i, part := range parts {
		if b.WriteString(part); i < len(parts)-1 {
			b.WriteString("$" + strconv.Itoa(i+1))
		}
	}
	return b.String()
}

// takePostgres takes rows above the position, after those below it that were committed
// since. Those are of transactions that were under way at the last snapshot. They are
// found by their transactions, so that no rows are visited that were deleted, which an
// old transaction may keep for long.
func takePostgres(ctx context.Context, tx *sql.Tx, s *source, want int) ([]row, error) {
	var late []row
	var more bool
	var err error
	if before := s.snapshot; before != nil {
		// seq + 0: by the index of seq, all rows that were deleted would be visited.
		late, more, err = s.selectRows(ctx, tx, want, maxBytes, "seq + 0",
			`seq + 0 <= ? AND (tx = ANY(?::text::xid8[]) OR tx >= ?::text::xid8 AND tx < pg_snapshot_xmax(pg_current_snapshot()))`, s.seq,
			before.running, before.bound)
		if err != nil || more || sizeOf(late) > maxBytes-minFresh {
			return late, err // they come first, and the snapshot is needed for the others
		}
	}
	fresh, _, err := s.selectRows(ctx, tx, want-len(late), maxBytes-sizeOf(late), "seq", `seq > ?`, s.seq)
	if err != nil {
		return nil, err
	}
	if len(late) > 0 && sizeOf(late)+sizeOf(fresh) > maxBytes {
		fresh = nil // one row that is larger than what was left
	}
	var text string
	if err := tx.QueryRowContext(ctx, `SELECT pg_current_snapshot()::text`).Scan(&text); err != nil {
		return nil, fmt.Errorf("reading the snapshot of the outbox: %w", err)
	}
	if s.snapshot, err = parseSnapshot(text); err != nil {
		return nil, err
	}
	if len(fresh) > 0 {
		s.seq = fresh[len(fresh)-1].seq
	}
	return append(late, fresh...), nil
}

func sizeOf(rows []row) (size int) {
	for i := range rows {
		size += len(rows[i].job)
	}
	return size
}

// parseSnapshot reads a pg_snapshot: xmin:xmax:xip,….
func parseSnapshot(text string) (*snapshot, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("the snapshot %q can't be read", text)
	}
	return &snapshot{bound: parts[1], running: "{" + parts[2] + "}"}, nil
}

// listen wakes the relay at each notification, until ctx ends or the connection is lost.
func listen(ctx context.Context, url string, wake func()) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("connecting to listen for rows: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN punctual_outbox`); err != nil {
		return fmt.Errorf("listening for rows: %w", err)
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return fmt.Errorf("waiting for rows: %w", err)
		}
		wake()
	}
}

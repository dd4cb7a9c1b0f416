package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const postgresColumns = `id::text AS id, job::text AS job, (extract(epoch FROM created_at) * 1000000)::bigint AS created, octet_length(job::text) AS size`

var postgres = dialect{
	name: "postgres", now: `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, json: "json",
	columns: postgresColumns,
	// Statistics are kept over a stop and reset when the server recovers from a failure, and
	// those of a standby are its own. Before version 15 they take long to read.
	incarnated: `CASE WHEN current_setting('server_version_num')::int >= 150000
		THEN coalesce(extract(epoch FROM pg_stat_get_bgwriter_stat_reset_time())::text, '') ELSE '' END`,
	refused: func(err error) bool { return coded(err, "42501", "42883") },
	limit:   limitPostgres,
	bind:    numbered,
	turn:    turnPostgres,
	again:   func(err error) bool { return coded(err, "40001", "40P01") || unusable(err) },
}

// unusable reports whether a prepared statement is not there, is there already, or returned
// other types when it was prepared.
func unusable(err error) bool { return coded(err, "26000", "42P05", "0A000") }

// coded reports whether an error is of the server and has one of the codes.
func coded(err error, codes ...string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && slices.Contains(codes, server.Code)
}

func openPostgres(url string) (*source, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL of the outbox can't be read; give one as in postgres://USER:PASSWORD@HOST:5432/DATABASE")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	// Works behind poolers, of which some don't keep prepared statements.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return &source{db: stdlib.OpenDB(*config), dialect: &postgres}, nil
}

// limitPostgres holds for one transaction, so poolers don't matter. The second setting is
// for a server that waits for its client to read. The others are for the plans: the table
// is empty most of the time, so the planner may believe that few rows wait, and would read
// and sort all of them for each batch. By indexes alone, one plan is right for any number
// of rows, so that of a prepared query is kept. The penalty that this puts on the rows that
// are sorted nevertheless would start the compiler.
func limitPostgres(d time.Duration) string {
	ms := strconv.FormatInt(d.Milliseconds(), 10)
	return `SELECT set_config('idle_in_transaction_session_timeout', '` + ms + `', true), set_config('tcp_user_timeout', '` + ms +
		`', true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true),
		set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true)`
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

func sizeOf(rows []row) (size int) {
	for i := range rows {
		size += len(rows[i].job)
	}
	return size
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

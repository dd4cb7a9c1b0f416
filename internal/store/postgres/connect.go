package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/pause"
)

// started is the reference for monotonic times.
var started = time.Now()

const (
	// dialTimeout is the timeout of a TCP connection to one host, connectTimeout that of
	// a session over it as well. A host that is overloaded accepts connections long before
	// it has a process for them.
	dialTimeout    = 2 * time.Second
	connectTimeout = 5 * time.Second
	// deadAfter is how long a connection may be silent while data is expected.
	deadAfter = 5 * time.Second
	// controlConns is the number of connections for the watcher, heartbeats and
	// notices, which must not wait for other calls.
	controlConns = 3
)

// configure parses a URL and sets the timeouts that make connections fail fast.
func configure(databaseURL string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		// Don't wrap the error itself, which may contain the password.
		return nil, fmt.Errorf("the database URL can't be read; give one as in postgres://USER:PASSWORD@HOST:5432/DATABASE%s", hint(err))
	}
	given := parameters(databaseURL)
	if !given.Has("pool_max_conns") {
		config.MaxConns = connections[engine]
	}
	conn := config.ConnConfig
	dialing := conn.ConnectTimeout
	if conn.ConnectTimeout == 0 || !given.Has("connect_timeout") {
		conn.ConnectTimeout, dialing = connectTimeout, dialTimeout
	}
	dialer := &net.Dialer{
		Timeout: dialing, Control: giveUp,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3},
	}
	conn.DialFunc = dialer.DialContext
	// With several hosts in the URL, connect to the primary, not to a standby.
	if conn.ValidateConnect == nil {
		conn.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	conn.OnNotice = noteUnreplicated
	config.PingTimeout = time.Second
	config.MaxConnIdleTime = time.Minute // so that many nodes share what the server permits
	return config, nil
}

// hint returns the part of a parser's error that is safe to show.
func hint(err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return ""
	}
	if cause := errors.Unwrap(parse); cause != nil {
		var syntax *url.Error
		switch {
		case strings.ContainsAny(cause.Error(), "\"'`"):
			// It quotes a part of the URL. With a password that is not encoded, any part
			// may be of the password.
			return "; characters such as @, / and % in the user and the password must be percent-encoded"
		case !errors.As(cause, &syntax):
			return " (" + cause.Error() + ")"
		}
	}
	return ""
}

// parameters returns the query parameters of a URL. Package url can't parse URLs
// with several hosts.
func parameters(databaseURL string) url.Values {
	_, query, _ := strings.Cut(databaseURL, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil
	}
	return values
}

// adapt detects a pooler between the node and the server: it reports a process
// ID that is not the server's. Behind a pooler, statements can't be prepared,
// because the next one may go to another server process.
func adapt(ctx context.Context, config *pgxpool.Config, databaseURL string, waiting func(error)) (pooled bool, err error) {
	conn, err := connect(ctx, config.ConnConfig, waiting)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var version int
	var process uint32
	err = atOnce(ctx, func(ctx context.Context) error {
		return conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, pg_backend_pid()`,
			pgx.QueryExecModeExec).Scan(&version, &process)
	})
	if err != nil {
		return false, fmt.Errorf("reading the version of the database: %w", err)
	}
	if version < 140000 {
		return false, fmt.Errorf("the database is PostgreSQL %d; punctual needs 14 or newer", version/10000)
	}
	pooled = process != conn.PgConn().PID()
	if pooled && !parameters(databaseURL).Has("default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return pooled, nil
}

// startWithin is how long connect waits for a server that is starting, and then readTime
// for one that is busy.
const startWithin = 30 * time.Second

// connect opens a connection outside the pools. It retries while the server is
// starting or not yet up, and tells waiting, unless it is nil, of the first failure.
func connect(ctx context.Context, config *pgx.ConnConfig, waiting func(error)) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		conn, err := pgx.ConnectConfig(ctx, config.Copy())
		if err == nil {
			return conn, nil
		}
		err = connectError{err}
		if !comesUp(err) {
			return nil, notConnected(err)
		}
		if waiting != nil {
			waiting(err)
			waiting = nil
		}
		if !pause.For(ctx, 250*time.Millisecond) {
			return nil, unreached(err)
		}
	}
}

// notConnected is the error of a connection that a retry does not open. What the server
// says comes alone: before it, pgx says why there was no TLS, which is not the reason.
func notConnected(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return unreached(err)
	}
	advice := "check its URL, and the server's log"
	switch answer.Code {
	case "3D000": // invalid catalog name
		advice = "create the database, or correct its name in the URL"
	case "28P01": // invalid password
		advice = "check the user and the password in the URL; characters such as @, / and % must be percent-encoded"
	case "28000": // invalid authorization specification
		advice = "check the user in the URL, and that the server's pg_hba.conf permits it from here"
	case "42501": // insufficient privilege
		advice = "grant the user CONNECT on the database"
	}
	return fmt.Errorf("the database server refuses the connection; %s: %w", advice, answer)
}

func unreached(err error) error {
	return fmt.Errorf("the database can't be reached; check its URL, and that it runs: %w", err)
}

// connectError is pgx's error on one line: pgx writes a line for each address, with TLS
// and without, often the same.
type connectError struct{ error }

func (e connectError) Error() string {
	var parts []string
	for line := range strings.Lines(e.error.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(parts, line) {
			parts = append(parts, line)
		}
	}
	text := strings.Join(parts, "; ")
	return strings.Replace(text, ":; ", ": ", 1)
}

func (e connectError) Unwrap() error { return e.error }

// errSilent is the cause when a server has opened a session and does not respond in it.
var errSilent = fmt.Errorf("no response within %v; check that the database server is not suspended or overloaded", connectTimeout)

// atOnce bounds a read that waits for nothing in the database.
func atOnce(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, errSilent)
	defer cancel()
	err := read(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return errSilent // err says only that the time is over
	}
	return err
}

// comesUp reports whether the server may be up on a retry.
func comesUp(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code == "57P03" || answer.Code == "53300"
	}
	var dns *net.DNSError
	return !errors.As(err, &dns)
}

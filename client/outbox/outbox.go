package outbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
)

// MaxJob is how many bytes a job may have as JSON.
const MaxJob = 1 << 20

// ErrTooLarge reports a job of more than MaxJob bytes.
var ErrTooLarge = errors.New("punctual: the job is larger than 1 MiB; send a reference to its data in place of the data")

// DB is a transaction of database/sql: *sql.Tx, or *sql.Conn in one.
type DB interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// PGX is a transaction of pgx: Tag is pgconn.CommandTag.
type PGX[Tag any] interface {
	Exec(ctx context.Context, query string, args ...any) (Tag, error)
}

// Dialect is how a database writes parameters.
type Dialect int

// The dialects.
const (
	PostgreSQL Dialect = iota // $1
	MySQL                     // ?, also MariaDB
	SQLite                    // ?
)

// Option is an option of an enqueue.
type Option func(*options)

type options struct {
	table   string
	key     *string
	dialect Dialect
}

// OrderingKey keeps the order of the rows with the same key.
func OrderingKey(key string) Option { return func(o *options) { o.key = &key } }

// Table names the table, if it isn't punctual_outbox in the search path. It is part of
// the statement as it is.
func Table(name string) Option { return func(o *options) { o.table = name } }

// In says which database the transaction is of; PostgreSQL by default.
func In(d Dialect) Option { return func(o *options) { o.dialect = d } }

// Enqueue adds a job to the outbox in a transaction of database/sql. It returns the id
// of the row, which is the request_id of the job: once the transaction is committed,
// the job is created, and if it is rolled back, it never was.
func Enqueue(ctx context.Context, tx DB, job client.JobRequest, opts ...Option) (id string, err error) {
	id, query, args, err := statement(job, opts)
	if err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return "", fmt.Errorf("punctual: adding a job to the outbox: %w", err)
	}
	return id, nil
}

// EnqueuePGX is Enqueue for a transaction of pgx.
func EnqueuePGX[Tag any](ctx context.Context, tx PGX[Tag], job client.JobRequest, opts ...Option) (id string, err error) {
	id, query, args, err := statement(job, opts)
	if err != nil {
		return "", err
	}
	if _, err := tx.Exec(ctx, query, args...); err != nil {
		return "", fmt.Errorf("punctual: adding a job to the outbox: %w", err)
	}
	return id, nil
}

func statement(job client.JobRequest, opts []Option) (id, query string, args []any, err error) {
	o := options{table: "punctual_outbox"}
	for _, option := range opts {
		option(&o)
	}
	if job.RequestID != "" {
		return "", "", nil, errors.New("punctual: the outbox sets RequestID to the id of the row; leave it out")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(job); err != nil {
		return "", "", nil, fmt.Errorf("punctual: encoding the job: %w", err)
	}
	body := strings.TrimSuffix(text.String(), "\n")
	if len(body) > MaxJob {
		return "", "", nil, ErrTooLarge
	}
	id = newID(time.Now())
	query = "INSERT INTO " + o.table + " (id, job, ordering_key) VALUES ($1, $2, $3)"
	if o.dialect != PostgreSQL {
		query = "INSERT INTO " + o.table + " (id, job, ordering_key) VALUES (?, ?, ?)"
	}
	var key any
	if o.key != nil {
		key = *o.key
	}
	return id, query, []any{id, body, key}, nil
}

// newID returns a UUID of version 7 (RFC 9562, section 5.7).
func newID(at time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := at.UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	b[6], b[8] = 0x70|b[6]&0x0f, 0x80|b[8]&0x3f
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// writeWithin is how long a change may take. A server that does not answer
	// at all is noticed sooner: see watch.
	writeWithin = 5 * time.Second
	// maxTries is how often a transaction is made again that failed in a way
	// that passes.
	maxTries = 8
)

// settle is the first statement of every transaction. A server keeps the locks
// of a client that vanished for a few seconds only. And plans are made for the
// tables as they are, by indexes: statistics of a queue are of another moment.
const settle = `SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('statement_timeout', '10s', true),
	set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// query is one statement of a round trip.
type query struct {
	sql   string
	args  []any
	start func()               // called before rows are read, also when they are read again; may be nil
	row   func(pgx.Rows) error // called for each row; nil when there are none to read
}

// tx is a transaction under way.
type tx struct {
	conn  *pgxpool.Conn
	store *Store
	ctx   context.Context
	class class // whose connection it has
	now   time.Time
	begun bool
	ended bool

	refs    []store.QueueKey // runs stored, to tell of after the commit
	foreign []store.QueueKey // runs given back, to tell others of
	cancels []int64          // nodes that have cancels to read
}

// run sends statements in one round trip.
func (t *tx) run(queries ...query) error { return t.send(queries, false) }

// commit sends statements and the commit in one round trip.
func (t *tx) commit(queries ...query) error { return t.send(queries, true) }

func (t *tx) send(queries []query, commit bool) error {
	batch := &pgx.Batch{}
	skip := 0
	if !t.begun {
		batch.Queue(`BEGIN`)
		batch.Queue(t.class.settle())
		skip = 2
	}
	for _, q := range queries {
		batch.Queue(q.sql, q.args...)
	}
	if commit {
		batch.Queue(`COMMIT`)
	}
	t.begun = true
	results := t.conn.SendBatch(t.ctx, batch)
	err := t.receive(results, skip, queries)
	if err == nil && commit {
		err = t.committed(results)
	}
	if closed := results.Close(); err == nil && !t.ended {
		err = closed
	}
	switch state := code(err); {
	case err == nil, t.ended, pgconn.SafeToRetry(err):
		return err
	case commit && (state == "" || strings.HasPrefix(state, "08")):
		t.ended = true // one way or the other
		return fmt.Errorf("%w: %w", errUnknown, err)
	case state == "":
		return unsent(err) // without its commit a transaction comes to nothing
	}
	return err
}

func (t *tx) receive(results pgx.BatchResults, skip int, queries []query) error {
	for range skip {
		if _, err := results.Exec(); err != nil {
			return fmt.Errorf("beginning a transaction: %w", err)
		}
	}
	for _, q := range queries {
		rows, err := results.Query()
		if err != nil {
			return fmt.Errorf("running %.60q: %w", q.sql, err)
		}
		if q.start != nil {
			q.start()
		}
		for rows.Next() {
			if q.row == nil {
				continue
			}
			if err := q.row(rows); err != nil {
				rows.Close()
				return fmt.Errorf("reading rows of %.60q: %w", q.sql, err)
			}
		}
		if rows.Close(); rows.Err() != nil {
			return fmt.Errorf("running %.60q: %w", q.sql, rows.Err())
		}
	}
	return nil
}

// errUnknown marks a transaction whose commit was sent and not answered.
var errUnknown = errors.New("whether the transaction was committed is not known")

// committed reads the answer to COMMIT: what is not answered may have happened.
func (t *tx) committed(results pgx.BatchResults) error {
	tag, err := results.Exec()
	switch {
	case err == nil && tag.String() == "COMMIT":
		t.ended = true
		return nil
	case err == nil:
		t.ended = true
		return errors.New("the transaction was rolled back")
	default:
		return fmt.Errorf("committing: %w", err)
	}
}

// rollback ends a transaction that was not committed.
func (t *tx) rollback() {
	if t.begun && !t.ended && !t.conn.Conn().IsClosed() && t.conn.Conn().PgConn().TxStatus() != 'I' {
		_, err := t.conn.Exec(t.ctx, `ROLLBACK`)
		if err != nil {
			_ = t.conn.Conn().Close(t.ctx) // the server rolls it back
		}
	}
}

// errAgain asks for a transaction to be made again: something moved between
// two of its statements.
var errAgain = errors.New("a row has moved meanwhile")

// write runs f in a transaction until it has come through, and tells of what
// it stored. It is carried out whatever becomes of ctx, so that its caller
// knows the outcome. f may be called several times and must set its results,
// not add to them; it ends with commit.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if ctx.Err() != nil {
		return fault.Unreachable(ctx.Err())
	}
	ctx, cancel, err := s.contact.bound(context.WithoutCancel(ctx), writeWithin)
	if err != nil {
		return err
	}
	defer cancel()
	for try := 1; ; try++ {
		t := &tx{store: s, ctx: ctx, now: s.Now()}
		err := s.attempt(t, f)
		if err == nil {
			s.published(t)
			return nil
		}
		if try == maxTries || !passes(err) || !rest(ctx, time.Duration(try*try)*2*time.Millisecond) {
			return s.wrap(ctx, err)
		}
	}
}

func (s *Store) attempt(t *tx, f func(*tx) error) (err error) {
	defer func() { // after the rollback
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanicked, broken, debug.Stack())
		}
	}()
	if t.conn, err = s.pools[t.class].Acquire(t.ctx); err != nil {
		return unsent(err)
	}
	defer t.conn.Release()
	defer t.rollback()
	return f(t)
}

// published tells of what a transaction has stored.
func (s *Store) published(t *tx) {
	if len(t.refs) > 0 {
		s.tell(store.Notice{Items: t.refs})
	}
	s.teller.stored(t.refs)
	s.teller.stored(t.foreign)
	s.teller.cancelled(t.cancels)
}

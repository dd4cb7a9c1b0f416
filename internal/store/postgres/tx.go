package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// writeWithin is the usual timeout of a write. The watcher detects a server that does
	// not respond at all sooner.
	writeWithin = 5 * time.Second
	// maxTries is the maximum number of attempts at a transaction.
	maxTries = 8
)

// query is one statement of a round trip.
type query struct {
	sql   string
	args  []any
	start func()                     // called before rows are read, again on a retry; may be nil
	row   func(pgx.Rows) error       // called for each row; nil if there are none to read
	end   func(affected int64) error // called after the rows; its fault is returned at the end; may be nil
}

// tx is a transaction under way.
type tx struct {
	conn  *pgxpool.Conn
	store *Store
	ctx   context.Context
	class class // the class of its connection
	acks  bool  // clients may be told what it has read
	now   time.Time
	begun bool
	ended bool

	refs    []store.QueueKey  // stored items, for notices after the commit
	foreign []store.QueueKey  // released items, for notices to other nodes
	cancels []int64           // nodes that have cancels to read
	wakes   []store.LimitWake // lines of limits to be planned
	alerts  bool              // alerts have changed
	// released: jobs have ended for which others wait.
	released bool
	refused  error // what a query's end has returned
}

// run sends statements in one round trip.
func (t *tx) run(queries ...query) error { return t.send(queries, false) }

// commit sends statements and the commit in one round trip.
func (t *tx) commit(queries ...query) error { return t.send(queries, true) }

func (t *tx) send(queries []query, commit bool) error {
	batch := &pgx.Batch{}
	skip := 0
	// A read in one round trip is one transaction as it is: it ends with the Sync.
	bare := commit && !t.begun && !t.acks && !t.store.pooled
	if !t.begun {
		if !bare {
			batch.Queue(`BEGIN`)
			skip++
		}
		if t.store.pooled {
			batch.Queue(setStatements[t.class])
			skip++
		} else if t.class == engine && oldPlans(t.conn.Conn().PgConn()) {
			batch.Queue(`DISCARD PLANS`)
			skip++
		}
	}
	if commit && t.acks && t.store.replicated.Load() {
		queries = append(slices.Clip(queries), awaitStandby)
	}
	for _, q := range queries {
		batch.Queue(q.sql, q.args...)
	}
	if commit && !bare {
		batch.Queue(`COMMIT`)
	}
	if !t.begun {
		forgetUnreplicated(t.conn.Conn().PgConn())
	}
	t.begun = true
	results := t.conn.SendBatch(t.ctx, batch)
	err := t.receive(results, skip, queries)
	if err == nil && commit && !bare {
		err = t.committed(results)
	}
	if closed := results.Close(); err == nil && !t.ended {
		err = closed
	}
	if err == nil || code(err) != "" {
		t.store.contact.responded()
	}
	if err == nil {
		return t.refused
	}
	var own localError
	switch state := code(err); {
	case t.ended, pgconn.SafeToRetry(err), errors.As(err, &own) && (!own.sent || !commit):
		return err
	case commit && (state == "" || strings.HasPrefix(state, "08")):
		t.ended = true // committed or not
		return fmt.Errorf("%w: %w", errUnknown, err)
	case state == "":
		return unsent(err) // without its commit, the transaction has no effect
	}
	return err
}

func (t *tx) receive(results pgx.BatchResults, skip int, queries []query) error {
	for i := range skip {
		if _, err := results.Exec(); err != nil {
			if i == 0 {
				err = encoding(err)
			}
			return fmt.Errorf("beginning a transaction: %w", err)
		}
	}
	for i, q := range queries {
		rows, err := results.Query()
		if err != nil {
			if i+skip == 0 {
				err = encoding(err)
			}
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
				return fmt.Errorf("reading rows of %.60q: %w", q.sql, decoding(err))
			}
		}
		if rows.Close(); rows.Err() != nil {
			return fmt.Errorf("running %.60q: %w", q.sql, rows.Err())
		}
		if q.end != nil && t.refused == nil {
			t.refused = q.end(rows.CommandTag().RowsAffected())
		}
	}
	return nil
}

// errUnknown marks the error of a transaction without a response to its commit.
var errUnknown = errors.New("whether the transaction was committed is not known")

// committed reads the response to COMMIT. Without one, the commit may have
// happened.
func (t *tx) committed(results pgx.BatchResults) error {
	tag, err := results.Exec()
	switch {
	case err == nil && tag.String() == "COMMIT":
		t.ended = true
		return replicated(t.conn.Conn().PgConn())
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

// errRetry asks for a retry of the transaction: a row changed between two of its
// statements.
var errRetry = errors.New("a row has changed meanwhile")

// write runs f in a transaction, retries it if necessary and sends notices of the
// stored items. Once begun, it is completed even if ctx ends, so that the caller
// knows the outcome. It may call f several times, so f must set its results, not
// add to them. f must end with commit.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if ctx.Err() != nil {
		return fault.Unreachable(ctx.Err())
	}
	ctx, cancel, err := s.contact.bound(context.WithoutCancel(ctx), s.writeWithin)
	if err != nil {
		return err
	}
	defer cancel()
	for try := 1; ; try++ {
		t := &tx{store: s, ctx: ctx, now: s.Now(), acks: true}
		err := s.attempt(t, f)
		if err == nil {
			s.published(t)
			return nil
		}
		if try == maxTries || !passes(err) || !pause.For(ctx, time.Duration(try*try)*2*time.Millisecond) {
			return s.wrap(ctx, err)
		}
	}
}

func (s *Store) attempt(t *tx, f func(*tx) error) error {
	return fault.Guard(func() (err error) {
		if t.conn, err = s.pools[t.class].Acquire(t.ctx); err != nil {
			return unsent(err)
		}
		defer t.conn.Release()
		defer t.rollback()
		return f(t)
	})
}

// published sends notices of the items that a transaction has stored.
func (s *Store) published(t *tx) {
	if len(t.refs)+len(t.wakes) > 0 || t.released {
		s.publish(store.Notice{Items: t.refs, Limits: t.wakes, Released: t.released})
	}
	s.notifier.stored(t.refs)
	s.notifier.stored(t.foreign)
	s.notifier.cancelled(t.cancels)
	if t.alerts {
		s.notifier.alertsChanged()
	}
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// tx is a transaction under way.
type tx struct {
	conn       *sqlite.Conn
	store      *Store
	statements connStatements // of conn, once one was run
	now        time.Time
	refs       []store.QueueKey    // stored queue items, for the subscriber after the commit
	wakes      []store.LimitWake   // lines to be planned, for the subscriber
	released   bool                // jobs have ended for which others wait
	lastJob    int64               // the highest number of a stored job; see numbers
	wrote      bool                // the write under way has changed a row
	used       map[int64]store.Use // changes of accounts' usage, applied after the commit
}

// exec runs a statement that returns no rows.
func (t *tx) exec(query string, args ...any) error {
	return t.query(query, nil, args...)
}

// errStop ends a query early, without an error.
var errStop = errors.New("no more rows are needed")

// localError marks an error of a statement, or of reading its row. Unless its code says
// that the file can't be used now, it is this program's own, and a retry fails again.
type localError struct{ error }

func (e localError) Unwrap() error { return e.error }

// decoding marks the error of reading a row as local, unless it is meant for the caller.
func decoding(err error) error {
	if errors.As(err, new(*fault.Error)) {
		return err
	}
	return localError{err}
}

// query runs a statement and calls row, which may be nil, for each row.
func (t *tx) query(query string, row func(*sqlite.Stmt) error, args ...any) error {
	if t.statements == nil {
		t.statements = t.store.statements.of(t.conn)
	}
	stmt, err := t.statements.get(t.conn, query)
	if err != nil {
		return fmt.Errorf("preparing %.60q: %w", query, localError{err})
	}
	defer release(stmt, args)
	return t.run(stmt, query, row, args...)
}

// run runs a prepared statement; see query.
func (t *tx) run(stmt *sqlite.Stmt, query string, row func(*sqlite.Stmt) error, args ...any) error {
	for i, arg := range args {
		bind(stmt, i+1, arg)
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			_ = stmt.Reset() // returns the same error
			return fmt.Errorf("running %.60q: %w", query, localError{err})
		}
		if !more {
			return nil
		}
		if row == nil {
			continue
		}
		switch err := row(stmt); {
		case err == nil:
		case err == errStop:
			return stmt.Reset()
		default:
			_ = stmt.Reset()
			return decoding(err)
		}
	}
}

// changed returns how many rows the last statement wrote.
func (t *tx) changed() int { return t.conn.Changes() }

// instant is a time that is never null: the zero time is stored as a value.
type instant time.Time

func bind(stmt *sqlite.Stmt, i int, arg any) {
	switch v := arg.(type) {
	case nil:
		stmt.BindNull(i)
	case bool:
		stmt.BindBool(i, v)
	case int:
		stmt.BindInt64(i, int64(v))
	case int64:
		stmt.BindInt64(i, v)
	case uint32:
		stmt.BindInt64(i, int64(v))
	case store.Kind:
		stmt.BindInt64(i, int64(v))
	case job.State:
		stmt.BindInt64(i, int64(v))
	case job.Channel:
		stmt.BindInt64(i, int64(v))
	case *int64:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindInt64(i, *v)
		}
	case *float64:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindFloat(i, *v)
		}
	case string:
		stmt.BindText(i, v)
	case *string:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindText(i, *v)
		}
	case rawjson.Value:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindText(i, string(v))
		}
	case []byte:
		if v == nil {
			stmt.BindNull(i)
		} else {
			stmt.BindBytes(i, v)
		}
	case uuid.UUID:
		if v == uuid.Nil {
			stmt.BindNull(i)
		} else {
			stmt.BindBytes(i, v[:])
		}
	case time.Time:
		if v.IsZero() {
			stmt.BindNull(i)
		} else {
			stmt.BindInt64(i, v.UnixMicro())
		}
	case instant:
		stmt.BindInt64(i, time.Time(v).UnixMicro())
	default:
		panic(fmt.Sprintf("no binding for %T", arg))
	}
}

// columns reads a row from left to right.
type columns struct {
	stmt *sqlite.Stmt
	next int
}

func (c *columns) step() int { c.next++; return c.next - 1 }

func (c *columns) int64() int64 { return c.stmt.ColumnInt64(c.step()) }
func (c *columns) int() int     { return int(c.int64()) }
func (c *columns) text() string { return c.stmt.ColumnText(c.step()) }

func (c *columns) optional() *string {
	i := c.step()
	if c.stmt.ColumnIsNull(i) {
		return nil
	}
	text := c.stmt.ColumnText(i)
	return &text
}

func (c *columns) optionalInt64() *int64 {
	i := c.step()
	if c.stmt.ColumnIsNull(i) {
		return nil
	}
	n := c.stmt.ColumnInt64(i)
	return &n
}

func (c *columns) optionalFloat64() *float64 {
	i := c.step()
	if c.stmt.ColumnIsNull(i) {
		return nil
	}
	n := c.stmt.ColumnFloat(i)
	return &n
}

// duration reads microseconds.
func (c *columns) duration() time.Duration { return time.Duration(c.int64()) * time.Microsecond }

func (c *columns) json() rawjson.Value { return c.blob() }

// blob returns the bytes of a blob or a text; nil for null.
func (c *columns) blob() []byte {
	i := c.step()
	if c.stmt.ColumnIsNull(i) {
		return nil
	}
	b := make([]byte, c.stmt.ColumnLen(i))
	c.stmt.ColumnBytes(i, b)
	return b
}

func (c *columns) uuid() uuid.UUID {
	var id uuid.UUID
	c.stmt.ColumnBytes(c.step(), id[:])
	return id
}

func (c *columns) time() time.Time {
	i := c.step()
	if c.stmt.ColumnIsNull(i) {
		return time.Time{}
	}
	return time.UnixMicro(c.stmt.ColumnInt64(i)).UTC()
}

// owners caches the UUIDs of accounts by number, which never change.
type owners struct {
	mu  sync.RWMutex
	ids map[int64]uuid.UUID
}

func (t *tx) owner(number int64) (job.Owner, error) {
	o := &t.store.accounts
	o.mu.RLock()
	id, known := o.ids[number]
	o.mu.RUnlock()
	if known {
		return job.Owner{ID: id, Number: number}, nil
	}
	err := t.query(`SELECT id FROM accounts WHERE number = ?`, func(stmt *sqlite.Stmt) error {
		id = (&columns{stmt: stmt}).uuid()
		return nil
	}, number)
	if err != nil {
		return job.Owner{}, fmt.Errorf("reading account %d: %w", number, err)
	}
	if id == uuid.Nil {
		return job.Owner{}, fmt.Errorf("account %d does not exist", number)
	}
	o.mu.Lock()
	o.ids[number] = id
	o.mu.Unlock()
	return job.Owner{ID: id, Number: number}, nil
}

// one reads a single value; nil if there is none.
func one[T any](ctx context.Context, s *Store, get func(*tx) (*T, error)) (*T, error) {
	return oneAs(ctx, s, single, get)
}

// oneAs is like one, on a connection of a class.
func oneAs[T any](ctx context.Context, s *Store, of class, get func(*tx) (*T, error)) (*T, error) {
	var found *T
	err := s.readAs(ctx, of, func(t *tx) (err error) {
		found, err = get(t)
		return err
	})
	return found, err
}

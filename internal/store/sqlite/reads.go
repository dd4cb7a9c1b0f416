package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/punctual-dev/punctual/internal/fault"
)

// class is the purpose of a read. Each class has its own connections, so that
// reads of one class don't wait for another.
type class int

const (
	engine     class = iota // the queue, and the records to fire
	access                  // accounts, their secrets, keys and sessions
	single                  // single records, found by an index
	pages                   // lists whose cost is bounded by their length
	heavy                   // lists that are sorted, or skip many records
	background              // counts and copies of all records
	classes
)

// connections is the number of connections of each class. Each heavy read
// occupies a core.
var connections = [classes]int{engine: 3, access: 2, single: 3, pages: 3, heavy: 2, background: 1}

// bounded reports whether reads of a class have a timeout, because clients can
// make them slow.
func (c class) bounded() bool { return c == single || c == pages || c == heavy }

// classOf returns the class of a list.
func classOf(isHeavy bool) class {
	if isHeavy {
		return heavy
	}
	return pages
}

type pools [classes]*sqlitex.Pool

func (p *pools) open(path string) (err error) {
	for c := range p {
		p[c], err = sqlitex.NewPool(path, sqlitex.PoolOptions{
			Flags: sqlite.OpenReadOnly | sqlite.OpenWAL, PoolSize: connections[c],
			PrepareConn: func(c *sqlite.Conn) error {
				c.SetBusyTimeout(busyTimeout)
				return sqlitex.ExecuteTransient(c, fmt.Sprintf(`PRAGMA cache_size = -%d`, readerCache>>10), nil)
			},
		})
		if err != nil {
			return errors.Join(err, p.close())
		}
	}
	return nil
}

func (p *pools) close() error {
	var errs []error
	for _, pool := range p {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	return errors.Join(errs...)
}

// errLate is the cancellation cause of a read that exceeded its timeout.
var errLate = errors.New("a read has taken too long")

// read is readAs for single records.
func (s *Store) read(ctx context.Context, f func(*tx) error) error { return s.readAs(ctx, single, f) }

// readAs runs f in a read transaction on a connection of a class.
func (s *Store) readAs(ctx context.Context, c class, f func(*tx) error) error {
	asked := ctx
	if c.bounded() {
		bounded, cancel := context.WithTimeoutCause(ctx, s.readWithin, errLate)
		defer cancel()
		ctx = bounded
	}
	conn, err := s.pools[c].Take(ctx)
	if err != nil {
		if asked.Err() == nil && context.Cause(ctx) == errLate {
			return fault.Busy(err)
		}
		return fault.Unreachable(err)
	}
	defer s.pools[c].Put(conn)
	end := sqlitex.Transaction(conn)
	err = f(&tx{conn: conn, store: s, now: s.Now()})
	end(&err)
	if err != nil && asked.Err() == nil && context.Cause(ctx) == errLate {
		return fault.SlowRead(err)
	}
	return s.wrap(asked, err)
}

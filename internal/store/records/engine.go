package records

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// Engine runs statements in a database. The text of each is translated by the
// Engine's Dialect.
type Engine interface {
	Dialect() Dialect
	// Now returns the time by the database's clock.
	Now() time.Time
	// Read runs queries in one transaction, and in one round trip where there is one.
	// It may run them again after a fault of the connection.
	Read(ctx context.Context, class Class, queries ...Query) error
	// Write runs f in a transaction, then the queries that f returns, and commits. The
	// last queries and the commit share a round trip. If f returns an error, nothing is
	// stored. f may be called again if the transaction is retried, so it must set its
	// results, not add to them. A fault must come before the first change: SQLite
	// commits several transactions as one, and does not undo a single one.
	Write(ctx context.Context, f func(Tx) (last []Query, err error)) error
	// WriteSized is Write for a function that stores approximately size bytes.
	WriteSized(ctx context.Context, size int, f func(Tx) (last []Query, err error)) error
}

// Tx is a transaction under way.
type Tx interface {
	// Run runs queries in one round trip.
	Run(queries ...Query) error
	// Now returns the time by the database's clock.
	Now() time.Time
	// Notify sends a notice to this process's engine, and to other nodes, after the
	// commit. It takes the fields Limits and Alerts.
	Notify(store.Notice)
}

// Class is the purpose of a read. An Engine gives each class its own connections, so
// that reads of one don't wait for those of another.
type Class int

// The classes of reads.
const (
	Background Class = iota // of all accounts' records
	Access                  // accounts, their secrets, keys and sessions
	Single                  // single records of an account
	Pages                   // lists whose cost is bounded by their length
	Heavy                   // lists that are sorted, or skip many records
	Queue                   // what the node's own loops read
)

// Query is one statement.
type Query struct {
	SQL  string // as the package comment describes
	Args []any  // of types that Plain takes
	// Start is called before the rows are read, and again on a retry. May be nil.
	Start func()
	// Row is called for each row; nil if there are none to read.
	Row func(Row) error
	// None is returned if the statement returned and changed no row. It must be a fault.
	// The statements after it are not run then.
	None error
	// Taken is returned if a unique index has the row's values already. It must be a
	// fault.
	Taken error
	// Changed is set to the number of rows that the statement changed, unless it is nil.
	Changed *int
	// Lock: the statement only keeps other transactions out. SQLite, which has one
	// writer, does not run it.
	Lock bool
}

// Row is a row of a result.
type Row interface {
	// Scan reads the row's columns from left to right into pointers to bool, int, int64,
	// float64, string, []byte, rawjson.Value, uuid.UUID, time.Time, time.Duration,
	// *string, *int64 or *float64. Null is the zero value of all but numbers and
	// booleans, which must not be null.
	Scan(to ...any) error
}

// Records implements the methods of store.Store for records that need not be fast.
// Stores embed it.
type Records struct {
	engine   Engine
	deletion chan struct{} // full while a record is deleted that others may name
}

// New returns the records in a database.
func New(engine Engine) *Records { return &Records{engine, make(chan struct{}, 1)} }

// write is Write for statements that need nothing from each other's results.
func (r *Records) write(ctx context.Context, queries ...Query) error {
	return r.engine.Write(ctx, func(Tx) ([]Query, error) { return queries, nil })
}

// prune deletes up to a number of a table's rows, and returns how many it deleted.
// The condition is the rest of a SELECT, from WHERE to LIMIT.
func (r *Records) prune(ctx context.Context, table string, key []string, condition string, args ...any) (n int, err error) {
	err = r.write(ctx, Query{SQL: r.engine.Dialect().DeleteSome(table, key, condition), Args: args, Changed: &n})
	return n, err
}

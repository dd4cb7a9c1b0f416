package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// recordsEngine runs the statements of package records.
type recordsEngine struct{ store *Store }

// Dialect implements records.Engine.
func (recordsEngine) Dialect() records.Dialect { return records.SQLite }

// Now implements records.Engine.
func (e recordsEngine) Now() time.Time { return e.store.Now() }

var classOfRecords = map[records.Class]class{
	records.Background: background, records.Access: access, records.Single: single, records.Pages: pages, records.Heavy: heavy,
	records.Queue: engine,
}

// Read implements records.Engine.
func (e recordsEngine) Read(ctx context.Context, of records.Class, queries ...records.Query) error {
	return e.store.readAs(ctx, classOfRecords[of], func(t *tx) error { return t.Run(queries...) })
}

// Write implements records.Engine.
func (e recordsEngine) Write(ctx context.Context, f func(records.Tx) ([]records.Query, error)) error {
	return e.WriteSized(ctx, 0, f)
}

// WriteSized implements records.Engine.
func (e recordsEngine) WriteSized(ctx context.Context, size int, f func(records.Tx) ([]records.Query, error)) error {
	return e.store.writeSized(ctx, size, func(t *tx) error {
		t.wrote = false
		last, err := f(t)
		if err == nil {
			err = t.Run(last...)
		}
		if t.wrote && errors.As(err, new(*fault.Error)) {
			// Other writes share the transaction: it must be rolled back.
			return fmt.Errorf("refused after a change: %s", err.Error())
		}
		return err
	})
}

// Run implements records.Tx.
func (t *tx) Run(queries ...records.Query) error {
	for i := range queries {
		if queries[i].Lock {
			continue
		}
		if err := t.runOne(&queries[i]); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) runOne(q *records.Query) error {
	if q.Start != nil {
		q.Start()
	}
	args := make([]any, len(q.Args))
	for i, arg := range q.Args {
		args[i] = plain(arg)
	}
	n, changed := 0, 0
	err := t.query(records.SQLite.Text(q.SQL), func(stmt *sqlite.Stmt) error {
		n++
		if q.Row == nil {
			return nil
		}
		return q.Row(row{&columns{stmt: stmt}})
	}, args...)
	if err == nil && writes(q.SQL) {
		changed = t.changed()
		t.wrote = t.wrote || changed > 0
	}
	switch {
	case err != nil && q.Taken != nil && (sqlite.ErrCode(err) == sqlite.ResultConstraintUnique ||
		sqlite.ErrCode(err) == sqlite.ResultConstraintPrimaryKey):
		return q.Taken
	case err != nil:
		return err
	case q.None != nil && n == 0 && changed == 0:
		return q.None
	}
	if q.Changed != nil {
		*q.Changed = changed
	}
	return nil
}

// writes reports whether a statement may change rows.
func writes(sql string) bool {
	verb, _, _ := strings.Cut(sql, " ")
	return verb == "INSERT" || verb == "UPDATE" || verb == "DELETE"
}

// Now implements records.Tx.
func (t *tx) Now() time.Time { return t.now }

// Notify implements records.Tx. There is no other process that has alerts to read.
func (t *tx) Notify(n store.Notice) {
	t.wakes = append(t.wakes, n.Limits...)
	t.released = t.released || n.Released
}

// plain returns an argument as bind takes it.
func plain(arg any) any {
	switch v := records.Plain(arg).(type) {
	case float64:
		return &v
	case uuid.UUID:
		return v[:] // null only if the argument is
	case []string:
		return listed(v)
	case []int64:
		return listed(v)
	default:
		return v
	}
}

// listed returns a list for json_each.
func listed[T string | int64](values []T) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(err) // strings and numbers have a form
	}
	return string(text)
}

// row implements records.Row.
type row struct{ *columns }

// Scan implements records.Row.
func (r row) Scan(to ...any) error {
	for _, target := range to {
		switch v := target.(type) {
		case *bool:
			*v = r.int64() != 0
		case *int:
			*v = r.int()
		case *int64:
			*v = r.int64()
		case *float64:
			*v = r.stmt.ColumnFloat(r.step())
		case *string:
			*v = r.text()
		case *[]byte:
			*v = r.blob()
		case *rawjson.Value:
			*v = r.json()
		case *uuid.UUID:
			*v = r.uuid()
		case *time.Time:
			*v = r.time()
		case *time.Duration:
			*v = r.duration()
		case **string:
			*v = r.optional()
		case **int64:
			*v = r.optionalInt64()
		case **float64:
			*v = r.optionalFloat64()
		default:
			return fmt.Errorf("no way to read a %T", target)
		}
	}
	return nil
}

package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/store/records"
)

// recordsEngine runs the statements of package records.
type recordsEngine struct{ store *Store }

// Dialect implements records.Engine.
func (recordsEngine) Dialect() records.Dialect { return records.PostgreSQL }

// Now implements records.Engine.
func (e recordsEngine) Now() time.Time { return e.store.Now() }

var classOfRecords = map[records.Class]class{
	records.Background: engine, records.Access: access, records.Single: engine, records.Pages: pages, records.Heavy: heavy,
	records.Queue: engine,
}

// Read implements records.Engine.
func (e recordsEngine) Read(ctx context.Context, of records.Class, queries ...records.Query) error {
	return e.store.readAs(ctx, classOfRecords[of], ofRecords(queries)...)
}

// Write implements records.Engine.
func (e recordsEngine) Write(ctx context.Context, f func(records.Tx) ([]records.Query, error)) error {
	return e.store.write(ctx, func(t *tx) error {
		last, err := f(t)
		if err != nil {
			return err
		}
		// What may refuse the transaction is not sent with the commit of other changes.
		for i := len(last) - 1; i >= 0 && len(last) > 1; i-- {
			if last[i].None != nil {
				if err := t.Run(last[:i+1]...); err != nil {
					return err
				}
				last = last[i+1:]
				break
			}
		}
		return duplicate(t.commit(ofRecords(last)...), last)
	})
}

// WriteSized implements records.Engine: no other write waits for this one.
func (e recordsEngine) WriteSized(ctx context.Context, _ int, f func(records.Tx) ([]records.Query, error)) error {
	return e.Write(ctx, f)
}

// Run implements records.Tx.
func (t *tx) Run(queries ...records.Query) error {
	return duplicate(t.run(ofRecords(queries)...), queries)
}

// duplicate replaces the error for a value that a unique index has already.
func duplicate(err error, queries []records.Query) error {
	if code(err) != "23505" {
		return err
	}
	for _, q := range queries {
		if q.Taken != nil {
			return q.Taken
		}
	}
	return err
}

// Now implements records.Tx.
func (t *tx) Now() time.Time { return t.store.Now() }

// Notify implements records.Tx.
func (t *tx) Notify(n store.Notice) {
	t.wakes = append(t.wakes, n.Limits...)
	t.alerts = t.alerts || n.Alerts
	t.released = t.released || n.Released
}

// ofRecords returns queries of package records as this package's.
func ofRecords(queries []records.Query) []query {
	all := make([]query, len(queries))
	for i := range queries {
		all[i] = ofRecord(queries[i])
	}
	return all
}

func ofRecord(q records.Query) query {
	args := make([]any, len(q.Args))
	for i, arg := range q.Args {
		args[i] = plain(arg)
	}
	n := 0
	one := query{sql: records.PostgreSQL.Text(q.SQL), args: args}
	one.start = func() {
		n = 0
		if q.Start != nil {
			q.Start()
		}
	}
	one.row = func(rows pgx.Rows) error {
		n++
		if q.Row == nil {
			return nil
		}
		return q.Row(row{rows})
	}
	if q.None != nil || q.Changed != nil {
		one.end = func(affected int64) error {
			if q.Changed != nil {
				*q.Changed = int(affected)
			}
			if q.None != nil && n == 0 && affected == 0 {
				return q.None
			}
			return nil
		}
	}
	return one
}

// plain returns an argument as pgx takes it.
func plain(arg any) any {
	switch v := records.Plain(arg).(type) {
	case string:
		return text(v)
	case []string:
		return column(v, func(s *string) string { return text(*s) })
	default:
		return v
	}
}

// row implements records.Row.
type row struct{ pgx.Rows }

// Scan implements records.Row.
func (r row) Scan(to ...any) error {
	targets := make([]any, len(to))
	for i, target := range to {
		switch v := target.(type) {
		case *string:
			targets[i] = textOf{v}
		case *rawjson.Value:
			targets[i] = jsonOf{v}
		case *uuid.UUID:
			targets[i] = idOf{v}
		case *time.Time:
			targets[i] = timeOf{v}
		case *time.Duration:
			targets[i] = durationOf{v}
		default:
			targets[i] = v
		}
	}
	return r.Rows.Scan(targets...)
}

type textOf struct{ to *string }

// ScanText implements pgtype.TextScanner.
func (s textOf) ScanText(v pgtype.Text) error {
	*s.to = v.String
	return nil
}

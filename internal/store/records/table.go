package records

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Table says how records of a type are stored. It makes the statements that name all
// columns, so a column is added in one place.
type Table[T any] struct {
	Name    string
	Key     []string // the columns of the primary key
	Columns []Column[T]
}

// Column is a column of a Table.
type Column[T any] struct {
	Name string
	// At returns a pointer to the record's value, as Row.Scan takes it, or a Form.
	At func(*T) any
}

func (t *Table[T]) names() string { return t.namesOf("") }

// namesOf returns the names of the columns, each behind a prefix such as "t.".
func (t *Table[T]) namesOf(prefix string) string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = prefix + c.Name
	}
	return strings.Join(names, ", ")
}

// values returns pointers to a record's values, in the order of the columns.
func (t *Table[T]) values(record *T) []any {
	values := make([]any, len(t.Columns))
	for i, c := range t.Columns {
		values[i] = c.At(record)
	}
	return values
}

// Select returns a query that sets into to the records that the rest of the statement
// selects, from WHERE on. Fill, which may be nil, sets what has no column.
func (t *Table[T]) Select(into *[]*T, fill func(*T), rest string, args ...any) Query {
	return Query{
		SQL: `SELECT ` + t.names() + ` FROM ` + t.Name + ` ` + rest, Args: args,
		Start: func() { *into = nil },
		Row: func(row Row) error {
			record := new(T)
			if fill != nil {
				fill(record)
			}
			*into = append(*into, record)
			return scan(row, t.values(record)...)
		},
	}
}

// Insert returns a query that stores a new record.
func (t *Table[T]) Insert(record *T) Query {
	places := make([]string, len(t.Columns))
	for i := range places {
		places[i] = fmt.Sprint("$", i+1)
	}
	return Query{
		SQL:  `INSERT INTO ` + t.Name + ` (` + t.names() + `) VALUES (` + strings.Join(places, ", ") + `)`,
		Args: t.values(record),
	}
}

// InsertNew is Insert that does nothing if there is a record with the same key.
func (t *Table[T]) InsertNew(record *T) Query {
	q := t.Insert(record)
	q.SQL += ` ON CONFLICT (` + strings.Join(t.Key, ", ") + `) DO NOTHING`
	return q
}

// Put is Insert that replaces the record with the same key, except the columns to keep.
func (t *Table[T]) Put(record *T, keep ...string) Query {
	var set []string
	for _, c := range t.Columns {
		if !slices.Contains(t.Key, c.Name) && !slices.Contains(keep, c.Name) {
			set = append(set, c.Name+` = excluded.`+c.Name)
		}
	}
	q := t.Insert(record)
	q.SQL += ` ON CONFLICT (` + strings.Join(t.Key, ", ") + `) DO UPDATE SET ` + strings.Join(set, ", ")
	return q
}

// read reads the records that the rest of a statement selects, from WHERE on.
func read[T any](ctx context.Context, r *Records, class Class, t *Table[T], rest string, args ...any) (found []*T, err error) {
	err = r.engine.Read(ctx, class, t.Select(&found, nil, rest, args...))
	return found, err
}

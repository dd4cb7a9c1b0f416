package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// column returns one value per item, to send as an array.
func column[T, V any](items []T, value func(*T) V) []V {
	values := make([]V, len(items))
	for i := range items {
		values[i] = value(&items[i])
	}
	return values
}

// text turns a string into one that PostgreSQL can store.
func text(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

func optional(s *string) *string {
	if s == nil {
		return nil
	}
	kept := text(*s)
	return &kept
}

func jsonText(v rawjson.Value) *string {
	if v == nil {
		return nil
	}
	s := text(string(v))
	return &s
}

// micros returns a time in microseconds; nil for the zero time.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	m := t.UnixMicro()
	return &m
}

// numberOrNull returns a number; nil for 0.
func numberOrNull(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// id returns a UUID; null for uuid.Nil.
func id(u uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: u != uuid.Nil} }

// Scanners for the values written by the functions above.

type timeOf struct{ to *time.Time }

// ScanInt64 implements pgtype.Int64Scanner.
func (s timeOf) ScanInt64(v pgtype.Int8) error {
	*s.to = time.Time{}
	if v.Valid {
		*s.to = time.UnixMicro(v.Int64).UTC()
	}
	return nil
}

type idOf struct{ to *uuid.UUID }

// ScanUUID implements pgtype.UUIDScanner.
func (s idOf) ScanUUID(v pgtype.UUID) error {
	*s.to = v.Bytes
	return nil
}

type jsonOf struct{ to *rawjson.Value }

// ScanText implements pgtype.TextScanner.
func (s jsonOf) ScanText(v pgtype.Text) error {
	*s.to = nil
	if v.Valid {
		*s.to = rawjson.Value(v.String)
	}
	return nil
}

type durationOf struct{ to *time.Duration }

// ScanInt64 implements pgtype.Int64Scanner. The value is in microseconds.
func (s durationOf) ScanInt64(v pgtype.Int8) error {
	*s.to = time.Duration(v.Int64) * time.Microsecond
	return nil
}

// definitionOf reads the args of a schedule, and what is hidden of them.
type definitionOf struct{ of *job.Schedule }

// ScanText implements pgtype.TextScanner.
func (d definitionOf) ScanText(v pgtype.Text) error {
	err := jsonOf{&d.of.Args}.ScanText(v)
	d.of.Args, d.of.Hidden = job.SplitArgs(d.of.Args)
	return err
}

// previousOf reads the $previous of a schedule.
type previousOf struct{ of *job.Schedule }

// ScanText implements pgtype.TextScanner.
func (p previousOf) ScanText(v pgtype.Text) error {
	err := jsonOf{&p.of.Previous}.ScanText(v)
	job.SplitPrevious(p.of, p.of.Previous)
	return err
}

type partsOf struct{ to *[]job.Part }

// ScanText implements pgtype.TextScanner.
func (s partsOf) ScanText(v pgtype.Text) (err error) {
	*s.to, err = job.ParseParts(v.String)
	return err
}

type keptParts struct{ to *[]job.Part }

// ScanText implements pgtype.TextScanner.
func (s keptParts) ScanText(v pgtype.Text) error {
	*s.to = job.KeptParts(v.String)
	return nil
}

// owners caches the UUIDs of accounts by number, which never change.
type owners struct {
	mu  sync.RWMutex
	ids map[int64]uuid.UUID
}

func (o *owners) get(number int64) (job.Owner, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	found, ok := o.ids[number]
	return job.Owner{ID: found, Number: number}, ok
}

// learnOwners reads the owners that are not cached.
func (s *Store) learnOwners(ctx context.Context, numbers []int64) error {
	var missing []int64
	for _, number := range numbers {
		if _, known := s.owners.get(number); !known {
			missing = append(missing, number)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	found := map[int64]uuid.UUID{}
	err := s.read(ctx, query{sql: `SELECT number, id FROM accounts WHERE number = ANY($1)`, args: []any{missing},
		row: func(rows pgx.Rows) error {
			var number int64
			var account uuid.UUID
			err := rows.Scan(&number, idOf{&account})
			found[number] = account
			return err
		}})
	if err != nil {
		return fmt.Errorf("reading accounts: %w", err)
	}
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	for number, account := range found {
		s.owners.ids[number] = account
	}
	return nil
}

// listOf returns a table i of the account $1 and the keys in the array $2, each once,
// to be joined with a table by its index of both. The planner looks up each key
// then: it does not know how few rows it may take the account to have.
func listOf(kind string) string {
	return `(SELECT $1::bigint AS account, k.key FROM (SELECT DISTINCT unnest($2::` + kind + `[]) AS key) k OFFSET 0) i`
}

// Tables i and j: the jobs of the account $1 whose numbers, or UUIDs, are in the
// array $2.
var (
	listedJobs = listOf(`bigint`) + ` JOIN jobs j ON j.account = i.account AND j.number = i.key `
	listedIDs  = listOf(`uuid`) + ` JOIN jobs j ON j.account = i.account AND j.id = i.key `
)

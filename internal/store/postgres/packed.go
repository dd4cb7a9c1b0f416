package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// storedTexts are the columns args or payload, packed, and size of records to store.
type storedTexts struct {
	plain  []*string
	packed [][]byte
	sizes  []*int16
}

// packTexts returns a text of each record as it is stored. It packs nothing while a node
// of an earlier version may read the records.
func packTexts[T any](s *Store, records []T, text func(*T) rawjson.Value) storedTexts {
	all := storedTexts{make([]*string, len(records)), make([][]byte, len(records)), make([]*int16, len(records))}
	for i := range records {
		all.plain[i] = jsonText(text(&records[i]))
	}
	if s.packs.Load() && len(records) > 0 {
		// s2 has a table of 64 KiB on its stack. The goroutine of a client's connection
		// would keep a stack of that size until it is collected. After a panic the rest
		// stays as it is.
		var packing sync.WaitGroup
		packing.Go(func() { _ = fault.Guard(all.pack) })
		packing.Wait()
	}
	return all
}

func (s *storedTexts) pack() error {
	for i, text := range s.plain {
		if text == nil {
			continue
		}
		plain, packed, size := store.Pack(rawjson.Value(*text))
		if packed != nil {
			stored, length := string(plain), int16(size)
			s.plain[i], s.packed[i], s.sizes[i] = &stored, packed, &length
		}
	}
	return nil
}

// packedText reads the columns that storedTexts stores.
type packedText struct {
	plain  *string
	packed []byte
}

// sizeOf reads the column size, after the others, and unpacks the text.
type sizeOf struct {
	text *packedText
	to   *rawjson.Value
}

// ScanInt64 implements pgtype.Int64Scanner.
func (s sizeOf) ScanInt64(v pgtype.Int8) error {
	*s.to = nil
	if s.text.plain != nil {
		*s.to = store.Unpack(rawjson.Value(*s.text.plain), s.text.packed, int(v.Int64))
	}
	return nil
}

// argsOf is sizeOf for args, from which it splits what is hidden.
type argsOf struct {
	text   *packedText
	to     *rawjson.Value
	hidden *job.Hidden
}

// ScanInt64 implements pgtype.Int64Scanner.
func (a argsOf) ScanInt64(v pgtype.Int8) error {
	if err := (sizeOf{a.text, a.to}).ScanInt64(v); err != nil {
		return err
	}
	*a.to, *a.hidden = job.SplitArgs(*a.to)
	return nil
}

// The sizes in bytes of texts, whether packed or not.
const (
	argsSize    = `coalesce(j.size, octet_length(j.args))`
	payloadSize = `coalesce(l.size, octet_length(l.payload))`
)

// cutText selects the first characters of the payload of a log and, if it has more
// than those, the last ones, for cutOf; without last, only the first, for which
// PostgreSQL decompresses no more than those. A packed payload is read whole.
func cutText(log, first, last string) string {
	tail := `''`
	if last != "" {
		tail = fmt.Sprintf(`CASE WHEN length(%[1]s.payload) > %[2]s THEN right(%[1]s.payload, %[3]s) ELSE '' END`, log, first, last)
	}
	return fmt.Sprintf(`left(%[1]s.payload, %[2]s) AS head, %[3]s AS tail, %[1]s.packed, %[1]s.size`, log, first, tail)
}

// cutOf reads what cutText selects. Its columns are null if there is no log.
type cutOf struct {
	head, tail *string
	packed     []byte
	size       *int16
}

func (c *cutOf) targets() []any { return []any{&c.head, &c.tail, &c.packed, &c.size} }

// text returns the first characters and, if there are more than those, the last ones.
func (c *cutOf) text(first, last int) (head, tail string) {
	switch {
	case c.head == nil:
		return "", ""
	case c.packed == nil || c.size == nil:
		return *c.head, *c.tail
	}
	return store.Cut(store.Unpack(nil, c.packed, int(*c.size)), first, last)
}

// readPacks reads whether texts may be packed.
func (s *Store) readPacks(ctx context.Context) error {
	var packs bool
	err := s.read(ctx, query{sql: `SELECT packs FROM schema_version`, row: func(rows pgx.Rows) error { return rows.Scan(&packs) }})
	if err != nil {
		return fmt.Errorf("reading whether texts may be packed: %w", err)
	}
	s.packs.Store(packs)
	return nil
}

// startPacking lets texts be packed from the time on when no node of an earlier
// version is left. Such a node can't register afterwards: a trigger waits for the lock
// taken here, and refuses it.
func (s *Store) startPacking(ctx context.Context) error {
	if s.packs.Load() {
		return nil
	}
	packs := false
	err := s.runControl(ctx,
		query{sql: `SELECT FROM schema_version FOR UPDATE`},
		query{
			sql:   `UPDATE schema_version SET packs = true WHERE NOT EXISTS (SELECT FROM nodes WHERE NOT reads_packed) RETURNING packs`,
			start: func() { packs = false },
			row:   func(rows pgx.Rows) error { return rows.Scan(&packs) },
		})
	if err != nil {
		return fmt.Errorf("looking whether texts may be packed: %w", err)
	}
	s.packs.Store(packs)
	return nil
}

package outbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// snapshot is which transactions were under way: the bound above which all were, and
// some below it.
type snapshot struct {
	bound   string
	running string // an array literal
}

// minFresh is how many bytes of a batch must be left to take rows above the position.
const minFresh = 1 << 20

// maxPipeline is how many statements are sent before their results are read. A problem may
// have 64 KiB, and they are sent as a whole.
const maxPipeline = 64

// lateRows and freshRows read the rows of a batch: those that were committed late, and
// those above the position. They are prepared, since to parse and plan them took a third
// of a turn's CPU. Their names are hashes of their texts, so that behind a pooler no other
// version's statement is run.
var (
	// seq + 0: by the index of seq, all rows that were deleted would be visited.
	lateRows = rowsQuery("seq + 0",
		`seq + 0 <= ? AND (tx = ANY(?::text::xid8[]) OR tx >= ?::text::xid8 AND tx < pg_snapshot_xmax(pg_current_snapshot()))`)
	freshRows = rowsQuery("seq", `seq > ?`)
)

// rowsQuery returns a query for up to so many rows that match a condition, in order, as far
// as they fit into a batch, and at least one. by is the order, seq or what sorts like it.
// found is how many match, up to that many. The number of rows is its last argument.
func rowsQuery(by, where string) string {
	return numbered(`SELECT seq, id, job, created, found FROM (SELECT seq, id, job, created, size, sum(size) OVER (ORDER BY seq) AS total, count(*) OVER () AS found FROM (
		SELECT seq, ` + postgresColumns + ` FROM punctual_outbox WHERE ` + where + ` ORDER BY ` + by + ` LIMIT ?::int) r) t
		WHERE total <= ` + strconv.Itoa(maxBytes) + ` OR total = size ORDER BY seq`)
}

// prepare prepares the queries on a connection, once.
func (s *source) prepare(ctx context.Context, c *pgx.Conn) error {
	if s.unprepared {
		return nil
	}
	for _, query := range []string{lateRows, freshRows} {
		if _, err := c.Prepare(ctx, query, query); err != nil {
			return fmt.Errorf("preparing to read rows of the outbox: %w", err)
		}
	}
	return nil
}

// reading returns the text with which a query is run. A connection that has prepared the
// query runs what it has prepared for that text, so another text is used if that is unusable.
func (s *source) reading(query string) string {
	if s.unprepared {
		return query + " "
	}
	return query
}

// turnPostgres is turn in two round trips: one settles and reads, one notes and commits.
// On a busy machine each round trip waits for the processor twice.
func turnPostgres(ctx context.Context, s *source, t *turn) (taken []row, err error) {
	before := s.position
	for try := 1; ; try++ {
		if taken, err = s.turnOnce(ctx, t); err == nil {
			return taken, nil
		}
		s.unprepared = s.unprepared || unusable(err)
		s.position = before
		if try == 3 || !s.again(err) {
			return nil, err
		}
	}
}

func (s *source) turnOnce(ctx context.Context, t *turn) (taken []row, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connecting to the database of the outbox: %w", err)
	}
	defer func() { _ = conn.Close() }() // returns it to the pool
	err = conn.Raw(func(driver any) (err error) {
		c := driver.(*stdlib.Conn).Conn()
		defer func() {
			if err != nil {
				_ = c.Close(context.WithoutCancel(ctx)) // ends the transaction
			}
		}()
		if taken, err = s.settleAndTake(ctx, c, t); err != nil {
			return err
		}
		var end pgx.Batch
		if len(taken) > 0 {
			note := s.noting(t.note, taken)
			end.Queue(numbered(note.query), note.args...)
		}
		if t.stand != "" {
			note := s.insertNote(t.stand, standingMark+s.incarnation)
			end.Queue(numbered(note.query), note.args...)
		}
		end.Queue(`COMMIT`)
		if err := c.SendBatch(ctx, &end).Close(); err != nil {
			return fmt.Errorf("committing a transaction of the outbox: %w", err)
		}
		return nil
	})
	return taken, err
}

// settleAndTake begins a transaction, settles a batch and takes the next. All reads see
// one snapshot.
//
// It takes rows above the position, after those below it that were committed since. Those
// are of transactions that were under way at the last snapshot. They are found by their
// transactions, so that no rows are visited that were deleted, which an old transaction
// may keep for long.
func (s *source) settleAndTake(ctx context.Context, c *pgx.Conn, t *turn) ([]row, error) {
	takes := len(t.keep) == 0 && t.want > 0
	late, fresh, now := found{}, found{}, ""
	if takes {
		if err := s.prepare(ctx, c); err != nil {
			return nil, err
		}
	}
	var b pgx.Batch
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ`)
	b.Queue(s.limit(s.abandoned))
	if t.light {
		b.Queue(`SET LOCAL synchronous_commit = off`)
	}
	for _, each := range s.settling(t) {
		if b.Len() == maxPipeline {
			if err := c.SendBatch(ctx, &b).Close(); err != nil {
				return nil, fmt.Errorf("settling rows of the outbox: %w", err)
			}
			b = pgx.Batch{}
		}
		b.Queue(numbered(each.query), each.args...)
	}
	if takes {
		if before := s.snapshot; before != nil {
			b.Queue(s.reading(lateRows), s.seq, before.running, before.bound, t.want).Query(late.read)
		}
		b.Queue(s.reading(freshRows), s.seq, t.want).Query(fresh.read)
		b.Queue(`SELECT pg_current_snapshot()::text`).QueryRow(func(row pgx.Row) error { return row.Scan(&now) })
	}
	incarnation := ""
	if s.incarnation != "" {
		b.Queue(`SELECT ` + s.incarnated).QueryRow(func(row pgx.Row) error { return row.Scan(&incarnation) })
	}
	if err := c.SendBatch(ctx, &b).Close(); err != nil {
		return nil, fmt.Errorf("settling and reading rows of the outbox: %w", err)
	}
	if incarnation != s.incarnation {
		return nil, errRecovered
	}
	if !takes {
		return t.keep, nil
	}
	return s.advance(t.want, late, fresh.rows, now)
}

// advance returns the late rows, and as many others as fit into the batch with them. It
// moves the position.
func (s *source) advance(want int, late found, fresh []row, now string) ([]row, error) {
	size := sizeOf(late.rows)
	s.stays = late.all == want || late.all > len(late.rows) || size > maxBytes-minFresh
	if s.stays {
		return late.rows, nil // there may be more, which come first, and the snapshot is needed for them
	}
	fits := 0
	for fits < len(fresh) && len(late.rows)+fits < want && (len(late.rows)+fits == 0 || size+len(fresh[fits].job) <= maxBytes) {
		size += len(fresh[fits].job)
		fits++
	}
	var err error
	if s.snapshot, err = parseSnapshot(now); err != nil {
		return nil, err
	}
	if fits > 0 {
		s.seq = fresh[fits-1].seq
	}
	return append(late.rows, fresh[:fits]...), nil
}

// found is what rowsQuery found.
type found struct {
	rows []row
	all  int // how many match, up to the limit
}

func (f *found) read(rows pgx.Rows) error {
	for rows.Next() {
		var r row
		var created int64
		if err := rows.Scan(&r.seq, &r.id, &r.job, &created, &f.all); err != nil {
			return err
		}
		r.createdAt = time.UnixMicro(created)
		f.rows = append(f.rows, r)
	}
	return rows.Err()
}

// parseSnapshot reads a pg_snapshot: xmin:xmax:xip,….
func parseSnapshot(text string) (*snapshot, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, fmt.Errorf("the snapshot %q can't be read", text)
	}
	return &snapshot{bound: parts[1], running: "{" + parts[2] + "}"}, nil
}

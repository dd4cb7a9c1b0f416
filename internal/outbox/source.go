package outbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// maxRows and maxBytes bound a batch: the service takes 1,000 items and 8 MiB.
	maxRows  = 1000
	maxBytes = 8<<20 - maxRows*envelope - 2
	// envelope is more than what a row's id and a comma add to its job.
	envelope = 64
	// minRows is how many rows are asked for at least. Of large rows, the database reads
	// more than a batch holds, so fewer are asked for.
	minRows = 8
	// abandoned is after how long the database ends a transaction whose relay does
	// nothing, as one that was suspended: its locks would keep others from taking over.
	abandoned = 5 * time.Second
)

// row is a row of the outbox.
type row struct {
	seq       int64
	id        string
	job       []byte
	createdAt time.Time
}

// withoutJob returns what is needed of a row to settle it.
func (r row) withoutJob() row { return row{seq: r.seq, id: r.id} }

// failure is a row that was refused for good.
type failure struct {
	row
	problem string // JSON
}

// turn is what changes in the tables between two batches.
type turn struct {
	answered []row     // deleted
	failed   []failure // moved to the failed rows
	ended    []string  // notes to delete
	// note is the id of the note of the next batch, and want how many rows it may have;
	// no batch is taken if want is 0.
	note string
	want int
	// ahead reports that rows are under way which the turn does not settle. They are not
	// taken again.
	ahead bool
	keep  []row // rows to note again instead of taking others
	// light has the database not sync the turn, and stand is the id of a standing note to
	// write; see standing.go. "" is none.
	light bool
	stand string
}

// note says that rows are sent since a time.
type note struct {
	id     string
	ids    []string
	sentAt time.Time
	// A standing note has no ids, and the incarnation of the database.
	standing    bool
	incarnation string
	lost        bool // the database may have lost light turns since
}

// source is the tables in a database.
type source struct {
	db *sql.DB
	*dialect
	position
	abandoned time.Duration
	// unprepared: PostgreSQL did not have a prepared statement, as behind some poolers, or
	// could no longer run it, as after a change of the tables.
	unprepared bool
}

// position is up to where the rows are taken. Rows that are committed later may have
// lower numbers; see the dialects.
type position struct {
	seq      int64
	snapshot *snapshot // PostgreSQL: the transactions at the time of the last rows
	// MySQL: the numbers that no row was taken of, when all rows are read again, and until
	// when only the last of the spans and recent numbers are read.
	unseen        []span
	sweep, spared time.Time
	// incarnation is that of the database when the position began; "" if it has none.
	incarnation string
	// stays reports that the last rows did not move the position, so that they are taken
	// again unless they are settled.
	stays bool
}

// dialect is what differs between databases.
type dialect struct {
	name    string
	now     string // microseconds since 1970
	columns string // id, job, created in microseconds since 1970, bytes of the job
	options *sql.TxOptions
	// limit returns the statement with which a transaction begins: it has the database
	// end the transaction if its client is silent for that long. "" is none.
	limit func(time.Duration) string
	// lock has a transaction that began wait until it is the only one that writes; nil
	// where others may write beside it.
	lock func(ctx context.Context, tx *sql.Tx) error
	// restore is what a connection needs after a transaction that failed; "" is nothing.
	restore string
	bind    func(query string) string
	json    string // the cast of a text to the type of job
	// incarnated is an expression for a text that changes whenever the database may have
	// lost commits that were not synced. It is '' where light turns are not possible, and
	// the expression "" where they never are.
	incarnated string
	// refused reports whether the database does not let the role read that expression.
	refused func(error) bool
	// turn is source.turn where the database does it in fewer round trips; nil elsewhere.
	turn func(ctx context.Context, s *source, t *turn) ([]row, error)
	// take takes rows; nil where turn does.
	take func(ctx context.Context, tx *sql.Tx, s *source, t *turn) ([]row, error)
	// again reports whether a transaction that failed can be tried again at once.
	again func(error) bool
}

// open opens the database of a URL: postgres://, mysql://, mariadb:// or sqlite:. It
// does not connect.
func open(url string) (*source, error) {
	scheme, _, _ := strings.Cut(url, ":")
	var s *source
	var err error
	switch scheme {
	case "postgres", "postgresql":
		s, err = openPostgres(url)
	case "mysql", "mariadb":
		s, err = openMySQL(url)
	case "sqlite", "file":
		s, err = openSQLite(url)
	default:
		return nil, errors.New("the URL of the outbox must begin with postgres:, mysql:, mariadb: or sqlite: as its scheme")
	}
	if err != nil {
		return nil, err
	}
	s.abandoned = abandoned
	s.db.SetMaxOpenConns(3)
	s.db.SetMaxIdleConns(3)
	return s, nil
}

// within runs f in a transaction.
func (s *source) within(ctx context.Context, f func(*sql.Tx) error) error {
	for try := 1; ; try++ {
		err := s.once(ctx, f)
		if err == nil || try == 3 || !s.again(err) {
			return err
		}
	}
}

func (s *source) once(ctx context.Context, f func(*sql.Tx) error) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting to the database of the outbox: %w", err)
	}
	defer func() {
		if err != nil {
			s.clean(ctx, conn)
		}
		_ = conn.Close() // returns it to the pool
	}()
	tx, err := s.begin(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // without effect after a commit
	if err := f(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing a transaction of the outbox: %w", err)
	}
	return nil
}

// clean makes a connection whose transaction failed usable for others, or discards it. The
// transaction can't be used for it, as it has ended with its context.
func (s *source) clean(ctx context.Context, conn *sql.Conn) {
	if s.restore == "" {
		return
	}
	if _, err := conn.ExecContext(context.WithoutCancel(ctx), s.restore); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// begin begins a transaction that the database ends if the relay is silent.
func (s *source) begin(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	tx, err := conn.BeginTx(ctx, s.options)
	if err != nil {
		return nil, fmt.Errorf("beginning a transaction of the outbox: %w", err)
	}
	if s.limit != nil {
		if _, err := tx.ExecContext(ctx, s.limit(s.abandoned)); err != nil {
			_ = tx.Rollback() // the first error counts
			return nil, fmt.Errorf("limiting a transaction of the outbox: %w", err)
		}
	}
	if s.lock != nil {
		if err := s.lock(ctx, tx); err != nil {
			_ = tx.Rollback() // the first error counts
			return nil, fmt.Errorf("waiting for the other writers of the outbox: %w", err)
		}
	}
	return tx, nil
}

func (s *source) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	result, err := tx.ExecContext(ctx, s.bind(query), args...)
	if err != nil {
		return 0, fmt.Errorf("running %.60q: %w", query, err)
	}
	return result.RowsAffected()
}

// lead takes or renews the lease, and a standing note with it, unless its id is "". It
// reports whether the holder has the lease now.
func (s *source) lead(ctx context.Context, holder string, lease time.Duration, standing string) (held bool, err error) {
	err = s.within(ctx, func(tx *sql.Tx) error {
		n, err := s.exec(ctx, tx, `UPDATE punctual_outbox_relay SET holder = ?, expires = `+s.now+
			` + ? WHERE id = 'lease' AND (holder = ? OR holder IS NULL OR expires < `+s.now+`)`,
			holder, lease.Microseconds(), holder)
		held = n == 1
		if err == nil && held && standing != "" {
			_, err = s.exec(ctx, tx, `UPDATE punctual_outbox_relay SET sent_at = `+s.now+` WHERE id = ?`, standing)
		}
		return err
	})
	return held, err
}

// resign ends the lease.
func (s *source) resign(ctx context.Context, holder string) error {
	return s.within(ctx, func(tx *sql.Tx) error {
		_, err := s.exec(ctx, tx, `UPDATE punctual_outbox_relay SET holder = NULL, expires = 0 WHERE id = 'lease' AND holder = ?`, holder)
		return err
	})
}

// notes returns the notes of batches, and the time of the database.
func (s *source) notes(ctx context.Context) (notes []note, now time.Time, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, ids, sent_at, `+s.now+
		` FROM punctual_outbox_relay WHERE sent_at IS NOT NULL OR id = 'lease'`)
	if err != nil {
		return nil, now, fmt.Errorf("reading the notes of the outbox: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n note
		var ids sql.NullString
		var sentAt sql.NullInt64
		var at int64
		if err := rows.Scan(&n.id, &ids, &sentAt, &at); err != nil {
			return nil, now, fmt.Errorf("reading the notes of the outbox: %w", err)
		}
		now = time.UnixMicro(at)
		if sentAt.Valid {
			n.sentAt = time.UnixMicro(sentAt.Int64)
			if n.incarnation, n.standing = strings.CutPrefix(ids.String, standingMark); !n.standing {
				n.ids = strings.Fields(ids.String)
			}
			notes = append(notes, n)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, now, fmt.Errorf("reading the notes of the outbox: %w", err)
	}
	return notes, now, nil
}

// turn settles a batch and takes the next one, in one transaction.
func (s *source) turn(ctx context.Context, t *turn) (taken []row, err error) {
	if s.dialect.turn != nil {
		return s.dialect.turn(ctx, s, t)
	}
	before := s.position
	err = s.within(ctx, func(tx *sql.Tx) error {
		s.position = before
		if err := s.settle(ctx, tx, t); err != nil {
			return err
		}
		if taken = t.keep; len(taken) == 0 && t.want > 0 {
			var err error
			if taken, err = s.take(ctx, tx, s, t); err != nil {
				return err
			}
		}
		if len(taken) == 0 {
			return nil
		}
		note := s.noting(t.note, taken)
		_, err := s.exec(ctx, tx, note.query, note.args...)
		return err
	})
	if err != nil {
		s.position = before
		return nil, err
	}
	return taken, nil
}

// statement is a statement with question marks for its arguments.
type statement struct {
	query string
	args  []any
}

func (s *source) settle(ctx context.Context, tx *sql.Tx, t *turn) error {
	for _, each := range s.settling(t) {
		if _, err := s.exec(ctx, tx, each.query, each.args...); err != nil {
			return err
		}
	}
	return nil
}

// settling returns the statements that settle a batch.
func (s *source) settling(t *turn) (all []statement) {
	if len(t.answered) > 0 {
		all = append(all, statement{query: `DELETE FROM punctual_outbox WHERE seq IN (` + numbers(t.answered) + `)`})
	}
	for i := range t.failed {
		f := &t.failed[i]
		// The row moves whole, and only if nobody has moved it before.
		// If one with its id has failed before, this one is a copy of it.
		all = append(all, statement{`INSERT INTO punctual_outbox_failed (id, job, ordering_key, problem)
			SELECT o.id, o.job, o.ordering_key, CAST(? AS ` + s.json +
			`) FROM punctual_outbox o WHERE o.seq = ? AND NOT EXISTS (SELECT 1 FROM punctual_outbox_failed f WHERE f.id = o.id)`,
			[]any{f.problem, f.seq}},
			statement{`DELETE FROM punctual_outbox WHERE seq = ?`, []any{f.seq}})
	}
	for _, id := range t.ended {
		all = append(all, statement{`DELETE FROM punctual_outbox_relay WHERE id = ? AND sent_at IS NOT NULL`, []any{id}})
	}
	return all
}

// noting returns the statement that notes that rows are sent.
func (s *source) noting(id string, rows []row) statement {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].id
	}
	return s.insertNote(id, strings.Join(ids, " "))
}

func (s *source) insertNote(id, ids string) statement {
	return statement{`INSERT INTO punctual_outbox_relay (id, sent_at, ids) VALUES (?, ` + s.now + `, ?)`, []any{id, ids}}
}

// numbers returns the numbers of rows, for IN.
func numbers(rows []row) string {
	b := make([]byte, 0, len(rows)*8)
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, rows[i].seq, 10)
	}
	return string(b)
}

// counted is up to how many rows are counted.
const counted = 100_000

// count returns the number of rows that wait, up to counted, of those that failed, and
// the age of the oldest.
func (s *source) count(ctx context.Context) (waiting, failed int64, oldest time.Duration, err error) {
	var age sql.NullInt64
	limited := func(table string) string {
		return `(SELECT count(*) FROM (SELECT 1 AS one FROM ` + table + ` LIMIT ` + strconv.Itoa(counted) + `) n)`
	}
	err = s.db.QueryRowContext(ctx, `SELECT `+limited("punctual_outbox")+`, `+limited("punctual_outbox_failed")+`,
		(SELECT `+s.now+` - created FROM (SELECT seq, `+s.columns+` FROM punctual_outbox ORDER BY seq LIMIT 1) r)`).Scan(&waiting, &failed,
		&age)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("counting the rows of the outbox: %w", err)
	}
	return waiting, failed, time.Duration(max(0, age.Int64)) * time.Microsecond, nil
}

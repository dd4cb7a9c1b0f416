package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

var mysqlDialect = dialect{
	name: "mysql", now: `floor(unix_timestamp(now(6)) * 1000000)`, json: "char",
	columns: "id, job, timestampdiff(microsecond, '1970-01-01', created_at) AS created, length(job) AS size",
	options: &sql.TxOptions{Isolation: sql.LevelReadCommitted},
	limit:   limitMySQL,
	bind:    func(query string) string { return query }, take: takeMySQL,
	again: func(err error) bool {
		var server *mysql.MySQLError
		return errors.As(err, &server) && (server.Number == 1213 || server.Number == 1205) // a deadlock, a lock that was not had in time
	},
}

const (
	// share is how many bytes each row of a batch may have.
	share = maxBytes / maxRows
	// maxSpans is how many spans of numbers are read each time. Rows of transactions that
	// are under way or were rolled back are in them.
	maxSpans = 64
	// slowRead is after how long the spans below the last one are read less often, as all
	// rows are: rows that were deleted stay in them while an old transaction can read them.
	// A slow machine or network counts too, so the last recent numbers are always read.
	slowRead = 500 * time.Millisecond
	recent   = 1000
	// sweepEvery is how often all rows are read, and sweepShare at most the part of the
	// time that this takes.
	sweepEvery = time.Second
	sweepShare = 20
)

func openMySQL(address string) (*source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return nil, errors.New("the URL of the outbox can't be read; give one as in mysql://USER:PASSWORD@HOST:3306/DATABASE")
	}
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName, c.Timeout = u.User.Username(), "tcp", u.Host, strings.Trim(u.Path, "/"), 5*time.Second
	c.Passwd, _ = u.User.Password()
	c.InterpolateParams = true
	if u.Port() == "" {
		c.Addr += ":3306"
	}
	for name, values := range u.Query() {
		switch name {
		case "tls":
			c.TLSConfig = values[0]
		case "socket":
			c.Net, c.Addr = "unix", values[0]
		default:
			return nil, errors.New("the URL of the outbox has the parameter " + name + "; known are tls and socket")
		}
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, errors.New("the URL of the outbox can't be used: " + err.Error())
	}
	db := sql.OpenDB(connector)
	db.SetConnMaxIdleTime(abandoned / 2) // those that the server closes are not used
	return &source{db: db, dialect: &mysqlDialect}, nil
}

// limitMySQL holds for the session.
func limitMySQL(d time.Duration) string {
	seconds := strconv.FormatInt(int64(max(d, time.Second)/time.Second), 10)
	return `SET SESSION wait_timeout = ` + seconds + `, SESSION net_write_timeout = ` + seconds
}

// takeMySQL takes rows whose numbers it has not seen: those above all others, and those
// between that were committed since. A transaction that ends has its first rows there and
// its last ones above, so it must read both to keep their order. Now and then it reads all
// rows: a server that failed may use numbers again.
func takeMySQL(ctx context.Context, tx *sql.Tx, s *source, t *turn) ([]row, error) {
	if s.unseen == nil {
		s.unseen = []span{{1, math.MaxInt64}}
	}
	start := time.Now()
	sweeps, spares := !t.ahead && !start.Before(s.sweep), start.Before(s.spared)
	read := s.unseen
	switch {
	case sweeps:
		read = []span{{1, math.MaxInt64}}
	case spares:
		read = near(read)
	}
	rows, err := readMySQL(ctx, tx, t.want, between(read))
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	switch {
	case sweeps:
		s.sweep = start.Add(max(sweepEvery, sweepShare*took))
	case took > slowRead && len(read) > 1 && !spares:
		s.spared = start.Add(sweepShare * took)
	}
	s.unseen, s.stays = without(s.unseen, rows)
	return rows, nil
}

// readMySQL reads up to limit rows that match a condition, in order, as far as they fit into
// a batch, and at least one. Jobs that are larger than their share are read once they are
// known to fit. To leave out what does not fit in one query cost MariaDB half of its CPU: it
// copied all jobs to a temporary table.
func readMySQL(ctx context.Context, tx *sql.Tx, limit int, where string) (rows []row, err error) {
	found, err := tx.QueryContext(ctx, `SELECT seq, id, CASE WHEN length(job) <= `+strconv.Itoa(share)+` THEN job END,
		timestampdiff(microsecond, '1970-01-01', created_at), length(job) FROM punctual_outbox WHERE `+where+
		` ORDER BY seq LIMIT `+strconv.Itoa(limit))
	if err != nil {
		return nil, fmt.Errorf("reading rows of the outbox: %w", err)
	}
	defer func() { _ = found.Close() }()
	var large []row
	size := 0
	for found.Next() {
		var r row
		var created int64
		var bytes int
		if err := found.Scan(&r.seq, &r.id, &r.job, &created, &bytes); err != nil {
			return nil, fmt.Errorf("reading rows of the outbox: %w", err)
		}
		if size += bytes; len(rows) > 0 && size > maxBytes {
			break
		}
		r.createdAt = time.UnixMicro(created)
		if rows = append(rows, r); r.job == nil {
			large = append(large, r)
		}
	}
	if err := errors.Join(found.Err(), found.Close()); err != nil {
		return nil, fmt.Errorf("reading rows of the outbox: %w", err)
	}
	if len(large) == 0 {
		return rows, nil
	}
	return readLarge(ctx, tx, rows, large)
}

// readLarge reads the jobs of the large ones of the rows. Those that were deleted meanwhile
// are left out.
func readLarge(ctx context.Context, tx *sql.Tx, rows, large []row) ([]row, error) {
	found, err := tx.QueryContext(ctx, `SELECT seq, job FROM punctual_outbox WHERE seq IN (`+numbers(large)+`)`)
	if err != nil {
		return nil, fmt.Errorf("reading large rows of the outbox: %w", err)
	}
	defer func() { _ = found.Close() }()
	jobs := make(map[int64][]byte, len(large))
	for found.Next() {
		var seq int64
		var job []byte
		if err := found.Scan(&seq, &job); err != nil {
			return nil, fmt.Errorf("reading large rows of the outbox: %w", err)
		}
		jobs[seq] = job
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("reading large rows of the outbox: %w", err)
	}
	for i := range rows {
		if rows[i].job == nil {
			rows[i].job = jobs[rows[i].seq]
		}
	}
	return slices.DeleteFunc(rows, func(r row) bool { return r.job == nil }), nil
}

// span is numbers of rows, the first and the last.
type span struct{ from, to int64 }

// near returns the last span, and what the others have of the recent numbers below it.
func near(spans []span) []span {
	last := len(spans) - 1
	low := spans[last].from - recent
	first := last
	for first > 0 && spans[first-1].to >= low {
		first--
	}
	left := slices.Clone(spans[first:])
	if first < last {
		left[0].from = max(left[0].from, low)
	}
	return left
}

// between returns the condition that the number of a row is in one of the spans.
func between(spans []span) string {
	var b strings.Builder
	for i, s := range spans {
		if i > 0 {
			b.WriteString(" OR ")
		}
		fmt.Fprintf(&b, "seq BETWEEN %d AND %d", s.from, s.to)
	}
	return b.String()
}

// without returns spans without the numbers of rows, which are in order. If there would be
// too many spans, it merges the first ones and reports so: rows that are under way are in
// them again.
func without(spans []span, rows []row) (left []span, merged bool) {
	i := 0
	for _, s := range spans {
		for ; i < len(rows) && rows[i].seq <= s.to; i++ {
			if n := rows[i].seq; n >= s.from { // else it was found by reading all
				if n > s.from {
					left = append(left, span{s.from, n - 1})
				}
				s.from = n + 1
			}
		}
		if s.from <= s.to {
			left = append(left, s)
		}
	}
	for ; len(left) > maxSpans; left = left[1:] {
		left[1].from, merged = left[0].from, true
	}
	return left, merged
}

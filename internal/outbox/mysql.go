package outbox

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
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
	// recent is how many numbers below the position are read each time, for rows that
	// were committed later.
	recent = 1000
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

// takeMySQL takes rows above the position, and those just below it that were committed
// since. Now and then it reads all, for what was committed much later.
func takeMySQL(ctx context.Context, tx *sql.Tx, s *source, want int) ([]row, error) {
	low, start := s.seq-recent, time.Now()
	sweeps := !start.Before(s.sweep)
	if sweeps {
		low = 0
	}
	rows, _, err := s.selectRows(ctx, tx, want, maxBytes, "seq", `seq > ?`, max(low, 0))
	if err != nil {
		return nil, err
	}
	if sweeps {
		s.sweep = start.Add(max(sweepEvery, sweepShare*time.Since(start)))
	}
	if len(rows) > 0 {
		s.seq = max(s.seq, rows[len(rows)-1].seq)
	}
	return rows, nil
}

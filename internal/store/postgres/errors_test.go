package postgres

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/batch"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

// Mistakes of this program that the server never sees, or sees no fault in.
var ownMistakes = map[string]query{
	"too few arguments":  {sql: `SELECT $1::int + $2::int`, args: []any{1}},
	"too many arguments": {sql: `SELECT $1::int`, args: []any{1, 2}},
	"a number too large": {sql: `SELECT $1::int`, args: []any{int64(math.MaxInt64)}},
	"an unknown type":    {sql: `SELECT $1::int`, args: []any{struct{ x chan int }{}}},
}

func TestWrite_OwnMistakesAreUnstorable(t *testing.T) {
	s := openFresh(t)
	for name, q := range ownMistakes {
		for way, run := range map[string]func(*tx) error{
			"with the commit": func(t *tx) error { return t.commit(q) },
			"before it":       func(t *tx) error { return t.run(q) },
			"after others":    func(t *tx) error { return errors.Join(t.run(query{sql: `SELECT 1`}), t.commit(q)) },
		} {
			tries := 0
			err := s.write(t.Context(), func(t *tx) error { tries++; return run(t) })
			if !store.IsUnstorable(err) || tries != 1 {
				t.Errorf("%s, %s: after %d tries %v", name, way, tries, err)
			}
		}
	}
	var text string
	scan := query{sql: `SELECT 1`, row: func(rows pgx.Rows) error { return rows.Scan(&text, &text) }}
	if err := s.write(t.Context(), func(t *tx) error { return t.run(scan) }); !store.IsUnstorable(err) {
		t.Errorf("a row that can't be read: %v", err)
	}
	// Its commit was sent along: the write has happened.
	if err := s.write(t.Context(), func(t *tx) error { return t.commit(scan) }); fault.CodeOf(err) != fault.Unavailable ||
		!errors.Is(err, errUnknown) {
		t.Errorf("a row that can't be read after a commit: %v", err)
	}
}

func TestRead_OwnMistakesAreNoOutage(t *testing.T) {
	s := openFresh(t)
	for name, q := range ownMistakes {
		if err := s.read(t.Context(), q); err == nil || fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
	runs := 0
	err := s.read(t.Context(), query{sql: `SELECT 1`, row: func(rows pgx.Rows) error { runs++; return rows.Scan() }})
	if err == nil || fault.CodeOf(err) != fault.Internal || runs != 1 {
		t.Errorf("a row that can't be read: after %d tries %v", runs, err)
	}
}

// One item that can't be encoded fails alone, not the batch that it is in.
func TestWrite_OwnMistakesDivideTheirBatch(t *testing.T) {
	s := openFresh(t)
	if err := s.write(t.Context(), func(t *tx) error { return t.commit(query{sql: `CREATE TABLE small (n int)`}) }); err != nil {
		t.Fatal(err)
	}
	started := make(chan struct{})
	b := batch.New(batch.Config[int64, bool]{
		Max: 16, Waiting: 16, Divides: store.IsUnstorable,
		Do: func(ctx context.Context, all []int64) ([]bool, error) {
			<-started
			return make([]bool, len(all)), s.write(ctx, func(t *tx) error {
				var queries []query
				for _, n := range all {
					queries = append(queries, query{sql: `INSERT INTO small VALUES ($1)`, args: []any{n}})
				}
				return t.commit(queries...)
			})
		},
	})
	defer b.Close()
	errs := make(chan error, 9)
	for n := range int64(9) {
		go func() {
			_, err := b.DoWhenRoom(t.Context(), map[bool]int64{true: math.MaxInt64, false: n}[n == 5], nil)
			errs <- err
		}()
	}
	close(started)
	refused := 0
	for range cap(errs) {
		switch err := <-errs; {
		case store.IsUnstorable(err):
			refused++
		case err != nil:
			t.Error(err)
		}
	}
	stored := 0
	err := s.read(t.Context(), query{sql: `SELECT count(*) FROM small`, row: func(rows pgx.Rows) error { return rows.Scan(&stored) }})
	if refused != 1 || stored != 8 || err != nil {
		t.Errorf("%d of 9 were refused and %d stored (%v), want 1 and 8", refused, stored, err)
	}
}

// A server that ends the connection is an outage that passes, however it shows.
func TestWrite_LostConnectionsPass(t *testing.T) {
	s := openFresh(t)
	tries := 0
	err := s.write(t.Context(), func(t *tx) error {
		if tries++; tries == 1 {
			if err := t.run(query{sql: `SELECT 1`}); err != nil {
				return err
			}
			_ = t.conn.Conn().PgConn().Conn().Close() // as a network that fails
		}
		return t.run(query{sql: `SELECT pg_terminate_backend(pg_backend_pid()) WHERE $1`, args: []any{tries == 2}})
	})
	if err != nil || tries != 3 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	for _, cause := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.DeadlineExceeded, context.Canceled,
		&net.OpError{Op: "read", Err: syscall.ECONNRESET}, &net.DNSError{Err: "no such host"},
	} {
		if errors.As(encoding(cause), new(localError)) {
			t.Errorf("%v is taken for a mistake of this program", cause)
		}
	}
}

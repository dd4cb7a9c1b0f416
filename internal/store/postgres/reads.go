package postgres

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// class is the purpose of a read. Reads that clients can make numerous or slow
// have their own connections, so that nothing else waits for them.
type class int

const (
	engine class = iota // the queue, and all writes
	access              // accounts, their secrets, keys and sessions
	pages               // single records, and lists whose cost is bounded by their length
	heavy               // lists that are sorted, or skip many records
	classes
)

// connections is the number of connections of each class. For engine, the URL
// can override it (pool_max_conns).
var connections = [classes]int32{engine: 8, access: 2, pages: 4, heavy: 2}

// classOf returns the class of a list.
func classOf(isHeavy bool) class {
	if isHeavy {
		return heavy
	}
	return pages
}

// openPools opens a pool for each class and the control pool.
func (s *Store) openPools(ctx context.Context, config *pgxpool.Config) (err error) {
	config = config.Copy()
	config.BeforeConnect = s.hosts.order
	control := s.configOf(config, engine)
	control.MinConns, control.MinIdleConns, control.MaxConns = 1, 0, controlConns
	if s.control, err = pgxpool.NewWithConfig(ctx, control); err != nil {
		return err
	}
	for c := range s.pools {
		one := s.configOf(config, class(c))
		if class(c) != engine {
			one.MinConns, one.MinIdleConns, one.MaxConns = 0, 0, connections[c]
		}
		if s.pools[c], err = pgxpool.NewWithConfig(ctx, one); err != nil {
			s.eachPool((*pgxpool.Pool).Close)
			return err
		}
	}
	return nil
}

// configOf returns the configuration of a class's connections.
func (s *Store) configOf(config *pgxpool.Config, c class) *pgxpool.Config {
	config = config.Copy()
	if !s.pooled {
		maps.Copy(config.ConnConfig.RuntimeParams, c.settings(false))
	}
	return config
}

// eachPool calls f for every open pool.
func (s *Store) eachPool(f func(*pgxpool.Pool)) {
	for _, pool := range s.pools {
		if pool != nil {
			f(pool)
		}
	}
	f(s.control)
}

// read runs statements in one transaction and one round trip.
func (s *Store) read(ctx context.Context, queries ...query) error {
	return s.readAs(ctx, engine, queries...)
}

// readAs is read on a connection of a class.
func (s *Store) readAs(ctx context.Context, c class, queries ...query) error {
	asked := ctx
	ctx, cancel, err := s.contact.bound(ctx, store.ReadWithin)
	if err != nil {
		return err
	}
	defer cancel()
	for try := 1; ; try++ {
		t := &tx{store: s, ctx: ctx, class: c}
		err := s.attempt(t, func(t *tx) error { return t.commit(queries...) })
		if err == nil {
			return nil
		}
		if errors.As(err, new(localError)) {
			return err
		}
		// Other reads can always be retried.
		if try == maxTries || !passes(err) && !broken(err) || !pause.For(ctx, time.Duration(try*try)*2*time.Millisecond) {
			return s.wrapRead(asked, ctx, t, err)
		}
	}
}

// wrapRead is wrap for a failed read. It distinguishes a read that took too long
// from a server that can't be reached.
func (s *Store) wrapRead(asked, ctx context.Context, t *tx, err error) error {
	late := errors.Is(ctx.Err(), context.DeadlineExceeded) && asked.Err() == nil
	switch {
	case (t.class == pages || t.class == heavy) && (code(err) == queryCanceled || late && t.conn != nil):
		return fault.SlowRead(err)
	case late && t.conn == nil:
		return fault.Busy(err)
	}
	return s.wrap(ctx, err)
}

// queryCanceled is the SQLSTATE of a statement that exceeded its timeout.
const queryCanceled = "57014"

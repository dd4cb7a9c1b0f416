package postgres

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/punctual-dev/punctual/internal/pause"
)

const (
	// findAgain is the pause before a host that is not the primary is asked again.
	findAgain = 250 * time.Millisecond
	// findOthers is how long after the first primary another one, on a newer
	// timeline, may respond.
	findOthers = 250 * time.Millisecond
)

// hosts orders the hosts of a URL. Connections are opened to the host first that
// was last found to be the primary: otherwise each would wait in vain for a host
// before it that does not respond.
type hosts struct {
	mu     sync.Mutex
	first  string // an address; "" for the order of the URL
	doubts bool   // whether that is the primary
}

// doubt has the hosts be asked again, though the first responds.
func (h *hosts) doubt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubts = true
}

// doubted reports whether the hosts are to be asked again, once for any number of
// doubts.
func (h *hosts) doubted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	doubts := h.doubts
	h.doubts = false
	return doubts
}

// addressOf returns how hosts are told apart.
func addressOf(h *pgconn.FallbackConfig) string {
	return net.JoinHostPort(h.Host, strconv.Itoa(int(h.Port)))
}

// candidates returns the configurations of the hosts: with sslmode=prefer, each has
// two, with TLS and without.
func candidates(config *pgx.ConnConfig) []*pgconn.FallbackConfig {
	all := []*pgconn.FallbackConfig{{Host: config.Host, Port: config.Port, TLSConfig: config.TLSConfig}}
	return append(all, config.Fallbacks...)
}

// try sets the hosts of a configuration, in their order.
func try(config *pgx.ConnConfig, all []*pgconn.FallbackConfig) {
	config.Host, config.Port, config.TLSConfig, config.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
}

// order moves the host that was last found to the front of a configuration.
func (h *hosts) order(_ context.Context, config *pgx.ConnConfig) error {
	h.mu.Lock()
	first := h.first
	h.mu.Unlock()
	var front, others []*pgconn.FallbackConfig
	for _, one := range candidates(config) {
		if addressOf(one) == first {
			front = append(front, one)
		} else {
			others = append(others, one)
		}
	}
	try(config, append(front, others...))
	return nil
}

// primary is a host that accepts writes. Of two, the one on the newer timeline is
// the primary, and the other one has not noticed yet that it was replaced.
type primary struct{ address, timeline string }

// find asks all hosts at once which is the primary, again and again until one
// is or ctx ends. It reports whether one is, and whether it is another one than
// before. With a single host it asks nothing.
func (h *hosts) find(ctx context.Context, config *pgx.ConnConfig) (found, moved bool) {
	byHost := map[string][]*pgconn.FallbackConfig{}
	for _, one := range candidates(config) {
		byHost[addressOf(one)] = append(byHost[addressOf(one)], one)
	}
	if len(byHost) == 1 {
		return true, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	primaries := make(chan primary, len(byHost))
	var asking sync.WaitGroup
	for address, host := range byHost {
		one := config.Copy()
		try(one, host)
		asking.Go(func() {
			for {
				if timeline, err := askHost(ctx, one); err == nil {
					primaries <- primary{address, timeline}
					return
				}
				if !pause.For(ctx, findAgain) {
					return
				}
			}
		})
	}
	best := newest(ctx, primaries)
	cancel()
	asking.Wait()
	if best.address == "" {
		return false, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	moved = h.first != best.address
	h.first = best.address
	return true, moved
}

// newest returns the primary with the newest timeline of those that respond soon
// after the first; one without an address if ctx ends before.
func newest(ctx context.Context, found <-chan primary) (best primary) {
	var soon <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return best
		case <-soon:
			return best
		case p := <-found:
			if best.address == "" || p.timeline > best.timeline {
				best = p
			}
			if soon == nil {
				soon = time.After(findOthers)
			}
		}
	}
}

// askHost connects to a host and returns its timeline, as hexadecimal digits; an
// error if it is not what the URL wants, the primary.
func askHost(ctx context.Context, config *pgx.ConnConfig) (timeline string, err error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }() // it was only asked
	// A server that only looks like PostgreSQL may not know the function.
	if err := conn.QueryRow(ctx, `SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)`,
		pgx.QueryExecModeSimpleProtocol).Scan(&timeline); err != nil && code(err) == "" {
		return "", err
	}
	return timeline, nil
}

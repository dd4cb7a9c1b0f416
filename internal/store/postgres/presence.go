package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/pause"
)

// A node that listens holds an advisory lock on that connection, and its row says
// so. When the process ends, the server frees the lock at once, and other nodes
// expire the lease without waiting for silentFor.
//
// A connection can also end while its process lives. Therefore the node starts
// nothing from then on until its row says that it holds no lock, and others leave it
// vacantFor to do so.

const (
	// vacantFor is how long a lock must be free before the lease expires.
	vacantFor = 400 * time.Millisecond
	// withdrawAgain is the pause between attempts to say that a lock is not held.
	withdrawAgain = 100 * time.Millisecond
)

const (
	// serverRun identifies a run of the server, with which all its sessions end.
	serverRun = `(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint`
	// presenceKeys are the keys of the lock of a node n. The first sets them apart from
	// other programs' locks.
	presenceKeys = `1886744163, (n.number % 2147483647)::integer`
	// vacantNodes reads the nodes whose lock is free, except for those in $1. The
	// locks that it takes end with its transaction.
	vacantNodes = `SELECT n.number FROM nodes n WHERE n.session = ` + serverRun +
		` AND n.number <> ALL($1) AND pg_try_advisory_xact_lock(` + presenceKeys + `)`
)

// presence is what a process knows of locks. The store's mu guards it.
type presence struct {
	node   int64 // this process's node whose row may say that it holds its lock; 0 for none
	held   bool  // the connection that holds it is open
	broken time.Duration
	vacant map[int64]time.Duration // other nodes' free locks: since when
}

// current returns this process's newest node, or 0.
func (s *Store) current() (node int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.leases {
		node = max(node, n)
	}
	return node
}

// declare takes the lock of this process's newest node on a connection and records it
// in the node's row. It does nothing behind a pooler, where a connection tells nothing
// about the process.
func (s *Store) declare(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatWithin)
	defer cancel()
	node := s.current()
	s.mu.Lock()
	declared := s.presence.node == node
	s.mu.Unlock()
	if s.pooled || node == 0 || declared {
		return nil
	}
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(`+presenceKeys+`) FROM (SELECT $1::bigint AS number) n`,
		node).Scan(&locked); err != nil {
		return fmt.Errorf("locking the node: %w", err)
	}
	if !locked {
		return nil // another node looks whether it is free; tried again at the next notice
	}
	s.mu.Lock()
	s.presence.node, s.presence.held = node, true
	s.mu.Unlock()
	if _, err := conn.Exec(ctx, `UPDATE nodes SET session = `+serverRun+` WHERE number = $1`, node); err != nil {
		return fmt.Errorf("declaring the node: %w", err)
	}
	return nil
}

// disconnected records that the connection with the lock has ended. It returns after
// the node's row says so too, or ctx has ended.
func (s *Store) disconnected(ctx context.Context) {
	s.mu.Lock()
	node := s.presence.node
	s.presence.held = false
	s.presence.broken = awake()
	s.mu.Unlock()
	for node != 0 && ctx.Err() == nil {
		there := false
		err := s.runControl(ctx, query{
			sql: `UPDATE nodes SET session = NULL WHERE number = $1 RETURNING number`, args: []any{node},
			start: func() { there = false },
			row: func(pgx.Rows) error {
				there = true
				return nil
			},
		})
		if err == nil {
			s.withdrawn(node, there)
			return
		}
		pause.For(ctx, withdrawAgain)
	}
}

// withdrawn records that a node's row says that it holds no lock, or is gone: then
// its lease has expired.
func (s *Store) withdrawn(node int64, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.presence.node = 0
	if !there {
		delete(s.leases, node)
	}
}

// mayStart reports whether a node relies on its lease as far as its lock is
// concerned. Called with mu held.
func (p *presence) mayStart(node int64) bool { return p.node != node || p.held }

// judge notes which nodes' locks are free, and returns those that have been for so
// long that their leases end. A node whose own connection broke a moment ago judges
// nobody: others' may have too.
func (s *Store) judge(free []int64) (ended []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, now := &s.presence, awake()
	if p.broken != 0 && now-p.broken < expireAfter {
		free = nil
	}
	vacant := make(map[int64]time.Duration, len(free))
	for _, node := range free {
		since, known := p.vacant[node]
		if !known {
			since = now
		}
		vacant[node] = since
		if now-since >= vacantFor {
			ended = append(ended, node)
		}
	}
	p.vacant = vacant
	return ended
}

// nextProbe returns the pause until the next probe: up to when a lock that is free now
// has been so for long enough.
func (s *Store) nextProbe() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause, now := watchPause, awake()
	for _, since := range s.presence.vacant {
		if left := vacantFor - (now - since); left > 0 {
			pause = min(pause, left)
		}
	}
	return pause
}

// expireVacant expires the leases of nodes whose locks are still free.
func (s *Store) expireVacant(ctx context.Context, nodes []int64) error {
	err := s.runControl(ctx,
		query{sql: `DELETE FROM nodes n WHERE n.number = ANY($1) AND n.session = ` + serverRun + ` AND pg_try_advisory_xact_lock(` +
			presenceKeys + `)`, args: []any{nodes}},
		query{sql: `DELETE FROM cancels c WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.number = c.node)`})
	if err != nil {
		return fmt.Errorf("expiring leases: %w", err)
	}
	select {
	case s.expired <- struct{}{}:
	default:
	}
	return nil
}

// Expired returns a channel that receives after leases have expired because their
// processes ended: there may be claims to take over.
func (s *Store) Expired() <-chan struct{} { return s.expired }

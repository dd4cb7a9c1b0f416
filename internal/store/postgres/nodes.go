package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// silentFor is the time without a heartbeat after which a node's lease expires.
	// holdsFor is how long after a heartbeat the node relies on its lease: shorter
	// by the time that an attempt may take from the last check to its first byte.
	silentFor = 15 * time.Second
	holdsFor  = 10 * time.Second
	// listedFor is how long after its last heartbeat a node is listed as alive and
	// counted when nodes divide the queue.
	listedFor = 5 * time.Second
	// expireAfter is how long a node must have been connected before it expires
	// others' leases.
	expireAfter = 4 * time.Second
	// heartbeatWithin is the timeout of a heartbeat.
	heartbeatWithin = 2 * time.Second
)

// NodeStart implements store.Queue.
func (s *Store) NodeStart(ctx context.Context) (node int64, err error) {
	sent := awake()
	err = s.runControl(ctx, query{
		sql: `INSERT INTO nodes (started_at, beat_at, reads_packed) SELECT t, t, true FROM (SELECT ` + serverNow +
			` AS t) now RETURNING number`,
		row: func(rows pgx.Rows) error { return rows.Scan(&node) },
	})
	if err != nil {
		return 0, fmt.Errorf("registering a node: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[node] = sent
	s.onlyNode = false
	if !s.listens {
		s.listens = true
		s.done.Go(func() { s.listen(s.background) })
		s.done.Go(func() { s.readCancels(s.background) })
	}
	select {
	case s.joined <- struct{}{}:
	default: // the probe that is due reads the locks
	}
	return node, nil
}

// NodeHeartbeat implements store.Queue. A primary that was replaced and has not
// noticed commits nothing, since its standbys follow another one: there a heartbeat
// fails, and the node does not rely on its lease.
func (s *Store) NodeHeartbeat(ctx context.Context, node int64) (store.Heartbeat, error) {
	beat := store.Heartbeat{LeaseExpired: true}
	sent := awake()
	err := s.runControl(ctx,
		query{
			sql: `UPDATE nodes SET beat_at = ` + serverNow + ` WHERE number = $1 RETURNING number`, args: []any{node},
			start: func() { beat = store.Heartbeat{LeaseExpired: true} },
			row: func(pgx.Rows) error {
				beat.LeaseExpired = false
				return nil
			},
		},
		query{
			sql: `SELECT number FROM nodes WHERE beat_at > ` + serverNow + ` - $1 ORDER BY number`, args: []any{listedFor.Microseconds()},
			row: func(rows pgx.Rows) error {
				var number int64
				err := rows.Scan(&number)
				beat.Nodes = append(beat.Nodes, number)
				return err
			},
		})
	if err != nil {
		s.hosts.doubt()
		return store.Heartbeat{}, fmt.Errorf("sending a heartbeat: %w", err)
	}
	_ = s.startPacking(ctx) // tried again at the next heartbeat
	s.mu.Lock()
	defer s.mu.Unlock()
	if beat.LeaseExpired {
		delete(s.leases, node)
		return beat, nil
	}
	s.leases[node] = sent
	s.onlyNode = len(beat.Nodes) == 1
	beat.NotificationsDown = !s.hearing
	return beat, nil
}

// NodeHoldsLease implements store.Queue.
func (s *Store) NodeHoldsLease(node int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, known := s.leases[node]
	return known && awake()-sent < holdsFor && s.presence.mayStart(node)
}

// NodeStop implements store.Queue.
func (s *Store) NodeStop(ctx context.Context, node int64) error {
	err := s.LapseNode(ctx, node)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, node)
	return err
}

// LapseNode expires a node's lease, as if it had sent no heartbeat for too long.
func (s *Store) LapseNode(ctx context.Context, node int64) error {
	return s.runControl(ctx,
		query{sql: `DELETE FROM nodes WHERE number = $1`, args: []any{node}},
		query{sql: `DELETE FROM cancels WHERE node = $1`, args: []any{node}})
}

// expireLeases expires the leases of nodes without recent heartbeats by deleting
// their rows. A simultaneous heartbeat either comes first or finds no row.
func (s *Store) expireLeases(ctx context.Context) error {
	err := s.runControl(ctx,
		query{sql: `DELETE FROM nodes WHERE number IN (SELECT number FROM nodes WHERE beat_at < ` + serverNow +
			` - $1 ORDER BY number FOR UPDATE SKIP LOCKED)`,
			args: []any{silentFor.Microseconds()}},
		query{sql: `DELETE FROM cancels c WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.number = c.node)`})
	if err != nil {
		return fmt.Errorf("expiring leases: %w", err)
	}
	return nil
}

// isOwn reports whether a node belongs to this process.
func (s *Store) isOwn(node int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, own := s.leases[node]
	return own
}

// runControl runs statements in a transaction on a control connection, which does not
// wait for other calls.
func (s *Store) runControl(ctx context.Context, queries ...query) error {
	ctx, cancel, err := s.contact.bound(ctx, heartbeatWithin)
	if err != nil {
		return err
	}
	defer cancel()
	for try := 1; ; try++ {
		t := &tx{store: s, ctx: ctx}
		if t.conn, err = s.control.Acquire(ctx); err == nil {
			err = t.commit(queries...)
			t.rollback()
			t.conn.Release()
		}
		if err == nil || try == 3 || !passes(err) {
			return s.wrap(ctx, err)
		}
	}
}

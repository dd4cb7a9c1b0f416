package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// silentFor is after how long a silence a node is taken for gone, holdsFor
	// how long after a beat it relies on its claims: less by what an attempt
	// may take from the last look to its first byte.
	silentFor = 15 * time.Second
	holdsFor  = 10 * time.Second
	// listedFor is how long after its last beat others count on a node to take
	// its share of the queue.
	listedFor = 5 * time.Second
	// judgeAfter is how long a node has to be in contact to judge others.
	judgeAfter = 4 * time.Second
	// beatWithin is how long a beat may take.
	beatWithin = 2 * time.Second
)

// NodeStart implements store.Queue.
func (s *Store) NodeStart(ctx context.Context) (node int64, err error) {
	sent := awake()
	err = s.brief(ctx, query{
		sql: `INSERT INTO nodes (started_at, beat_at) SELECT t, t FROM (SELECT ` + serverNow + ` AS t) now RETURNING number`,
		row: func(rows pgx.Rows) error { return rows.Scan(&node) },
	})
	if err != nil {
		return 0, fmt.Errorf("registering a node: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[node] = sent
	s.alone = false
	if !s.listens {
		s.listens = true
		s.done.Go(func() { s.listen(s.background) })
		s.done.Go(func() { s.readMail(s.background) })
	}
	return node, nil
}

// NodeHeartbeat implements store.Queue. A beat need not survive a crash of the
// server, so it waits for no disk.
func (s *Store) NodeHeartbeat(ctx context.Context, node int64) (store.Heartbeat, error) {
	beat := store.Heartbeat{LeaseExpired: true}
	sent := awake()
	err := s.brief(ctx,
		query{sql: `SELECT set_config('synchronous_commit', 'off', true)`},
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
		return store.Heartbeat{}, fmt.Errorf("beating: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if beat.LeaseExpired {
		delete(s.leases, node)
		return beat, nil
	}
	s.leases[node] = sent
	s.alone = len(beat.Nodes) == 1
	beat.NotificationsDown = !s.hearing
	return beat, nil
}

// NodeHoldsLease implements store.Queue.
func (s *Store) NodeHoldsLease(node int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, known := s.leases[node]
	return known && awake()-sent < holdsFor
}

// NodeStop implements store.Queue.
func (s *Store) NodeStop(ctx context.Context, node int64) error {
	err := s.LapseNode(ctx, node)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, node)
	return err
}

// LapseNode makes a node count as gone, as if it had been silent for too long.
func (s *Store) LapseNode(ctx context.Context, node int64) error {
	return s.brief(ctx,
		query{sql: `DELETE FROM nodes WHERE number = $1`, args: []any{node}},
		query{sql: `DELETE FROM cancels WHERE node = $1`, args: []any{node}})
}

// dropSilent makes nodes gone that have been silent for too long. A beat that
// comes at the same time comes first or finds its row gone.
func (s *Store) dropSilent(ctx context.Context) error {
	err := s.brief(ctx,
		query{sql: `DELETE FROM nodes WHERE number IN (SELECT number FROM nodes WHERE beat_at < ` + serverNow + ` - $1 ORDER BY number FOR UPDATE SKIP LOCKED)`,
			args: []any{silentFor.Microseconds()}},
		query{sql: `DELETE FROM cancels c WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.number = c.node)`})
	if err != nil {
		return fmt.Errorf("looking for silent nodes: %w", err)
	}
	return nil
}

// isOwn reports whether a node is one of this process.
func (s *Store) isOwn(node int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, own := s.leases[node]
	return own
}

// brief runs statements in a transaction on a connection that does not wait
// for other calls.
func (s *Store) brief(ctx context.Context, queries ...query) error {
	ctx, cancel, err := s.contact.bound(ctx, beatWithin)
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

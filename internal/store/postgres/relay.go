package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

// listenerLock is the first key of the advisory locks under which listeners of an
// account are counted ("list", in ASCII).
const listenerLock = 0x6c697374

// alive is the condition that the node of a listener l has not expired.
const alive = `EXISTS (SELECT FROM nodes n WHERE n.number = l.node)`

// ListenerAdd implements store.Relay.
func (s *Store) ListenerAdd(ctx context.Context, l store.Listener, most int) (added bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		added = false
		return t.commit(
			query{sql: `SELECT pg_advisory_xact_lock($1::int, hashint8($2::bigint))`, args: []any{listenerLock, l.Account}},
			query{
				sql: `INSERT INTO listeners (id, node, account, name, tag, since, draining)
					SELECT $1, $2, $3, $4, $5, $6, $7
					WHERE (SELECT count(*) FROM listeners l WHERE account = (SELECT $3::bigint) AND id <> $1 AND ` + alive + `) < $8
					ON CONFLICT (id) DO UPDATE SET node = excluded.node
					RETURNING id`, // ListenerSync may have added it
				args: []any{l.ID, l.Node, l.Account, l.Name, l.Tag, l.Since.UnixMicro(), l.Draining, most},
				row: func(pgx.Rows) error {
					added = true
					return nil
				},
			})
	})
	return added, err
}

// ListenerSync implements store.Relay.
func (s *Store) ListenerSync(ctx context.Context, node int64, mine []store.Listener) (others []store.Listener, err error) {
	if len(mine) == 0 { // as a rule there is nothing to write
		if s.free(ctx, dutyListeners) {
			return nil, nil
		}
		used := false
		err := s.read(ctx, query{
			sql:   `SELECT WHERE EXISTS (SELECT FROM listeners) OR EXISTS (SELECT FROM listener_requests)`,
			start: func() { used = false },
			row: func(pgx.Rows) error {
				used = true
				return nil
			},
		})
		if err != nil || !used {
			return nil, err
		}
	}
	err = s.write(ctx, func(t *tx) error {
		others = nil
		return t.commit(
			query{
				sql:  `DELETE FROM listeners l WHERE node = $1 AND NOT id = ANY($2) OR node <> $1 AND NOT ` + alive,
				args: []any{node, column(mine, func(l *store.Listener) uuid.UUID { return l.ID })},
			},
			query{
				sql: `INSERT INTO listeners (id, node, account, name, tag, since, draining)
					SELECT id, $1, account, name, tag, since, draining
					FROM unnest($2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::boolean[]) AS u (id, account, name, tag, since, draining)
					ON CONFLICT (id) DO UPDATE SET node = excluded.node, draining = excluded.draining
					WHERE listeners.node <> excluded.node OR listeners.draining <> excluded.draining`,
				args: []any{
					node, column(mine, func(l *store.Listener) uuid.UUID { return l.ID }),
					column(mine, func(l *store.Listener) int64 { return l.Account }),
					column(mine, func(l *store.Listener) string { return l.Name }),
					column(mine, func(l *store.Listener) string { return l.Tag }),
					column(mine, func(l *store.Listener) int64 { return l.Since.UnixMicro() }),
					column(mine, func(l *store.Listener) bool { return l.Draining }),
				},
			},
			query{sql: `DELETE FROM listener_requests WHERE expires_at < $1`, args: []any{t.now.UnixMicro()}},
			query{sql: `SELECT id, node, account, name, tag, since, draining FROM listeners l WHERE node <> $1`, args: []any{node},
				row: scanListener(&others)})
	})
	return others, err
}

// ListenersNamed implements store.Relay.
func (s *Store) ListenersNamed(ctx context.Context, account int64, name string) (found []store.Listener, err error) {
	err = s.read(ctx, query{
		sql:   `SELECT id, node, account, name, tag, since, draining FROM listeners l WHERE account = (SELECT $1::bigint) AND name = $2 AND ` + alive,
		args:  []any{account, name},
		start: func() { found = nil },
		row:   scanListener(&found),
	})
	return found, err
}

func scanListener(into *[]store.Listener) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var l store.Listener
		err := rows.Scan(&l.ID, &l.Node, &l.Account, &l.Name, &l.Tag, timeOf{&l.Since}, &l.Draining)
		*into = append(*into, l)
		return err
	}
}

// RelayAsk implements store.Relay.
func (s *Store) RelayAsk(ctx context.Context, r store.RelayRequest) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql:  `INSERT INTO listener_requests (id, listener, expires_at, request) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING`,
			args: []any{r.ID, r.Listener, r.ExpiresAt.UnixMicro(), r.Request},
		})
	})
}

// RelayTake implements store.Relay.
func (s *Store) RelayTake(ctx context.Context, listeners []uuid.UUID) (taken []store.RelayRequest, err error) {
	err = s.write(ctx, func(t *tx) error {
		taken = nil
		return t.commit(query{
			sql: `UPDATE listener_requests r SET taken = true
				FROM unnest($1::uuid[]) AS u (listener), LATERAL (
					SELECT id FROM listener_requests WHERE listener = u.listener AND NOT taken ORDER BY number LIMIT 1 FOR UPDATE SKIP LOCKED) first
				WHERE r.id = first.id RETURNING r.id, r.listener, r.expires_at, r.request`,
			args: []any{listeners},
			row: func(rows pgx.Rows) error {
				var r store.RelayRequest
				err := rows.Scan(&r.ID, &r.Listener, timeOf{&r.ExpiresAt}, &r.Request)
				taken = append(taken, r)
				return err
			},
		})
	})
	return taken, err
}

// RelayWanted implements store.Relay.
func (s *Store) RelayWanted(ctx context.Context, ids []uuid.UUID) (wanted []uuid.UUID, err error) {
	err = s.read(ctx, query{
		sql: `SELECT id FROM listener_requests WHERE id = ANY($1)`, args: []any{ids},
		start: func() { wanted = nil },
		row: func(rows pgx.Rows) error {
			var id uuid.UUID
			err := rows.Scan(&id)
			wanted = append(wanted, id)
			return err
		},
	})
	return wanted, err
}

// RelayAnswer implements store.Relay.
func (s *Store) RelayAnswer(ctx context.Context, id uuid.UUID, answer []byte) error {
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{sql: `UPDATE listener_requests SET answer = $2 WHERE id = $1 AND taken`, args: []any{id, answer}})
	})
}

// RelayStates implements store.Relay.
func (s *Store) RelayStates(ctx context.Context, ids []uuid.UUID) (states []store.RelayState, err error) {
	err = s.read(ctx, query{
		sql: `SELECT r.id, r.taken, r.answer IS NOT NULL, NOT EXISTS (SELECT FROM listeners l WHERE l.id = r.listener AND (r.taken OR NOT l.draining) AND ` + alive + `)
			FROM listener_requests r WHERE r.id = ANY($1)`, args: []any{ids},
		start: func() { states = nil },
		row: func(rows pgx.Rows) error {
			var r store.RelayState
			err := rows.Scan(&r.ID, &r.Taken, &r.Answered, &r.Gone)
			states = append(states, r)
			return err
		},
	})
	return states, err
}

// RelayCollect implements store.Relay. It reads and deletes in two transactions,
// so that the answer is not lost with the response to the commit.
func (s *Store) RelayCollect(ctx context.Context, id uuid.UUID) (answer []byte, err error) {
	err = s.read(ctx, query{
		sql: `SELECT answer FROM listener_requests WHERE id = $1`, args: []any{id},
		start: func() { answer = nil },
		row:   func(rows pgx.Rows) error { return rows.Scan(&answer) },
	})
	if err != nil || answer == nil {
		return nil, err
	}
	_, _ = s.RelayDrop(ctx, id, false) // it expires otherwise
	return answer, nil
}

// RelayDrop implements store.Relay.
func (s *Store) RelayDrop(ctx context.Context, id uuid.UUID, unlessTaken bool) (dropped bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		dropped = false
		return t.commit(query{
			sql: `DELETE FROM listener_requests WHERE id = $1 AND NOT (taken AND $2) RETURNING id`, args: []any{id, unlessTaken},
			row: func(pgx.Rows) error {
				dropped = true
				return nil
			},
		})
	})
	return dropped, err
}

var _ store.Relay = (*Store)(nil)

package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/punctual-dev/punctual/internal/store"
)

// LimitExpire implements store.LimitQueue.
func (s *Store) LimitExpire(ctx context.Context, most int) (next time.Time, err error) {
	if s.free(ctx, dutyExpiry) {
		return time.Time{}, nil
	}
	if next, err = s.nextExpiry(ctx); err != nil || next.IsZero() || !next.Before(s.Now()) {
		return next, err
	}
	err = s.write(ctx, func(t *tx) error {
		moves, err := t.expiredItems(most)
		if err != nil {
			return err
		}
		if len(moves) == 0 {
			return t.commit(query{
				sql: `UPDATE limit_items i SET expires = $1 FROM (SELECT account, number, key FROM limit_items WHERE expires < $2 ORDER BY expires LIMIT $3) u
					WHERE i.account = u.account AND i.number = u.number AND i.key = u.key`,
				args: []any{t.now.Add(store.ExpiryPause).UnixMicro(), t.now.UnixMicro(), most},
			})
		}
		for i := range moves {
			ref := moves[i].QueueKey
			ref.Due = t.now
			t.refs = append(t.refs, ref)
		}
		return t.commit(append(moveHeld(moves), deleteLimited(moves)...)...)
	})
	if err != nil {
		return time.Time{}, err
	}
	return s.nextExpiry(ctx)
}

// nextExpiry returns when the next held item must be looked at; zero for none.
func (s *Store) nextExpiry(ctx context.Context) (next time.Time, err error) {
	err = s.read(ctx, query{
		sql:   `SELECT min(expires) FROM limit_items WHERE expires IS NOT NULL`,
		start: func() { next = time.Time{} },
		row:   func(rows pgx.Rows) error { return rows.Scan(timeOf{&next}) },
	})
	return next, err
}

// expiredItems locks held items that must be looked at. An item that another
// transaction has locked is left out.
func (t *tx) expiredItems(most int) (moves []limitedMove, err error) {
	err = t.run(query{
		sql: `SELECT r.due, r.kind, r.number, r.account, r.lane, r.revision, i.due
			FROM (SELECT account, number, due FROM limit_items WHERE expires < $1 ORDER BY expires LIMIT $2) i
			JOIN runs r ON r.due = i.due + $3 AND r.kind = 0 AND r.number = i.number AND r.account = i.account
			WHERE r.node = 0 ORDER BY r.due, r.number FOR UPDATE OF r SKIP LOCKED`,
		args: []any{t.now.UnixMicro(), most, store.HeldDue(time.UnixMicro(0)).UnixMicro()},
		row: func(rows pgx.Rows) error {
			m := limitedMove{to: t.now}
			err := rows.Scan(timeOf{&m.Due}, &m.Kind, &m.Number, &m.Account, &m.Lane, &m.Revision, timeOf{&m.own})
			moves = append(moves, m)
			return err
		},
	})
	return moves, err
}

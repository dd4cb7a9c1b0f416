package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// LimitExpire implements store.LimitQueue.
func (s *Store) LimitExpire(ctx context.Context, most int) (next time.Time, err error) {
	if !s.limited.Load() {
		return time.Time{}, nil
	}
	err = s.readAs(ctx, engine, func(t *tx) (err error) {
		next, err = t.nextExpiry()
		return err
	})
	if err != nil || next.IsZero() || !next.Before(s.Now()) {
		return next, err
	}
	err = s.write(ctx, func(t *tx) error {
		if err := t.expireHeld(most); err != nil {
			return fmt.Errorf("moving expired queue items: %w", err)
		}
		next, err = t.nextExpiry()
		return err
	})
	return next, err
}

func (t *tx) nextExpiry() (next time.Time, err error) {
	err = t.query(`SELECT min(expires) FROM limit_items WHERE expires IS NOT NULL`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		next = c.time()
		return nil
	})
	return next, err
}

func (t *tx) expireHeld(most int) error {
	var items []limitedItem
	err := t.query(`SELECT r.due, r.number, r.account, r.lane, r.revision, i.due
		FROM (SELECT number, due FROM limit_items WHERE expires < ?1 ORDER BY expires LIMIT ?2) i
		JOIN runs r ON r.due = i.due + ?3 AND r.kind = 0 AND r.number = i.number WHERE r.node = 0`, func(stmt *sqlite.Stmt) error {
		c := &columns{stmt: stmt}
		l := limitedItem{}
		l.Due, l.Number, l.Account, l.Lane, l.Revision, l.own = c.time(), c.int64(), c.int64(), uint32(c.int64()), c.int64(), c.time()
		items = append(items, l)
		return nil
	}, t.now, most, store.HeldDue(time.UnixMicro(0)).UnixMicro())
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return t.exec(`UPDATE limit_items SET expires = ?1 WHERE (account, number, key) IN
			(SELECT account, number, key FROM limit_items WHERE expires < ?2 ORDER BY expires LIMIT ?3)`, t.now.Add(store.ExpiryPause),
			t.now, most)
	}
	for _, l := range items {
		if err := t.moveHeld(l.Number, l.Due, t.now, time.Time{}, l.own); err != nil {
			return err
		}
		if err := t.deleteLimited(l.Account, l.Number); err != nil {
			return err
		}
		ref := l.QueueKey
		ref.Due = t.now
		t.refs = append(t.refs, ref)
	}
	return nil
}

package sqlite

import (
	"context"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// LimitsWaiting implements store.Limits. It finds the first item of each limit, and
// counts those of the limits that it returns.
func (s *Store) LimitsWaiting(ctx context.Context, owner job.Owner, limit, most int) (found []store.LimitLine, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		return t.query(`SELECT f.key, f.paused, f.due, (SELECT count(*) FROM (SELECT 1 FROM limit_items i
				WHERE i.account = ?1 AND i.key = f.key AND i.state = 1 AND i.due <= ?2 LIMIT ?4))
			FROM (SELECT key, paused, due FROM (SELECT l.key, l.paused, (SELECT i.due FROM limit_items i
					WHERE i.account = ?1 AND i.key = l.key AND i.state = 1 AND i.due <= ?2 ORDER BY i.due LIMIT 1) AS due
				FROM limits l WHERE l.account = ?1 AND NOT l.deleted) WHERE due IS NOT NULL ORDER BY due, key LIMIT ?3) f ORDER BY f.due, f.key`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			l := store.LimitLine{Key: c.text(), Paused: c.int() != 0, Since: c.time(), Waiting: c.int()}
			found = append(found, l)
			return nil
		}, owner.Number, t.now, limit, most)
	})
	return found, err
}

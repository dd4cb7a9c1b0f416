package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// orNull returns a text, or nil for "".
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// KeyUsed implements store.Accounts.
func (s *Store) KeyUsed(ctx context.Context, at map[uuid.UUID]time.Time) error {
	var keys []uuid.UUID
	var times []int64
	for key, when := range at {
		keys, times = append(keys, key), append(times, when.UnixMicro())
	}
	return s.write(ctx, func(t *tx) error {
		// Nodes may update the same keys: the order avoids deadlocks, the later time wins.
		return t.commit(query{
			sql: `WITH u AS (SELECT k.id, u.at FROM unnest($1::uuid[], $2::bigint[]) AS u (id, at) JOIN keys k ON k.id = u.id ORDER BY k.id FOR UPDATE OF k)
				UPDATE keys k SET last_used_at = greatest(k.last_used_at, u.at) FROM u WHERE k.id = u.id`,
			args: []any{keys, times},
		})
	})
}

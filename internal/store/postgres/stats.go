package postgres

import (
	"context"

	"github.com/punctual-dev/punctual/internal/store"
)

// StatsWrite implements store.Stats.
func (s *Store) StatsWrite(ctx context.Context, stats []store.Stat) error {
	if len(stats) == 0 {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		return t.commit(query{
			sql: `INSERT INTO stats (account, minute, source, succeeded, failed, lateness, duration, worst)
				SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bigint[])
				ON CONFLICT (account, minute, source) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed,
					lateness = excluded.lateness, duration = excluded.duration, worst = excluded.worst`,
			args: []any{
				column(stats, func(c *store.Stat) int64 { return c.Account }), column(stats, func(c *store.Stat) int64 { return c.Minute }),
				column(stats, func(c *store.Stat) int64 { return c.Source }),
				column(stats, func(c *store.Stat) int64 { return c.Succeeded }),
				column(stats, func(c *store.Stat) int64 { return c.Failed }),
				column(stats, func(c *store.Stat) []byte { return notNil(c.Lateness) }),
				column(stats, func(c *store.Stat) []byte { return notNil(c.Duration) }),
				column(stats, func(c *store.Stat) int64 { return c.Worst.Microseconds() }),
			},
		})
	})
}

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

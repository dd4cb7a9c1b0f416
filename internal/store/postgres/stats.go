package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

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
				column(stats, func(c *store.Stat) int64 { return c.Source }), column(stats, func(c *store.Stat) int64 { return c.Succeeded }),
				column(stats, func(c *store.Stat) int64 { return c.Failed }),
				column(stats, func(c *store.Stat) []byte { return notNil(c.Lateness) }), column(stats, func(c *store.Stat) []byte { return notNil(c.Duration) }),
				column(stats, func(c *store.Stat) int64 { return c.Worst.Microseconds() }),
			},
		})
	})
}

// StatsRead implements store.Stats.
func (s *Store) StatsRead(ctx context.Context, account, from, to int64) ([]store.Stat, error) {
	var stats []store.Stat
	err := s.readAs(ctx, pages, query{
		sql: `SELECT account, minute, source, succeeded, failed, lateness, duration, worst FROM stats
			WHERE account = (SELECT $1::bigint) AND minute BETWEEN $2 AND $3 ORDER BY minute, source`,
		args: []any{account, from, to}, start: func() { stats = nil },
		row: func(rows pgx.Rows) error {
			var c store.Stat
			var worst int64
			err := rows.Scan(&c.Account, &c.Minute, &c.Source, &c.Succeeded, &c.Failed, &c.Lateness, &c.Duration, &worst)
			c.Lateness, c.Duration = slices.Clone(c.Lateness), slices.Clone(c.Duration)
			c.Worst = time.Duration(worst) * time.Microsecond
			stats = append(stats, c)
			return err
		},
	})
	return stats, err
}

// StatsPrune implements store.Stats.
func (s *Store) StatsPrune(ctx context.Context, before int64, limit int) (int, error) {
	return s.prune(ctx, `DELETE FROM stats d USING (SELECT account, minute, source FROM stats WHERE minute < $1 LIMIT $2) o
		WHERE d.account = o.account AND d.minute = o.minute AND d.source = o.source RETURNING 1`, before, limit)
}

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

package sqlite

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/punctual-dev/punctual/internal/store"
)

// StatsWrite implements store.Stats.
func (s *Store) StatsWrite(ctx context.Context, stats []store.Stat) error {
	return s.write(ctx, func(t *tx) error {
		for i := range stats {
			c := &stats[i]
			err := t.exec(`INSERT INTO stats (account, minute, source, succeeded, failed, lateness, duration, worst) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (account, minute, source) DO UPDATE SET succeeded = excluded.succeeded, failed = excluded.failed,
					lateness = excluded.lateness, duration = excluded.duration, worst = excluded.worst`,
				c.Account, c.Minute, c.Source, c.Succeeded, c.Failed, notNil(c.Lateness), notNil(c.Duration), c.Worst.Microseconds())
			if err != nil {
				return fmt.Errorf("storing statistics: %w", err)
			}
		}
		return nil
	})
}

// StatsRead implements store.Stats.
func (s *Store) StatsRead(ctx context.Context, account, from, to int64) (stats []store.Stat, err error) {
	err = s.readAs(ctx, pages, func(t *tx) error {
		return t.query(`SELECT account, minute, source, succeeded, failed, lateness, duration, worst FROM stats
			WHERE account = ? AND minute BETWEEN ? AND ? ORDER BY minute, source`, func(stmt *sqlite.Stmt) error {
			c := &columns{stmt: stmt}
			stats = append(stats, store.Stat{
				Account: c.int64(), Minute: c.int64(), Source: c.int64(), Succeeded: c.int64(), Failed: c.int64(), Lateness: c.blob(), Duration: c.blob(),
				Worst: time.Duration(c.int64()) * time.Microsecond,
			})
			return nil
		}, account, from, to)
	})
	return stats, err
}

// StatsPrune implements store.Stats.
func (s *Store) StatsPrune(ctx context.Context, before int64, limit int) (n int, err error) {
	err = s.write(ctx, func(t *tx) error {
		err := t.exec(`DELETE FROM stats WHERE (account, minute, source) IN (SELECT account, minute, source FROM stats WHERE minute < ? LIMIT ?)`, before, limit)
		if err != nil {
			return fmt.Errorf("deleting old statistics: %w", err)
		}
		n = t.changed()
		return nil
	})
	return n, err
}

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

package sqlite

import (
	"context"
	"fmt"

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

// notNil returns b, or an empty slice for nil, which SQL would compare as null.
func notNil(b []byte) []byte { return append([]byte{}, b...) }

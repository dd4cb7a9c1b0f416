package records

import (
	"context"

	"github.com/punctual-dev/punctual/internal/store"
)

// stats are the statistics of attempts. The stores' own code writes them, by the
// thousand.
var stats = Table[store.Stat]{
	Name: "stats", Key: []string{"account", "minute", "source"},
	Columns: []Column[store.Stat]{
		{"account", func(s *store.Stat) any { return &s.Account }},
		{"minute", func(s *store.Stat) any { return &s.Minute }},
		{"source", func(s *store.Stat) any { return &s.Source }},
		{"succeeded", func(s *store.Stat) any { return &s.Succeeded }},
		{"failed", func(s *store.Stat) any { return &s.Failed }},
		{"lateness", func(s *store.Stat) any { return &s.Lateness }},
		{"duration", func(s *store.Stat) any { return &s.Duration }},
		{"worst", func(s *store.Stat) any { return &s.Worst }},
	},
}

// StatsRead implements store.Stats.
func (r *Records) StatsRead(ctx context.Context, account, from, to int64) ([]store.Stat, error) {
	found, err := read(ctx, r, Pages, &stats, `WHERE account = $1 AND minute BETWEEN $2 AND $3 ORDER BY minute, source`,
		account, from, to)
	if err != nil {
		return nil, err
	}
	read := make([]store.Stat, len(found))
	for i, s := range found {
		read[i] = *s
	}
	return read, nil
}

// StatsPrune implements store.Stats.
func (r *Records) StatsPrune(ctx context.Context, before int64, limit int) (int, error) {
	return r.prune(ctx, "stats", stats.Key, `WHERE minute < $1 LIMIT $2`, before, limit)
}

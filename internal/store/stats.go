package store

import "context"

// Stat is what one process has counted of an account's runs in one minute.
type Stat struct {
	Account   int64
	Minute    int64 // since 1970
	Source    int64 // the process
	Succeeded int64
	Failed    int64
	Lateness  []byte // histograms, as package stats writes them
	Duration  []byte
}

// Stats keeps statistics.
type Stats interface {
	// StatsWrite stores counts in place of those that the same process has
	// stored of the same account and minute before.
	StatsWrite(ctx context.Context, stats []Stat) error
	// StatsRead reads an account's counts of the minutes from one to another,
	// both included, in order.
	StatsRead(ctx context.Context, account, from, to int64) ([]Stat, error)
	// StatsPrune deletes up to limit counts of minutes before one.
	StatsPrune(ctx context.Context, before int64, limit int) (int, error)
}

package store

import (
	"context"
	"time"
)

// EveryAccount is the number under which the attempts of all accounts together
// are counted. No account has it.
const EveryAccount int64 = 0

// Stat counts an account's attempts in one minute by one process.
type Stat struct {
	Account   int64 // or EveryAccount
	Minute    int64 // minutes since 1970
	Source    int64 // the process
	Succeeded int64
	Failed    int64
	Lateness  []byte // histograms, as package stats writes them
	Duration  []byte
	Worst     time.Duration // the greatest lateness, in whole microseconds
}

// Stats stores statistics.
type Stats interface {
	// StatsWrite stores counts. They replace those that the same process has
	// stored for the same account and minute.
	StatsWrite(ctx context.Context, stats []Stat) error
	// StatsRead returns an account's counts for the minutes from to to, both
	// included, in order.
	StatsRead(ctx context.Context, account, from, to int64) ([]Stat, error)
	// StatsPrune deletes up to limit counts of minutes before a given one, and
	// returns how many it deleted.
	StatsPrune(ctx context.Context, before int64, limit int) (int, error)
}

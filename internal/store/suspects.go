package store

import (
	"context"
	"time"
)

// Parking moves runs out of the way that are not to be fired for now.
type Parking interface {
	// QueueMove changes the due times of unclaimed runs, and of their jobs and
	// deliveries, by a duration. Runs that are claimed or gone are left alone.
	QueueMove(ctx context.Context, refs []QueueKey, by time.Duration) error
}

// Suspects remembers, for as long as a node prepares attempts, which runs it
// prepares: a process that such a run ends leaves no other trace.
type Suspects interface {
	// SuspectNote notes that a node begins to prepare attempts of runs. It is
	// committed before it returns.
	SuspectNote(ctx context.Context, node int64, refs []QueueKey) error
	// SuspectClear forgets runs: their attempts are prepared, or the runs are gone.
	SuspectClear(ctx context.Context, refs []QueueKey) error
	// SuspectList counts a crash for each run that was noted by a node which is
	// gone, and returns up to limit runs with a crash, those with the most first.
	// Unclean tells that a process went away without a NodeStop, as far as can be
	// told right after this node's start.
	SuspectList(ctx context.Context, node int64, limit int) (suspects []Suspect, unclean bool, err error)
}

// Suspect is a run that was being prepared when a node went away.
type Suspect struct {
	QueueKey
	Crashes int // how often; at least 1
}

package store

import (
	"context"
	"time"
)

// Parking postpones queue items that must not be fired for now.
type Parking interface {
	// QueueMove adds a duration to the due times of unclaimed items and of their
	// jobs and deliveries. It skips items that are claimed or gone.
	QueueMove(ctx context.Context, refs []QueueKey, by time.Duration) error
}

// Suspects records which queue items a node is preparing, while it prepares
// them. If preparing an item crashes the process, this is the only trace.
type Suspects interface {
	// SuspectNote records that a node begins to prepare attempts of items, and
	// whether it prepares nothing else meanwhile. The record is committed before it
	// returns. The record of another node that is alive stays as it is.
	SuspectNote(ctx context.Context, node int64, refs []QueueKey, single bool) error
	// SuspectClear deletes the records of items whose attempts are prepared, or
	// which are gone.
	SuspectClear(ctx context.Context, refs []QueueKey) error
	// SuspectList counts a crash for each item recorded by a node that is gone, and
	// returns up to limit items with a crash, those with the most first. Of the
	// crashes while an item was prepared together with others, which may have caused
	// them, only the first counts. Unclean
	// reports whether a process ended without NodeStop, as far as this is known
	// right after this node's start.
	SuspectList(ctx context.Context, node int64, limit int) (suspects []Suspect, unclean bool, err error)
}

// Suspect is a queue item that a node was preparing when it crashed.
type Suspect struct {
	QueueKey
	Crashes int // at least 1
}

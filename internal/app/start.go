package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
)

const (
	// startWithin is how long a node goes on trying to start while its database is
	// overloaded or fails over, startPause the pause before it tries again.
	startWithin = 30 * time.Second
	startPause  = time.Second
)

// startAgain starts a node, again if a call of its store failed because the database did
// not respond.
func startAgain(ctx context.Context, log *slog.Logger, start func() (*Node, error)) (*Node, error) {
	last := time.Now().Add(startWithin)
	for {
		n, err := start()
		if err == nil || ctx.Err() != nil || fault.CodeOf(err) != fault.Unavailable || time.Now().After(last) {
			return n, err
		}
		log.Warn("the database did not respond while the node started; trying again", "error", err)
		select {
		case <-ctx.Done():
			return n, err
		case <-time.After(startPause):
		}
	}
}

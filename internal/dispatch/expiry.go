package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// Held items that may have expired are looked for every expiryEvery, and up to
	// expiryLimit are made due at once. Between two such calls are at least
	// expiryPause, so that many that expire together leave the store to others.
	expiryEvery = time.Second
	expiryPause = 20 * time.Millisecond
	expiryLimit = 256
)

// keepExpiry makes held items due when they may have expired, until ctx ends.
// They are then loaded as others are, and are discarded or held again.
func (d *Dispatcher) keepExpiry(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		wait := expiryEvery
		next, err := d.Queue.LimitExpire(store.Routine(context.WithoutCancel(ctx)), expiryLimit)
		switch {
		case err != nil:
			d.logLimited("looking for queue items that expire while limits hold them failed; retrying", err)
		case !next.IsZero():
			wait = max(expiryPause, min(expiryEvery, next.Sub(d.Queue.Now())))
		}
		timer.Reset(wait)
	}
}

// expiry returns until when an item may start, and whether it is too late for
// that. An item that can't be read has no such time.
func (d *Dispatcher) expiry(item *store.QueueItem, now time.Time) (at time.Time, expired bool) {
	if d.Deadline == nil {
		return time.Time{}, false
	}
	err := fault.Guard(func() error {
		at = d.Deadline(item)
		return nil
	})
	if err != nil || at.IsZero() {
		return time.Time{}, false
	}
	return at, now.After(at) || item.Due.After(at)
}

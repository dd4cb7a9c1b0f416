package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

// BlockedAccounts lists the accounts for which nothing may be sent.
type BlockedAccounts interface {
	// AccountsBlocked returns the numbers of suspended accounts, and of deleted
	// accounts that still have records.
	AccountsBlocked(ctx context.Context) ([]int64, error)
}

const (
	// blockedPause is how often the blocked accounts are read.
	blockedPause = 500 * time.Millisecond
	// Parking an item of a blocked account moves its due time by parkedFor, so
	// that no scan reads it. Due times between parkedFrom and parkedTill from
	// now are those of parked items: no other item is due 50 years ahead.
	parkedFor  = 100 * 365 * 24 * time.Hour
	parkedFrom = parkedFor / 2
	parkedTill = parkedFor + parkedFrom
	// asideFor is how far items are moved, for good, that can't even be read.
	asideFor = 2 * parkedFor
	// parkRest is the pause between two passes that park or unpark items. It
	// grows to parkFactor times the duration of the last pass, up to
	// maxParkRest. One transaction moves parkBatch items, so that others need
	// not wait long for it, and parkPause lies between two.
	parkRest    = 250 * time.Millisecond
	parkFactor  = 10
	maxParkRest = 5 * time.Second
	parkBatch   = 64
	parkPause   = 10 * time.Millisecond
	// unparkFor is how long this node looks for parked items after accounts are
	// unblocked, since other nodes may hear of it later and park more.
	// unparkAgain is how often it looks without a reason.
	unparkFor   = 3 * time.Second
	unparkAgain = 10 * time.Minute
)

// every calls f once per pause until ctx ends.
func every(ctx context.Context, pause time.Duration, f func(context.Context)) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f(ctx)
		}
	}
}

// readBlocked updates the set of blocked accounts.
func (d *Dispatcher) readBlocked(ctx context.Context) {
	numbers, err := d.Blocked.AccountsBlocked(ctx)
	switch {
	case err == nil:
		d.SetBlocked(numbers)
	case ctx.Err() == nil:
		d.logLimited("reading the blocked accounts failed; retrying", err)
	}
}

// dropBlocked forgets waiting items of accounts that have become blocked.
func (d *Dispatcher) dropBlocked() {
	blocked := d.items.takeBlocked()
	if blocked == nil {
		return
	}
	for number := range blocked {
		for _, p := range d.pools {
			d.items.forget(p.lanes.drop(number)...) // also if they were rescheduled
			p.publish()
		}
	}
	d.quarantine = slices.DeleteFunc(d.quarantine, func(e *entry) bool {
		if blocked[e.ref.Account] {
			d.items.forget(e)
			return true
		}
		return false
	})
}

// wantPark requests a pass that parks items.
func (d *Dispatcher) wantPark() {
	select {
	case d.parkNow <- struct{}{}:
	default:
	}
}

// parkBlocked parks due items of blocked accounts, so that they are not read
// over and over, and unparks them when the accounts are unblocked, until ctx
// ends.
func (d *Dispatcher) parkBlocked(ctx context.Context) {
	var last time.Time // when it last looked for parked items
	for ctx.Err() == nil {
		rest := unparkAgain
		if d.unparking() {
			rest = parkRest
		}
		park := pause.Woken(ctx, rest, d.parkNow)
		began := time.Now()
		var err error
		if d.unparking() || last.IsZero() || began.Sub(last) >= unparkAgain {
			last = began
			now := d.Queue.Now()
			err = d.moveAll(ctx, now.Add(parkedFrom), now.Add(parkedTill), -parkedFor, false)
		}
		if park && err == nil {
			err = d.moveAll(ctx, time.Time{}, d.Queue.Now().Add(horizon), parkedFor, true)
		}
		if err != nil && ctx.Err() == nil {
			d.logLimited("parking items of blocked accounts failed; retrying", err)
			last = time.Time{}
			d.wantPark()
		}
		pause.For(ctx, min(parkRest+parkFactor*time.Since(began), maxParkRest))
	}
}

// unparking reports whether accounts were unblocked within the last unparkFor.
func (d *Dispatcher) unparking() bool {
	return time.Now().UnixNano() < d.unparkTill.Load()
}

// moveAll moves the due times of items due between from and until whose
// accounts are blocked, or of those whose accounts are not.
func (d *Dispatcher) moveAll(ctx context.Context, from, until time.Time, by time.Duration, blocked bool) error {
	cursor := store.QueueKey{Due: from}
	for ctx.Err() == nil {
		refs, err := d.Queue.QueuePeek(ctx, cursor, until, peekLimit)
		if err != nil {
			return err
		}
		end := len(refs) < peekLimit
		var move []store.QueueKey
		accounts := d.items.blockedAccounts()
		for _, ref := range refs {
			if ref.Due.After(until) {
				end = true
				break
			}
			cursor = ref
			if accounts[ref.Account] == blocked {
				move = append(move, ref)
			}
		}
		for part := range slices.Chunk(move, parkBatch) {
			if err := d.Queue.QueueMove(ctx, part, by); err != nil {
				return err
			}
			pause.For(ctx, parkPause)
		}
		if end {
			return nil
		}
		if blocked && d.unparking() {
			d.wantPark() // later; unparking comes first
			return nil
		}
	}
	return nil
}

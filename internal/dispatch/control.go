package dispatch

import (
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// ClaimState is what this process has to do with a job's queue item.
type ClaimState int

// The states that Revoke reports.
const (
	NotOwned   ClaimState = iota // not claimed by this process
	NotStarted                   // claimed, and revoked
	Started                      // its attempt has started
)

// Notice takes in what was stored or cancelled. It does not block.
func (d *Dispatcher) Notice(n store.Notice) {
	for _, c := range n.Cancelled {
		d.items.cancelled(c.Number, c.Revision)
	}
	d.limits.planMany(n.Limits, d.Queue.Now(), 0)
	if len(n.Items) > 0 || !n.EarliestElsewhere.IsZero() {
		d.stored.Store(true)
	}
	post := d.inbox.postLater
	if pressing(n, d.Queue.Now()) {
		post = d.inbox.post
	}
	post(func(news *news) {
		news.hints = append(news.hints, n.Items...)
		if e := n.EarliestElsewhere; !e.IsZero() && (news.dueElsewhere.IsZero() || e.Before(news.dueElsewhere)) {
			news.dueElsewhere = e
		}
	})
}

// pressing reports whether the loop must know of a notice at once: it has something that
// is due soon, or nothing that is due.
func pressing(n store.Notice, now time.Time) bool {
	first := n.EarliestElsewhere
	for _, ref := range n.Items {
		if first.IsZero() || ref.Due.Before(first) {
			first = ref.Due
		}
	}
	return first.Before(now.Add(horizon + later))
}

// TimeMoved takes in that the store's clock was moved ahead: what is due then is claimed
// without waiting for timers.
func (d *Dispatcher) TimeMoved() {
	d.inbox.poke()
	d.limits.moved.Store(true)
	d.limits.poke()
}

// Busy reports whether anything is claimed or under way, an outcome is not stored, or the
// limit is to be planned now.
func (d *Dispatcher) Busy() bool { return d.items.busy() || d.limits.busy(d.Queue.Now()) }

// Revoke keeps a job's claimed item from being fired until Restore or Abort.
//
// An item whose announced start time, startAt, has passed counts as started
// even while it waits for a slot, because its start messages have been sent.
// The caller passes startAt from the store, which knows it also for a claim
// that is just being committed.
func (d *Dispatcher) Revoke(number int64, startAt time.Time) ClaimState {
	return d.items.revoke(number, startAt, d.Queue.Now())
}

// Restore lets a revoked item be fired again. The claim is confirmed first,
// because the change it was revoked for may have been committed.
func (d *Dispatcher) Restore(number int64) {
	d.items.restore(number)
	d.inbox.poke()
}

// Abort ends what this process does with a job that is no longer in the queue:
// it cancels a request under way and forgets a revoked item.
func (d *Dispatcher) Abort(number int64) {
	d.items.abort(number)
	d.inbox.poke()
}

// SetBlocked sets the accounts for which nothing may be sent. It interrupts
// their attempts under way and releases their claims, and nothing is claimed
// for them while they are in the set. Their items stay pending.
func (d *Dispatcher) SetBlocked(numbers []int64) {
	blocked := make(map[int64]bool, len(numbers))
	for _, number := range numbers {
		blocked[number] = true
	}
	node, stale, changed, unblocked := d.items.block(blocked)
	if !changed {
		return
	}
	if unblocked {
		d.unparkTill.Store(time.Now().Add(unparkFor).UnixNano())
	}
	d.inbox.poke()
	d.wantPark()
	if len(stale) > 0 {
		d.release(node, stale)
	}
}

// Self returns the number of this process's node. It changes when the lease
// expires and the process registers again.
func (d *Dispatcher) Self() int64 { return d.items.node() }

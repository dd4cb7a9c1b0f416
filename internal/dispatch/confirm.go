package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// mustConfirm reports whether the store must confirm a claim before it is
// fired: a change of the item failed but may have been committed, or notices of
// other nodes don't arrive. Called with mu held.
func (d *Dispatcher) mustConfirm(e *entry) bool {
	return (e.unsure || d.lease.notificationsDown) && !e.confirmed
}

// confirm asks the store for claims that are due, one batch at a time.
func (d *Dispatcher) confirm() {
	if d.confirming || len(d.unconfirmed) == 0 {
		return
	}
	batch := d.unconfirmed
	d.unconfirmed, d.confirming = nil, true
	d.tasks.Go(func() {
		d.confirmBatch(batch)
		d.mu.Lock()
		d.confirmedBatch = append(d.confirmedBatch, batch...)
		d.mu.Unlock()
		d.poke()
	})
}

func (d *Dispatcher) confirmBatch(batch []*entry) {
	node := d.node()
	claims := make([]store.Claim, len(batch))
	for i, e := range batch {
		claims[i] = e.claim
	}
	held, err := d.Queue.QueueHeld(context.Background(), node, claims)
	if err != nil {
		d.logLimited("confirming claims failed; retrying", err)
		time.Sleep(claimPause)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, e := range batch {
		if held[i] && e.node == node {
			e.confirmed = true
		} else {
			e.gone = true
		}
	}
}

package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

// confirm asks the store for claims that are due, one batch at a time.
func (d *Dispatcher) confirm() {
	if d.confirming || len(d.unconfirmed) == 0 {
		return
	}
	batch := d.unconfirmed
	d.unconfirmed, d.confirming = nil, true
	d.tasks.Go(func() {
		d.confirmBatch(batch)
		d.inbox.post(func(n *news) { n.confirmations, n.confirmed = true, batch })
	})
}

func (d *Dispatcher) confirmBatch(batch []*entry) {
	node := d.Self()
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
	d.items.confirmed(node, batch, held)
}

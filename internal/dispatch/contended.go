package dispatch

import (
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// contendedPause is how soon items are looked at again whose claim has passed over
	// them, and contendedAgain when, if they are still locked then.
	contendedPause = 5 * time.Millisecond
	contendedAgain = 20 * time.Millisecond
)

// contended are items whose claim has passed over them: another node has claimed them,
// they have left the queue, or a transaction had them locked, as a call that makes a
// job due now does. They keep their slots. One batch at a time is looked at again and,
// if it still is in the queue, claimed by a call that waits for locks.
type contended struct {
	mu      sync.Mutex
	items   []*entry
	running bool
}

func (c *contended) add(d *Dispatcher, passed []*entry) {
	if len(passed) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items = append(c.items, passed...)
	if !c.running {
		c.running = true
		d.tasks.Go(func() { c.run(d) })
	}
}

func (c *contended) run(d *Dispatcher) {
	for {
		time.Sleep(contendedPause)
		batch := c.take()
		if len(batch) == 0 {
			d.inbox.poke() // a suspect may wait to be claimed alone
			return
		}
		d.claimContended(batch)
	}
}

// busy reports whether items are being looked at again, or are about to be.
func (c *contended) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running
}

// take returns the next batch. Without one, the run has ended.
func (c *contended) take() []*entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.items), claimLimit)
	batch := c.items[:n:n]
	c.items = c.items[n:]
	c.running = n > 0
	return batch
}

// claimContended claims items for whose locks it waits.
func (d *Dispatcher) claimContended(batch []*entry) {
	c := &claiming{Dispatcher: d, node: d.Self(), wait: true}
	c.all(batch)
	if len(c.passed) > 0 {
		again := make([]store.QueueKey, len(c.passed))
		for i, e := range c.passed {
			again[i] = e.ref
		}
		time.AfterFunc(contendedAgain, func() { d.inbox.post(func(n *news) { n.hints = append(n.hints, again...) }) })
		c.lost = append(c.lost, c.passed...)
	}
	d.dropLost(c, func(*news) {})
}

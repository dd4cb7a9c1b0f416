package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/pause"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// heartbeatRetry is the pause after a failed heartbeat.
	heartbeatRetry = 250 * time.Millisecond
	// claimHeadStart is how long an item is left to the node it is assigned to
	// before the next node may claim it. Each further node waits headStartStep
	// longer, for maxSteps at most.
	claimHeadStart = 30 * time.Millisecond
	headStartStep  = 25 * time.Millisecond
	maxSteps       = 4
	// shareSlot and shareBlock are how many due times and numbers share an assignment.
	shareSlot  = 100 * time.Millisecond
	shareBlock = 64
)

// heartbeat renews the node's lease until ctx ends.
func (d *Dispatcher) heartbeat(ctx context.Context) {
	for {
		rest, hurry := store.HeartbeatInterval, d.heartbeatNow
		if err := d.heartbeatOnce(ctx); err != nil {
			d.logLimited("heartbeat failed; retrying", err)
			rest, hurry = heartbeatRetry, nil
		}
		if pause.Woken(ctx, rest, hurry); ctx.Err() != nil {
			return
		}
	}
}

func (d *Dispatcher) heartbeatOnce(ctx context.Context) error {
	b, err := d.Queue.NodeHeartbeat(ctx, d.Self())
	if err != nil {
		d.items.noHeartbeat()
		return err
	}
	if b.LeaseExpired {
		return d.reregister(ctx)
	}
	d.items.heartbeat(b.Nodes, b.NotificationsDown)
	d.inbox.poke()
	return nil
}

// reregister starts a new lease after this node's lease expired. Other nodes
// reclaim the old claims, so none of them is fired; those that nobody has
// reclaimed yet are released.
func (d *Dispatcher) reregister(ctx context.Context) error {
	node, err := d.Queue.NodeStart(ctx)
	if err != nil {
		return err
	}
	old, stale := d.items.reregister(node)
	d.Log.Warn("node lease expired; re-registered; other nodes will reclaim its queue items", "was", old, "node", node, "claims",
		len(stale))
	d.inbox.poke()
	if len(stale) > 0 {
		d.release(old, stale)
	}
	return nil
}

// release releases claims that may or may not have been committed. It retries
// until it succeeds, or the lease ends and other nodes reclaim them.
func (d *Dispatcher) release(node int64, claims []store.Claim) {
	for {
		err := d.Queue.QueueRelease(context.Background(), node, claims)
		if err == nil || d.Self() != node || !d.Running() {
			return
		}
		d.logLimited("releasing claims failed; retrying", err)
		time.Sleep(claimPause)
	}
}

// share returns how long this node leaves an item to others: 0 if the item is
// assigned to this node. Items are assigned by a hash, so that nodes don't compete for the
// same ones: of a slot of due times and a block of numbers, so that a node claims together
// what was created together and is due together, while nodes divide a herd.
func (d *Dispatcher) share(ref store.QueueKey, l lease) time.Duration {
	n := len(l.nodes)
	own := -1
	for i, node := range l.nodes {
		if node == l.node {
			own = i
		}
	}
	if n < 2 || own < 0 {
		return 0
	}
	slot, block := uint64(ref.Due.UnixMicro()/shareSlot.Microseconds()), uint64(ref.Number)/shareBlock
	taker := int(((slot*0xd1342543de82ef95+block*0x9e3779b97f4a7c15)>>33 + uint64(ref.Kind)) % uint64(n))
	if taker == own {
		return 0
	}
	steps := min((own-taker+n)%n-1, maxSteps)
	return claimHeadStart + time.Duration(steps)*headStartStep
}

// headStart is how long this node leaves other nodes what they have stored.
func (d *Dispatcher) headStart() time.Duration {
	lease := d.items.nodes()
	for i, node := range lease.nodes {
		if node == lease.node {
			return claimHeadStart + time.Duration(min(i, maxSteps))*headStartStep
		}
	}
	return claimHeadStart
}

// noteDueElsewhere schedules reads for items that other nodes stored and may
// not be able to claim; the earliest is due at elsewhere.
func (d *Dispatcher) noteDueElsewhere(elsewhere, now time.Time) {
	if elsewhere.Sub(now) > horizon {
		// Some of the items may be assigned to this node.
		if elsewhere.Before(d.scan.cursor.Due) {
			d.scan.cursor = store.QueueKey{Due: elsewhere.Add(-time.Microsecond)}
		}
		d.scan.next = earlier(d.scan.next, elsewhere.Add(-lead))
	}
	at := now
	if elsewhere.After(now) {
		at = elsewhere
	}
	d.rescanAt(at.Add(d.headStart()), elsewhere)
}

// rescanAt schedules a read of the queue from a due time on.
func (d *Dispatcher) rescanAt(at, due time.Time) {
	due = due.Add(-time.Microsecond)
	if d.scan.rescan.IsZero() {
		d.scan.rescan, d.scan.behind = at, due
	}
	d.scan.rescan, d.scan.behind = earlier(d.scan.rescan, at), earlier(d.scan.behind, due)
}

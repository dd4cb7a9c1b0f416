package dispatch

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/store"
)

// life is what is known of this process's node and of the others; guarded by
// Dispatcher.mu.
type lease struct {
	node              int64
	nodes             []int64 // that live, by number
	notificationsDown bool    // notices of others don't arrive
}

const (
	// beatAgain lies between two tries of a beat.
	heartbeatRetry = 250 * time.Millisecond
	// leaveRun is how long a run is left to the node that is to take it before
	// another one does, leaveStep how much longer each further one leaves it, for
	// maxSteps at most.
	claimHeadStart = 30 * time.Millisecond
	headStartStep  = 25 * time.Millisecond
	maxSteps       = 4
)

// Self returns the number of this process's node, which changes when it was taken
// for gone.
func (d *Dispatcher) Self() int64 { return d.node() }

func (d *Dispatcher) node() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lease.node
}

// beat says that this node lives, until ctx ends.
func (d *Dispatcher) heartbeat(ctx context.Context) {
	for {
		pause, hurry := store.HeartbeatInterval, d.heartbeatNow
		if err := d.heartbeatOnce(ctx); err != nil {
			d.logLimited("saying that this node lives failed; trying again", err)
			pause, hurry = heartbeatRetry, nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-hurry:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (d *Dispatcher) heartbeatOnce(ctx context.Context) error {
	b, err := d.Queue.NodeHeartbeat(ctx, d.node())
	if err != nil {
		d.mu.Lock()
		d.lease.notificationsDown = true // as far as is known, and for a while after the store is back
		d.mu.Unlock()
		return err
	}
	if b.LeaseExpired {
		return d.reregister(ctx)
	}
	d.mu.Lock()
	d.lease.nodes, d.lease.notificationsDown = b.Nodes, b.NotificationsDown
	d.mu.Unlock()
	d.poke()
	return nil
}

// startAnew begins a new node's life after this one was taken for gone. Its
// claims are others' now: none is fired, and those that nobody has taken yet
// are given back.
func (d *Dispatcher) reregister(ctx context.Context) error {
	node, err := d.Queue.NodeStart(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	old := d.lease.node
	d.lease.node = node
	var stale []store.Claim
	for _, e := range d.known {
		if e.phase == phaseHeld && e.node == old && !e.gone {
			e.gone = true
			stale = append(stale, e.claim)
		}
	}
	d.mu.Unlock()
	d.Log.Warn("this node was taken for gone, so it starts anew; others take its claims", "was", old, "node", node, "claims", len(stale))
	d.poke()
	if len(stale) > 0 {
		d.release(old, stale)
	}
	return nil
}

// giveBack gives back claims that may or may not have been made. It tries for
// as long as nobody else would.
func (d *Dispatcher) release(node int64, claims []store.Claim) {
	for {
		err := d.Queue.QueueRelease(context.Background(), node, claims)
		if err == nil || d.node() != node || !d.Running() {
			return
		}
		d.logLimited("giving back claims failed; trying again", err)
		time.Sleep(claimPause)
	}
}

// share tells how long a run is left to others: not at all when it is this
// node's to take. Runs are shared out by number, so that nodes don't all go for
// the same ones.
func (d *Dispatcher) share(ref store.QueueKey, nodes []int64, self int64) time.Duration {
	n := len(nodes)
	own := -1
	for i, node := range nodes {
		if node == self {
			own = i
		}
	}
	if n < 2 || own < 0 {
		return 0
	}
	taker := int((uint64(ref.Number)*0x9e3779b97f4a7c15>>33 + uint64(ref.Kind)) % uint64(n))
	if taker == own {
		return 0
	}
	steps := min((own-taker+n)%n-1, maxSteps)
	return claimHeadStart + time.Duration(steps)*headStartStep
}

// leave is how long this node waits for others to take what they have stored.
func (d *Dispatcher) headStart() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, node := range d.lease.nodes {
		if node == d.lease.node {
			return claimHeadStart + time.Duration(min(i, maxSteps))*headStartStep
		}
	}
	return claimHeadStart
}

// hear takes in what others have stored: from elsewhere on, something is due
// that they may not be able to take.
func (d *Dispatcher) noteDueElsewhere(elsewhere, now time.Time) {
	if elsewhere.Sub(now) > horizon {
		// Some of it is this node's to claim ahead.
		if elsewhere.Before(d.scan.cursor.Due) {
			d.scan.cursor = store.QueueKey{Due: elsewhere.Add(-time.Microsecond)}
		}
		d.scan.next = earlier(d.scan.next, elsewhere.Add(-lead))
	}
	at := now
	if elsewhere.After(now) {
		at = elsewhere
	}
	d.rescanAt(at.Add(d.headStart()))
}

// lookAgain has the queue read from its beginning at a time.
func (d *Dispatcher) rescanAt(at time.Time) {
	if d.scan.rescan.IsZero() || at.Before(d.scan.rescan) {
		d.scan.rescan = at
	}
}

// cancelled ends what this process does with a job that others have ended.
func (d *Dispatcher) cancelled(number int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[store.ItemID{Kind: store.KindJob, Number: number}]
	switch {
	case e == nil || e.phase == phaseWaiting:
	case e.phase == phaseFired:
		e.abort(execute.ErrCancelled)
	default:
		d.requireConfirmation(e) // what tells of its beginning may have been taken back
		e.gone = true
	}
}

package app

import (
	"context"
	"time"
)

// ready reports whether clients should be sent to this node: the dispatcher runs
// and the node is not about to stop.
func (n *Node) ready() bool { return n.dispatcher.Running() && !n.draining.Load() }

// awaitStop waits until the node is to stop: Config.Drain after until ends, or when a
// part has failed. While it drains, the node works as before but is not ready, so
// load balancers have the time to turn elsewhere before connections are refused.
func (n *Node) awaitStop(until, failed context.Context) {
	select {
	case <-failed.Done():
		return
	case <-until.Done():
	}
	n.draining.Store(true)
	if n.config.Drain <= 0 {
		return
	}
	n.config.Log.Info("draining; the node is not ready any more", "period", n.config.Drain.String())
	select {
	case <-failed.Done():
	case <-time.After(n.config.Drain):
	}
}

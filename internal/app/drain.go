package app

import (
	"context"
	"sync"
	"time"
)

// The flags that sockets are named after, and all of them, the first being that of a
// socket without a name.
const (
	listenFlag    = "listen"
	metricsListen = "metrics-listen"
	googleListen  = "google-listen"
)

// SocketNames are the names of the sockets that a node can be passed.
func SocketNames() []string { return []string{listenFlag, metricsListen, googleListen} }

// moveWithin is how long clients have to send another request on the connections that
// they keep, whose response tells them to open a new one.
const moveWithin = time.Second

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

// handOver lets clients move to the next process, for which the supervisor keeps the
// sockets: connections wait there from now on, and those that are open end with a response
// that says so. Connections that are not used within moveWithin are closed afterwards.
func (n *Node) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, moveWithin)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() { n.server.Drain(ctx) })
	all.Go(func() { n.google.drain(ctx) })
	all.Go(func() { n.operations.drain(ctx) })
	all.Wait()
}

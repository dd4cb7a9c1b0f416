package app

import (
	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/store"
)

// newListeners makes what the listeners of accounts connect to. It is started when
// this node's number is known.
func (n *Node) newListeners() {
	relay, _ := n.database.(store.Relay) // nil: one node only
	if relay != nil {
		relay = &secret.Relay{Relay: relay, Keys: n.keys}
	}
	n.listeners = listen.New(listen.Config{
		Relay: relay, Node: func() int64 { return n.dispatcher.Self() }, Now: n.store.Now, Public: n.publicAccount(), Log: n.config.Log,
	})
	n.metrics.Gauge("punctual_listeners", "Listeners of accounts (punctual listen) that are connected to this node.", nil,
		func() float64 { return float64(n.listeners.Listeners()) })
	n.metrics.Gauge("punctual_listener_requests", "Requests that listeners connected to this node have under way.", nil,
		func() float64 { return float64(n.listeners.InFlight()) })
}

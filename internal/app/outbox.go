package app

import (
	"fmt"
	"net"

	"github.com/punctual-dev/punctual/internal/outbox"
)

// newOutbox makes the relay of an application's outbox, if there is one. It calls this
// node like any client, at the address on which it listens.
func (n *Node) newOutbox() (err error) {
	c := n.config
	if c.Outbox == "" {
		return nil
	}
	host := ""
	if c.PublicURL != nil {
		host = c.PublicURL.Host
	}
	n.outbox, err = outbox.New(outbox.Config{Source: c.Outbox, Service: "http://" + dialled(n.listener.Addr()), Host: host,
		Key: c.OutboxKey, Log: c.Log})
	if err != nil {
		return fmt.Errorf("--outbox: %w", err)
	}
	n.metrics.Registry.MustRegister(n.outbox.Collectors()...)
	return nil
}

// dialled returns the address at which this process reaches a listener of its own.
func dialled(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/httpapi"
)

// newServer makes the server that strangers connect to.
func newServer(c Config, api *httpapi.Server, handler http.Handler) *edge.Server {
	return edge.NewServer(edge.ServerConfig{
		Handler: handler, Refuse: api.Refuse, Policy: &edge.Policy{Proxies: c.TrustedProxies, PublicURL: c.PublicURL},
		MaxConnections: maxConnections(c), Log: c.Log,
	})
}

// DefaultConnections is how many clients' connections are open at once unless
// something else is said.
const DefaultConnections = 4096

// maxConnections returns how many clients' connections may be open: as many as
// are configured, and at most half the descriptors that the process may have.
// The other half is for targets and the database.
func maxConnections(c Config) int {
	if c.MaxConnections == 0 {
		c.MaxConnections = DefaultConnections
	}
	limit := descriptors()
	if limit/2 >= uint64(c.MaxConnections) {
		return c.MaxConnections
	}
	most := max(1, int(limit/2))
	c.Log.Warn("fewer connections are admitted than --max-connections says, because of the limit of file descriptors; raise it (ulimit -n, LimitNOFILE=)",
		"descriptors", limit, "max_connections", c.MaxConnections, "admitted", most)
	return most
}

// operationsConnections is how many connections for metrics and health are open
// at once.
const operationsConnections = 64

// operations is the server of metrics and health details, on an address of its
// own. Nil is none.
type operations struct {
	listener net.Listener
	server   *edge.Server
}

// listenOperations opens the address of operations; nil when there is none.
func listenOperations(c Config) (*operations, error) {
	if c.MetricsListen == "" && !c.Sockets.Has(metricsListen) {
		return nil, nil
	}
	l, err := c.Sockets.Listen(metricsListen, c.MetricsListen)
	if err != nil {
		return nil, err
	}
	return &operations{listener: l}, nil
}

// serves makes the server.
func (o *operations) serves(c Config, api *httpapi.Server) {
	o.server = edge.NewServer(edge.ServerConfig{
		Handler: withProfiles(api.Operations()), Refuse: api.Refuse, Policy: &edge.Policy{Proxies: c.TrustedProxies},
		MaxConnections: operationsConnections, Log: c.Log,
	})
	c.Log.Info("serving metrics and health details", "metrics_address", o.listener.Addr().String())
}

// serve serves until close.
func (o *operations) serve() error {
	if o == nil {
		return nil
	}
	if err := o.server.Serve(o.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}

// drain lets clients move to the next process.
func (o *operations) drain(ctx context.Context) {
	if o != nil {
		o.server.Drain(ctx)
	}
}

func (o *operations) close() {
	if o == nil {
		return
	}
	if o.server != nil {
		_ = o.server.Close()
	}
	_ = o.listener.Close() // closed already when it has served
}

// observeEdge measures what the edge holds for its clients.
func (n *Node) observeEdge() {
	gauge := func(name, help string, labels map[string]string, value func(edge.Figures) int64) {
		n.metrics.Gauge(name, help, labels, func() float64 { return float64(value(n.server.Figures())) })
	}
	count := func(reason string, value func(edge.Figures) int64) {
		n.metrics.Count("punctual_connections_refused_total",
			"Clients' connections refused because all were busy (full), or closed while idle to admit another one (idle).",
			map[string]string{"reason": reason}, func() float64 { return float64(value(n.server.Figures())) })
	}
	gauge("punctual_connections", "Clients' connections that are open.", nil, func(f edge.Figures) int64 { return int64(f.Connections) })
	const inFlight = "Bytes in memory for clients: of large requests, of responses that clients are slow to read."
	gauge("punctual_bytes_in_flight", inFlight, map[string]string{"direction": "received"},
		func(f edge.Figures) int64 { return f.Received })
	gauge("punctual_bytes_in_flight", inFlight, map[string]string{"direction": "sent"}, func(f edge.Figures) int64 { return f.Unread })
	count("full", func(f edge.Figures) int64 { return f.Refused })
	count("idle", func(f edge.Figures) int64 { return f.Dropped })
}

// showSetupCode shows the code that the first person to sign up must enter, when
// there is no account yet.
func (n *Node) showSetupCode(ctx context.Context) {
	code, err := n.people.SetupCode(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		n.config.Log.Error("making the setup code for the first account failed; restart the service, or make the account by punctual accounts create", "error", err)
	case code != "" && n.config.SetupCode != nil:
		n.config.SetupCode(code)
	}
}

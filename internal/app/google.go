package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/punctual-dev/punctual/internal/compat/google"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/httpapi"
)

// googleServer serves the Google-compatible APIs, on an address of its own. Nil is none.
type googleServer struct {
	listener    net.Listener
	certificate *certificate // nil serves plain connections
	server      *edge.Multiplexed
}

// listenGoogle opens the address of the Google-compatible APIs; nil when there is none.
func listenGoogle(c Config) (*googleServer, error) {
	if c.GoogleListen == "" && !c.Sockets.Has(googleListen) {
		return nil, nil
	}
	g := &googleServer{}
	if c.GoogleTLSCert != "" {
		var err error
		if g.certificate, err = loadCertificate(c.GoogleTLSCert, c.GoogleTLSKey, c.Log); err != nil {
			return nil, fmt.Errorf("--google-tls-cert and --google-tls-key can't be used; give files with a PEM certificate and its private key: %w", err)
		}
	}
	var err error
	g.listener, err = c.Sockets.Listen(googleListen, c.GoogleListen)
	return g, err
}

// serves makes the server.
func (g *googleServer) serves(n *Node, api *httpapi.Server) {
	c := n.config
	handler := api.Foreign(google.New(google.Config{Service: n.service, AppEngine: c.AppEngineURL, Key: c.GoogleKey}), google.Names()...)
	config := edge.MultiplexedConfig{
		Handler: edge.CountHops(handler), Refuse: google.Refuse, Policy: &edge.Policy{Proxies: c.TrustedProxies},
		MaxConnections: maxConnections(c), Log: c.Log,
	}
	if g.certificate != nil {
		config.Certificate = g.certificate.get
	}
	g.server = edge.NewMultiplexed(config)
}

// serve serves until close.
func (g *googleServer) serve() error {
	if g == nil {
		return nil
	}
	if err := g.server.Serve(g.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the Google-compatible APIs: %w", err)
	}
	return nil
}

// address returns the address that is served; "" if there is none.
func (g *googleServer) address() string {
	if g == nil {
		return ""
	}
	return g.listener.Addr().String()
}

// drain lets clients move to the next process.
func (g *googleServer) drain(ctx context.Context) {
	if g != nil {
		g.server.Drain(ctx)
	}
}

// shutdown lets calls under way finish until the context ends.
func (g *googleServer) shutdown(ctx context.Context) {
	if g != nil && g.server.Shutdown(ctx) != nil {
		_ = g.server.Close()
	}
}

func (g *googleServer) close() {
	if g == nil {
		return
	}
	if g.server != nil {
		_ = g.server.Close()
	}
	_ = g.listener.Close() // closed already when it has served
}

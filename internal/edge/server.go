package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// ServerConfig of a Server.
type ServerConfig struct {
	Handler http.Handler
	// Refuse answers a request that never reaches Handler.
	Refuse func(http.ResponseWriter, *http.Request, error)
	Policy *Policy
	// MaxConnections is how many are open at once, at least 1. A network may have
	// a quarter of them, a trusted proxy and this machine three.
	MaxConnections int
	Log            *slog.Logger
}

// Server serves HTTP to strangers: the number of connections, the time that each
// may take and the bytes that it makes the service hold are bounded, in all and
// for each network.
type Server struct {
	*http.Server
	config ServerConfig
	gate   *gate
}

// NewServer makes a Server.
func NewServer(config ServerConfig) *Server {
	s := &Server{config: config, gate: newGate(config.Policy, config.MaxConnections)}
	s.Server = &http.Server{
		Handler: s.guard(receive(config.Handler)), ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:    slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   changed,
	}
	return s
}

// changed follows what a connection is busy with.
func changed(inner net.Conn, state http.ConnState) {
	c, ok := inner.(*conn)
	switch {
	case !ok:
	case state == http.StateActive:
		c.begun()
	case state == http.StateIdle:
		c.ended()
	}
}

// Serve serves the listener's connections until the server is shut down.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(&gated{l, s.gate}) }

// Figures are counts for the metrics.
type Figures struct {
	Connections      int   // open
	Refused, Dropped int64 // turned away; closed to make room for others
	Received, Unread int64 // bytes in flight: of requests, of responses that clients are slow to read
}

// Figures returns the server's counts.
func (s *Server) Figures() Figures {
	s.gate.mu.Lock()
	open := s.gate.open
	s.gate.mu.Unlock()
	return Figures{
		Connections: open, Refused: s.gate.refused.Load(), Dropped: s.gate.dropped.Load(),
		Received: s.gate.received.inUse(), Unread: s.gate.unread.inUse(),
	}
}

package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
)

// ServerConfig configures a Server.
type ServerConfig struct {
	Handler http.Handler
	// Refuse responds to a request that does not reach Handler. For a connection that
	// has sent no readable request, the request is empty.
	Refuse func(http.ResponseWriter, *http.Request, error)
	Policy *Policy
	// MaxConnections is the limit of open connections, at least 1. A network may
	// have a quarter of them; a trusted proxy and this machine may have three
	// quarters.
	MaxConnections int
	Log            *slog.Logger
}

// Server serves HTTP to untrusted clients. It limits connections, the time that each
// may take and the memory that it uses, in all and per network.
type Server struct {
	*http.Server
	config ServerConfig
	gate   *gate
	moving drain
}

// NewServer returns a Server.
func NewServer(config ServerConfig) *Server {
	s := &Server{config: config, gate: newGate(config.Policy, config.MaxConnections)}
	s.gate.render = s.render
	s.Server = &http.Server{
		Handler: s.moving.wrap(s.guard(receive(config.Handler))), ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:    slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:   changed,
	}
	return s
}

// changed updates a connection's phase.
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
func (s *Server) Serve(l net.Listener) error {
	return s.Server.Serve(&gated{s.moving.listen(l), s.gate})
}

// Drain lets clients move to another process that listens on the same socket. It stops
// accepting connections, ends those that are open with the response to their next
// request, and returns once all have ended, or ctx has. The server must then be shut
// down.
func (s *Server) Drain(ctx context.Context) {
	s.moving.begin(ctx, func() int { return s.Figures().Connections })
}

// Figures are counts for metrics.
type Figures struct {
	Connections      int   // open
	Refused, Dropped int64 // refused because all were busy; closed while idle for another one
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

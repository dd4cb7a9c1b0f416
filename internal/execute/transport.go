package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"
)

const (
	defaultConnsIdle = 100
	idleTimeout      = 90 * time.Second
	tlsSessions      = 4096      // resumable sessions remembered, one per host and port
	maxHeaderBytes   = 256 << 10 // of an answer
	dialLimit        = 30 * time.Second

	// A connection over HTTP/2 carries all requests to its host, so a dead one
	// would fail them all. It is asked for a sign of life after a silence, and
	// given up well within the usual time allowed for an attempt.
	pingAfter = 10 * time.Second
	pongLimit = 5 * time.Second
)

func newTLSConfig(roots *x509.CertPool) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            roots,
		NextProtos:         []string{"h2", "http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(tlsSessions),
	}
}

func (c *Client) newTransport(connsIdle int) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // the environment's would hide the address that is called
		DialTLSContext:         c.dialTLS,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pongLimit},
		DisableCompression:     true,
		MaxIdleConns:           4 * connsIdle,
		MaxIdleConnsPerHost:    connsIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ExpectContinueTimeout:  time.Second,
	}
}

// dialError says that no connection could be made.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// handshakeError says that a connection was made but TLS did not come about.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// dialTLS connects to addr and shakes hands. It does both itself, rather than
// leave TLS to the transport, so that failures of the two are told apart.
func (c *Client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := boundDial(ctx)
	defer cancel()
	raw, err := c.dial(ctx, network, addr)
	if err != nil {
		return nil, &dialError{err}
	}
	cfg := c.tls.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(addr)
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, &handshakeError{err}
	}
	return conn, nil
}

// dial makes the TCP connection, past the guard unless all addresses may be
// called.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	if c.special == nil {
		return dialer.DialContext(ctx, network, addr)
	}
	g := guard{special: c.special}
	dialer.Control = g.control
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, g.explain(err)
	}
	return conn, nil
}

type attemptKey struct{} // context key of the *attempt a dial is made for

// boundDial gives a dial the deadline of the attempt it is made for. The
// transport detaches dials from the request's context, keeping only its
// values, so without this a silent address would hold on to a socket long
// after the attempt is over.
func boundDial(ctx context.Context) (context.Context, context.CancelFunc) {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && !a.deadline.IsZero() {
		return context.WithDeadline(ctx, a.deadline)
	}
	return context.WithTimeout(ctx, dialLimit)
}

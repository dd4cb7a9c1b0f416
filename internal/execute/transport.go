package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	defaultConnsIdle = 100
	idleTimeout      = 90 * time.Second
	maxHeaderBytes   = 256 << 10 // of a response, with lineCost for each line

	// An HTTP/2 connection carries all requests to its host, so a dead one
	// would fail them all. It is pinged after a silence, and closed well within
	// the usual timeout of an attempt.
	pingAfter = 10 * time.Second
	pongLimit = 5 * time.Second
	// sendLimit is how long an HTTP/2 target may accept no byte.
	sendLimit = time.Minute

	// The flow control windows of HTTP/2: how much arrives ahead of its reader.
	streamWindow = 512 << 10
	connWindow   = 2 << 20
)

// dialLimit is how long it takes at most to open a connection. Tests raise it.
var dialLimit = 30 * time.Second

func newTLSConfig(roots *x509.CertPool, preferHTTP2 bool) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if preferHTTP2 {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
	return cfg
}

// newTransport returns the transport that makes HTTP/2 of open connections. It opens
// and keeps none: its own pool knows no accounts, and it would send a request again
// over another connection.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy: nil, // a proxy from the environment would hide the address that is called
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return ctx.Value(streamKey{}).(net.Conn), nil
		},
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter, PingTimeout: pongLimit, WriteByteTimeout: sendLimit,
			MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connWindow,
		},
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

type streamKey struct{} // context key of the net.Conn that a ClientConn uses

// wrap speaks HTTP/2 over a connection.
func (c *Client) wrap(conn *targetConn) (*http.ClientConn, error) {
	return c.transport.NewClientConn(context.WithValue(context.Background(), streamKey{}, conn.stream), "https", conn.route.to)
}

// dialError means that no connection could be established.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// handshakeError means that the TLS handshake of a connection failed.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// openHTTP2 opens a connection to a target that has chosen HTTP/2 before or refuses
// HTTP/1.1.
func (c *Client) openHTTP2(ctx context.Context, to route) (*targetConn, error) {
	conn, err := c.dial(ctx, to, http2Only)
	switch {
	case refusesVersion(err):
		c.only2.remove(to.to)
		return nil, err
	case err != nil:
		return nil, err
	case !conn.speaksHTTP2(): // it has no ALPN, and net/http would speak HTTP/1.1 by its own rules
		_ = conn.Close()
		c.only2.remove(to.to)
		return nil, &handshakeError{errNoVersion}
	}
	c.only2.add(to.to)
	return conn, nil
}

// dial connects to a target and does the TLS handshake, in which it offers the given
// versions of HTTP.
func (c *Client) dial(ctx context.Context, to route, versions []string) (*targetConn, error) {
	raw, err := c.connect(ctx, to)
	if err != nil {
		return nil, err
	}
	return raw, c.shakeHands(ctx, raw, versions)
}

// connect opens a TCP connection and registers it. It checks the host and port, the
// address, and once more what operators have blocked meanwhile.
func (c *Client) connect(ctx context.Context, to route) (*targetConn, error) {
	host, port, err := net.SplitHostPort(to.to)
	if err != nil {
		return nil, &dialError{err}
	}
	if err := c.targets.checkDial(host, port); err != nil {
		return nil, &dialError{err}
	}
	if hostName(host) == job.ListenHost {
		return nil, &dialError{&blockedError{why: "it is spelled " + job.ListenHost + ", and never called over the network"}}
	}
	var lookup atomic.Int64 // nanoseconds
	raw, err := c.dialTCP(timeLookup(ctx, &lookup), "tcp", to.to)
	if err != nil {
		return nil, &dialError{err}
	}
	kept := c.keep(raw, host, to)
	kept.lookup = time.Duration(lookup.Load())
	if err := c.stillAllowed(kept); err != nil {
		_ = kept.Close()
		return nil, &dialError{err}
	}
	return kept, nil
}

// keep registers a new connection, so that it can be closed when an operator
// blocks its target.
func (c *Client) keep(raw net.Conn, host string, to route) *targetConn {
	kept := &targetConn{Conn: raw, route: to, server: host, host: hostName(host), at: raw.RemoteAddr().String(), conns: c.conns,
		used: present()}
	kept.stream = kept
	if tcp, ok := raw.RemoteAddr().(*net.TCPAddr); ok {
		kept.addr = tcp.AddrPort().Addr().Unmap()
	}
	kept.allowance.Store(handshakeAllowance)
	c.conns.add(kept)
	return kept
}

// stillAllowed checks a connection again after it was registered: its target
// may have been blocked during the dial.
func (c *Client) stillAllowed(kept *targetConn) error {
	if why := c.targets.refuses(kept.addr); why != "" {
		return &blockedError{kept.addr, why}
	}
	if c.targets.blocksHost(kept.host) {
		return &blockedError{why: "this service does not call that host"}
	}
	return nil
}

// shakeHands does the TLS handshake itself, rather than leave it to net/http, to
// distinguish its failures.
func (c *Client) shakeHands(ctx context.Context, raw *targetConn, versions []string) error {
	cfg := c.tls.Clone()
	cfg.NextProtos = versions
	cfg.ServerName = raw.server
	sessions := c.sessions.of(raw)
	sessions.missing = func() { c.conns.checkLast(raw.route) }
	cfg.ClientSessionCache, cfg.VerifyConnection = sessions, sessions.verify
	if certificate := raw.route.party.Certificate; certificate != nil {
		certificate.present(cfg)
	}
	conn, began := tls.Client(raw, cfg), time.Now()
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return &handshakeError{err}
	}
	raw.stream, raw.handshake = conn, time.Since(began)
	return nil
}

// timeLookup returns a context for a dial that measures how long the name's lookup takes.
func timeLookup(ctx context.Context, took *atomic.Int64) context.Context {
	began := time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSDone: func(httptrace.DNSDoneInfo) { took.Store(int64(time.Since(began))) },
	})
}

// resolver is the pure Go resolver: its lookups hold no threads while they
// wait.
var resolver = &net.Resolver{PreferGo: true}

// dialGuarded opens the TCP connection, with the guard's checks.
func (c *Client) dialGuarded(ctx context.Context, network, addr string) (net.Conn, error) {
	g := guard{targets: c.targets}
	dialer := net.Dialer{Control: g.control, Resolver: resolver}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, g.explain(err)
	}
	return conn, nil
}

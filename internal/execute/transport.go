package execute

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

const (
	defaultConnsIdle = 100
	idleTimeout      = 90 * time.Second
	maxHeaderBytes   = 256 << 10 // of a response
	dialLimit        = 30 * time.Second

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

func newTLSConfig(roots *x509.CertPool, preferHTTP2 bool) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if preferHTTP2 {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
	return cfg
}

func (c *Client) newTransport(connsIdle, connsIdleAll int) *http.Transport {
	return &http.Transport{
		Proxy:             nil, // a proxy from the environment would hide the address that is called
		DialContext:       c.dialPlain,
		DialTLSContext:    c.dialTLS,
		ForceAttemptHTTP2: true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: pingAfter, PingTimeout: pongLimit, WriteByteTimeout: sendLimit,
			MaxReceiveBufferPerStream: streamWindow, MaxReceiveBufferPerConnection: connWindow,
		},
		DisableCompression:     true,
		MaxIdleConns:           connsIdleAll,
		MaxIdleConnsPerHost:    connsIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ExpectContinueTimeout:  time.Second,
	}
}

// dialError means that no connection could be established.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// handshakeError means that the TLS handshake of a connection failed.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

// dialTLS connects to addr and does the TLS handshake, for a target that may choose
// HTTP/2 or refuses HTTP/1.1.
func (c *Client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := boundDial(ctx)
	defer cancel()
	versions := http2Only
	if c.prefer2 {
		versions = nil
	}
	conn, err := c.dialVersion(ctx, network, addr, versions)
	if err != nil {
		if !c.prefer2 && refusesVersion(err) {
			c.only2.remove(addr) // the next attempt offers HTTP/1.1 again
		}
		return nil, err
	}
	if !c.prefer2 {
		c.only2.add(addr)
	}
	conn.NetConn().(*targetConn).ready()
	return conn, nil
}

// dialVersion connects to addr and does the TLS handshake, in which it offers the
// given versions of HTTP, or those of the configuration. It does the handshake
// itself, rather than leave it to the transport, to distinguish failures of the
// two.
func (c *Client) dialVersion(ctx context.Context, network, addr string, versions []string) (*tls.Conn, error) {
	raw, err := c.connect(ctx, network, addr)
	if err != nil {
		return nil, &dialError{err}
	}
	if to, ok := ctx.Value(dialledKey{}).(**targetConn); ok {
		*to = raw
	}
	return c.shakeHands(ctx, raw, versions)
}

// dialPlain connects to addr for a URL of http.
func (c *Client) dialPlain(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := boundDial(ctx)
	defer cancel()
	raw, err := c.connect(ctx, network, addr)
	if err != nil {
		return nil, &dialError{err}
	}
	raw.ready()
	return raw, nil
}

// connect opens a TCP connection to addr and registers it. It checks the host
// and port, the address, and once more what operators have blocked meanwhile.
func (c *Client) connect(ctx context.Context, network, addr string) (*targetConn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if err := c.targets.checkDial(host, port); err != nil {
		return nil, err
	}
	if hostName(host) == job.ListenHost {
		return nil, &blockedError{why: "it is spelled " + job.ListenHost + ", and never called over the network"}
	}
	raw, err := c.dialTCP(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	kept := c.keep(raw, host, addr)
	if err := c.stillAllowed(kept); err != nil {
		_ = kept.Close()
		return nil, err
	}
	return kept, nil
}

// keep registers a new connection, so that it can be closed when an operator
// blocks its target.
func (c *Client) keep(raw net.Conn, host, to string) *targetConn {
	kept := &targetConn{Conn: raw, to: to, server: host, host: hostName(host), at: raw.RemoteAddr().String(), conns: c.conns}
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

func (c *Client) shakeHands(ctx context.Context, raw *targetConn, versions []string) (*tls.Conn, error) {
	cfg := c.tls.Clone()
	if versions != nil {
		cfg.NextProtos = versions
	}
	cfg.ServerName = raw.server
	sessions := c.sessions.of(raw.at)
	sessions.missing = func() { c.conns.checkLast(raw.to) }
	cfg.ClientSessionCache, cfg.VerifyConnection = sessions, sessions.verify
	conn := tls.Client(raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, &handshakeError{err}
	}
	return conn, nil
}

// resolver is the pure Go resolver: its lookups hold no threads while they
// wait.
var resolver = &net.Resolver{PreferGo: true}

// dial opens the TCP connection, with the guard's checks.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	g := guard{targets: c.targets}
	dialer := net.Dialer{Control: g.control, Resolver: resolver}
	conn, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, g.explain(err)
	}
	return conn, nil
}

type attemptKey struct{} // context key of the *attempt that dials

type dialledKey struct{} // context key of a **targetConn that a dial sets

// open opens a connection that is not in the transport's pool.
func (c *Client) open(ctx context.Context, addr string) (*http.ClientConn, *targetConn, error) {
	var raw *targetConn
	conn, err := c.transport.NewClientConn(context.WithValue(ctx, dialledKey{}, &raw), "https", addr)
	return conn, raw, err
}

// boundDial limits a dial by dialLimit and by the deadline of its attempt. The
// transport detaches dials from the request's context, keeping only its values,
// so without this a silent address would hold a socket long after the attempt.
func boundDial(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := time.Now().Add(dialLimit)
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok && !a.deadline.IsZero() && a.deadline.Before(limit) {
		limit = a.deadline
	}
	return context.WithDeadline(ctx, limit)
}

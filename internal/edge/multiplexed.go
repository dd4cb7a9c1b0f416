package edge

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/quota"
)

const (
	// maxStreams is how many requests a connection may have under way, and
	// streamsPerConnection how many the server serves for each connection that it admits.
	maxStreams           = 100
	streamsPerConnection = 2
	// connectionBuffer and streamBuffer are how many bytes of requests a client may send
	// before they are read.
	connectionBuffer = 1 << 20
	streamBuffer     = 256 << 10
	// streamTimeout is how long a request may take to arrive.
	streamTimeout = 30 * time.Second
	// pingAfter is how long a connection may be silent before its client is asked for a
	// sign of life, which must come within pingWithin.
	pingAfter  = 30 * time.Second
	pingWithin = 15 * time.Second
)

// MultiplexedConfig configures a Multiplexed.
type MultiplexedConfig struct {
	Handler http.Handler
	// Refuse responds to a request that does not reach Handler.
	Refuse func(http.ResponseWriter, *http.Request, error)
	Policy *Policy
	// MaxConnections is the limit of open connections, at least 1. A network may have a
	// quarter of them; a trusted proxy and this machine may have three quarters.
	MaxConnections int
	// Certificate serves TLS, as tls.Config.GetCertificate; nil serves plain connections.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Log         *slog.Logger
}

// Multiplexed serves HTTP/1.1 and HTTP/2, with and without TLS, to untrusted clients:
// many requests at once on one connection, as gRPC has them. It limits connections,
// requests under way, the time that each may take, the bytes that are held, and those
// that belong to no call of an account, in all and per network. A [Server] serves
// HTTP/1.1 only.
type Multiplexed struct {
	*http.Server
	config MultiplexedConfig
	bytes  *budget
	conns  *shares
	calls  *shares
	idle   *quota.Meter[netip.Prefix] // bytes of each network that no call pays for
	moving drain
}

// NewMultiplexed returns a Multiplexed.
func NewMultiplexed(config MultiplexedConfig) *Multiplexed {
	s := &Multiplexed{
		config: config, bytes: newBudget(receivedBytes),
		conns: newShares(config.Policy, config.MaxConnections), calls: newShares(config.Policy, streamsPerConnection*config.MaxConnections),
		idle: quota.NewMeter[netip.Prefix](time.Now()),
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(config.Certificate == nil)
	s.Server = &http.Server{
		Handler: s.moving.wrap(http.HandlerFunc(s.admit)), Protocols: protocols,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: streamTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerConnection: connectionBuffer, MaxReceiveBufferPerStream: streamBuffer,
			MaxReadFrameSize: maxFrame,
			SendPingTimeout:  pingAfter, PingTimeout: pingWithin, WriteByteTimeout: writeStall,
		},
		ErrorLog: slog.NewLogLogger(config.Log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if secure, ok := c.(*tls.Conn); ok {
				c = secure.NetConn()
			}
			return context.WithValue(context.WithValue(ctx, policyKey{}, config.Policy), pacedKey{}, c)
		},
	}
	if config.Certificate != nil {
		s.TLSConfig = &tls.Config{GetCertificate: config.Certificate, MinVersion: tls.VersionTLS12}
	}
	return s
}

// Serve serves the listener's connections until the server is shut down.
func (s *Multiplexed) Serve(l net.Listener) error {
	l = &counted{s.moving.listen(l), s.conns, s.idle, &tally{networks: map[netip.Prefix]int{}}}
	if s.config.Certificate != nil {
		return s.ServeTLS(l, "", "")
	}
	return s.Server.Serve(l)
}

// Drain is as Server.Drain. Connections of HTTP/2 end when their requests under way have.
func (s *Multiplexed) Drain(ctx context.Context) { s.moving.begin(ctx, s.conns.count) }

// admit serves a request, if there is room for one.
func (s *Multiplexed) admit(w http.ResponseWriter, r *http.Request) {
	from := Network(r)
	if !s.calls.enter(from) {
		s.config.Refuse(w, r, errCrowded)
		return
	}
	defer s.calls.leave(from)
	if c := pacedOf(r); c != nil {
		c.arrived(r)
	}
	if r.Body == nil || r.Body == http.NoBody {
		s.config.Handler.ServeHTTP(w, r)
		return
	}
	most := int64(networkShare)
	if s.calls.isTrusted(from) {
		most = proxyShare
	}
	b := &stream{ReadCloser: r.Body, charge: charge{budget: s.bytes}}
	_ = b.charge.attach(share{holder{network: from}, most}) // can't fail: the charge is still empty
	defer b.charge.release()
	counted := *r
	counted.Body = b
	s.config.Handler.ServeHTTP(w, &counted)
}

// stream is the body of a request, which counts in the budget of bytes until the request
// ends. Its errors are faults.
type stream struct {
	io.ReadCloser
	charge charge
	bytes  int64
	err    error  // what every further Read returns
	payer  *paced // its connection, once its account is known
}

// Read implements io.Reader.
func (b *stream) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), bodyStep)])
	over := b.bytes + int64(n) - max(b.bytes, freeBytes)
	b.bytes += int64(n)
	if b.payer != nil {
		b.payer.pay(int64(n + n/bodyShare))
	}
	if over > 0 {
		if full := b.charge.add(over); full != nil {
			b.err = full
			return n, full
		}
	}
	if err != nil {
		b.err = err
		if isTimeout(err) {
			b.err = fault.New(fault.TooSlow, "the body arrived too slowly; send it again over a faster connection")
		}
	}
	return n, b.err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// shares counts what is under way, in all and per network.
type shares struct {
	policy *Policy
	most   int

	mu       sync.Mutex
	all      int
	networks map[netip.Prefix]int
}

func newShares(policy *Policy, most int) *shares {
	return &shares{policy: policy, most: most, networks: map[netip.Prefix]int{}}
}

func (s *shares) isTrusted(from netip.Prefix) bool {
	return s.policy.Proxies.Contains(from.Addr()) || network.Loopback.Contains(from.Addr())
}

// enter counts one more, and reports whether there is room for it.
func (s *shares) enter(from netip.Prefix) bool {
	most := max(1, s.most/4)
	if s.isTrusted(from) {
		most = max(1, s.most*3/4)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.networks[from] >= most {
		return false
	}
	s.all++
	s.networks[from]++
	return true
}

// count returns how much is under way in all.
func (s *shares) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}

func (s *shares) leave(from netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.networks[from]--; s.networks[from] == 0 {
		delete(s.networks, from)
	}
}

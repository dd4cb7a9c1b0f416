package app

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/mail"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/alert/consent"
	"github.com/punctual-dev/punctual/internal/alert/watch"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/maintenance"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/notify/smtp"
	"github.com/punctual-dev/punctual/internal/oidc"
	"github.com/punctual-dev/punctual/internal/operation"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/outbox"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/release"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/socket"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/tracing"
	"github.com/punctual-dev/punctual/internal/virtual"
)

// Config of a node.
type Config struct {
	Listen string
	// Sockets are those that a supervisor keeps for this process; nil for none. Their
	// names are SocketNames.
	Sockets *socket.Set
	// Outbox is the URL of an application's database whose outbox is relayed with
	// OutboxKey; "" if there is none.
	Outbox, OutboxKey string
	// GoogleListen is the address of the Google-compatible APIs; "" if they are not served.
	// They are served by TLS if there is a certificate. App Engine targets are at
	// AppEngineURL, nil for none.
	GoogleListen, GoogleTLSCert, GoogleTLSKey string
	AppEngineURL                              *url.URL
	// GoogleKey is the key of calls of these APIs by gRPC without one; "" refuses them.
	GoogleKey           string
	DatabaseURL         string
	PublicAPIKey        string
	AllowPrivateTargets bool
	// AllowHTTPTargets permits targets and receivers with URLs of http.
	AllowHTTPTargets bool
	// PreferHTTP2 speaks HTTP/2 to targets that offer it beside HTTP/1.1.
	PreferHTTP2    bool
	DenyTargets    []netip.Prefix // never called
	AllowTargets   []netip.Prefix // called although special, unless denied
	TargetPorts    execute.Ports  // the zero value: execute.DefaultPorts
	TargetCAFile   string
	SecretsKeyFile string // "" for none: then there are no header secrets
	Concurrency    int
	Retention      time.Duration // 0: forever
	Limits         quota.Defaults
	Signup         auth.Signup // who may sign up in the dashboard
	// OIDC is the provider that people may sign in at, and Provider says who may; nil for
	// none. Now, roots and log are set by the node.
	OIDC     *oidc.Config
	Provider *auth.ProviderPolicy
	// NoPasswords: nobody signs in by a password.
	NoPasswords bool
	// SessionMaxAge is the longest that anyone stays signed in; 0 for auth.SessionMax.
	SessionMaxAge time.Duration
	Version       string
	Log           *slog.Logger
	// Listening is called with the node's address once requests are served.
	Listening func(address string)
	// GoogleListening is called before that with the address of the Google-compatible
	// APIs, if they are served. May be nil.
	GoogleListening func(address string)

	// MaxConnections is how many clients' connections are open at once; 0 for
	// DefaultConnections.
	MaxConnections int
	// TrustedProxies are the peers whose X-Forwarded headers are believed.
	TrustedProxies network.List
	// PublicURL is where clients reach the service, a scheme and a host; nil when
	// nobody has said so. Requests for other hosts are refused then.
	PublicURL *url.URL
	// SMTP is the mail server for alerts, and MailFrom their sender; nil when the
	// service sends no e-mails.
	SMTP     *smtp.Server
	MailFrom *mail.Address
	// MailTrusted are the domains whose addresses get e-mails of alerts without
	// confirmation.
	MailTrusted []string
	// PublicPunctuality shows everyone how late the jobs of all accounts began.
	PublicPunctuality bool
	// MetricsListen is an address that metrics and health details are served on;
	// "" for the same as everything else.
	MetricsListen string
	// Drain is how long the node still serves after it was told to stop, while
	// /readyz fails; 0 for not at all.
	Drain time.Duration
	// SetupCode is called with the code that the first person to sign up must
	// enter; not at all when there is an account. May be nil.
	SetupCode func(code string)
	// Clock is the time of a SQLite database, which every client may then move ahead; nil
	// for the machine's.
	Clock *virtual.Clock
}

const (
	// Grace is how long attempts under way may go on when a node stops.
	Grace = 30 * time.Second
	// httpGrace is how long requests under way may go on.
	httpGrace = 10 * time.Second
	// statsGrace is how long storing the last statistics may take.
	statsGrace = 2 * time.Second
)

// Node is one running service.
type Node struct {
	config     Config
	roots      *x509.CertPool   // trusted for targets; nil for the system's
	database   store.Store      // as opened
	store      store.Store      // records the outcomes of jobs for alerts
	clients    *admission.Store // the store, for what clients read
	metrics    *metrics.Metrics
	tracer     *tracing.Tracer // nil for no spans
	number     int64           // of this node, as registered at the start
	registered bool            // and close must end that: the dispatcher does not run
	auth       *auth.Authenticator
	audit      *audit.Log
	keys       *secret.Keyring // nil without a key file
	sealed     store.Store     // the store, with signing secrets decrypted
	vault      *secret.Vault
	issuer     *issuer.Issuer // nil without a public URL or a key file
	stats      *stats.Collector
	targets    *execute.Targets
	blocked    []operator.TargetBlock // as the client knows them
	client     *execute.Client
	consent    *consent.Gate // nil if the service sends no e-mails
	hub        *eventstream.Hub
	listeners  *listen.Hub
	runner     *attempt.Runner
	dispatcher *dispatch.Dispatcher
	recovery   *attempt.Recovery
	watcher    *watch.Watcher
	quotas     *quota.Book
	service    *service.Service
	operating  *operation.Worker
	releasing  *release.Worker
	people     *auth.People
	provider   *oidc.Provider // nil if people sign in by passwords only
	members    *auth.Members
	server     *edge.Server
	listener   net.Listener
	operations *operations   // nil when they are served with everything else
	google     *googleServer // nil if it is not served
	outbox     *outbox.Relay // nil if there is none
	draining   atomic.Bool   // the node is about to stop
}

// Run starts a node and serves until ctx ends; then it stops in order. The
// error says what kept it from starting, or from stopping cleanly.
func Run(ctx context.Context, config Config) error {
	n := &Node{config: config}
	err := n.open(ctx)
	if err == nil {
		err = n.start(ctx)
	}
	switch {
	case err == nil:
		err = n.serve(ctx)
	case ctx.Err() != nil: // what was under way was cancelled, which is no failure
		config.Log.Info("stopped while starting", "error", err)
		err = nil
	}
	return errors.Join(err, n.close())
}

// takeOverEvery is how often the claims of nodes that are gone are looked for.
const takeOverEvery = time.Second

// takeOver ends the attempts of other nodes that went away, until ctx ends.
func (n *Node) takeOver(ctx context.Context) {
	var expired <-chan struct{} // nil waits forever
	if d, ok := n.database.(interface{ Expired() <-chan struct{} }); ok {
		expired = d.Expired()
	}
	n.every(ctx, takeOverEvery, expired, "finding expired nodes failed; retrying", n.recovery.Run)
}

// every does something again and again until ctx ends, and also when now receives,
// which may be nil. Of failures in a row the first is logged.
func (n *Node) every(ctx context.Context, pause time.Duration, now <-chan struct{}, failure string, do func(context.Context) error) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-now:
		}
		err := do(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			n.config.Log.Warn(failure, "error", err)
		}
		failed = err != nil
	}
}

// serve runs the node's parts until a context ends, then stops them: first the edge,
// and the engine at the same time, then what they stand on.
func (n *Node) serve(until context.Context) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(until))
	defer cancel(nil)
	var parts sync.WaitGroup
	var served, watched, dispatched error
	parts.Go(func() {
		if err := n.server.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
			served = fmt.Errorf("serving: %w", err)
			cancel(served)
		}
	})
	n.registered = false // the dispatcher ends its node
	firing, stopFiring := context.WithCancel(ctx)
	defer stopFiring()
	fired := make(chan struct{})
	parts.Go(func() {
		defer close(fired)
		dispatched = n.dispatcher.Run(firing, Grace)
	})
	parts.Go(func() {
		if watched = n.operations.serve(); watched != nil {
			cancel(watched)
		}
	})
	var googled error
	parts.Go(func() {
		if googled = n.google.serve(); googled != nil {
			cancel(googled)
		}
	})
	for _, run := range n.background() {
		parts.Go(func() { run(ctx) })
	}
	relaying, endRelay := context.WithCancel(ctx)
	defer endRelay()
	var relay sync.WaitGroup
	if n.outbox != nil {
		relay.Go(func() { n.outbox.Run(relaying) })
	}
	n.tellStarted(until)
	n.awaitStop(until, ctx)
	endRelay() // what it has sent is answered while the edge still serves
	relay.Wait()
	stopped := time.Now()
	n.config.Log.Info("stopping; attempts under way may finish", "grace", Grace.String())
	if n.config.Sockets.Kept() && ctx.Err() == nil {
		stopFiring()
		<-fired // meanwhile clients are served, so they wait for the next process only
		n.handOver(ctx)
	}
	cancel(nil)
	stop, end := context.WithTimeout(context.WithoutCancel(ctx), httpGrace)
	defer end()
	n.google.shutdown(stop)
	if err := n.server.Shutdown(stop); err != nil {
		_ = n.server.Close() // what is still open is cut
	}
	n.operations.close()
	parts.Wait()
	n.listeners.Close(time.Until(stopped.Add(Grace)))
	return errors.Join(served, watched, googled, dispatched)
}

// background returns what runs until the node stops, beside the engine and the edges.
func (n *Node) background() []func(context.Context) {
	worker := &maintenance.Worker{Config: maintenance.Config{Store: n.store, Metrics: n.metrics, Log: n.config.Log,
		Retention: n.config.Retention}}
	parts := []func(context.Context){
		worker.Run, n.operating.Run, func(ctx context.Context) { n.releasing.Run(ctx, n.service) }, n.auth.Run, n.stats.Run,
		n.takeOver, n.runner.WatchCompletions, n.followBlocks, n.tellInvokers, n.watcher.Run,
	}
	if n.provider != nil {
		parts = append(parts, n.provider.Run)
	}
	if n.issuer != nil {
		parts = append(parts, n.issuer.Run)
	}
	return parts
}

// tellStarted reports the addresses, once requests are served.
func (n *Node) tellStarted(ctx context.Context) {
	n.config.Log.Info("started", "version", n.config.Version, "address", n.listener.Addr().String())
	if address := n.google.address(); address != "" && n.config.GoogleListening != nil {
		n.config.GoogleListening(address)
	}
	n.config.Listening(n.listener.Addr().String())
	n.showSetupCode(ctx)
}

// lastStats stores what was counted while the node stopped.
func (n *Node) lastStats() {
	ctx, cancel := context.WithTimeout(context.Background(), statsGrace)
	defer cancel()
	if err := n.stats.Write(ctx); err != nil {
		n.config.Log.Warn("storing the last statistics failed", "error", err)
	}
}

// close takes apart what open and start have put together, in reverse order. Parts
// that were not made are nil.
func (n *Node) close() error {
	var err error
	if n.service != nil {
		n.service.Close()
	}
	if n.people != nil {
		n.people.Close()
	}
	if n.quotas != nil {
		n.quotas.Close()
	}
	if n.listeners != nil {
		n.listeners.Close(0)
	}
	if n.runner != nil {
		n.runner.Close()
		n.lastStats()
	}
	if n.hub != nil {
		n.hub.Close()
	}
	if n.vault != nil {
		n.vault.Close()
	}
	if n.client != nil {
		n.client.Close()
	}
	n.tracer.Close()
	if n.registered {
		err = n.unregister()
	}
	if n.database != nil {
		err = errors.Join(err, n.database.Close())
	}
	n.operations.close()
	n.google.close()
	if n.listener != nil {
		_ = n.listener.Close() // closed already when it has served
	}
	return err
}

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
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/alert/watch"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/dashboard"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/listen"
	"github.com/punctual-dev/punctual/internal/maintenance"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/notify/smtp"
	"github.com/punctual-dev/punctual/internal/operation"
	"github.com/punctual-dev/punctual/internal/operator"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/tracing"
)

// Config of a node.
type Config struct {
	Listen              string
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
	Retention      time.Duration // 0: for ever
	Limits         quota.Defaults
	Signup         auth.Signup // who may sign up in the dashboard
	Version        string
	Log            *slog.Logger
	// Listening is called with the node's address once requests are served.
	Listening func(address string)

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
	database   store.Store      // as opened
	store      store.Store      // records the outcomes of jobs for alerts
	clients    *admission.Store // the store, for what clients read
	metrics    *metrics.Metrics
	tracer     *tracing.Tracer // nil for no spans
	auth       *auth.Authenticator
	audit      *audit.Log
	keys       *secret.Keyring // nil without a key file
	sealed     store.Store     // the store, with signing secrets decrypted
	vault      *secret.Vault
	stats      *stats.Collector
	targets    *execute.Targets
	blocked    []operator.TargetBlock // as the client knows them
	client     *execute.Client
	hub        *eventstream.Hub
	listeners  *listen.Hub
	runner     *attempt.Runner
	dispatcher *dispatch.Dispatcher
	recovery   *attempt.Recovery
	watcher    *watch.Watcher
	quotas     *quota.Book
	service    *service.Service
	operating  *operation.Worker
	people     *auth.People
	server     *edge.Server
	listener   net.Listener
	operations *operations // nil when they are served with everything else
	draining   atomic.Bool // the node is about to stop
}

// Run starts a node and serves until ctx ends; then it stops in order. The
// error says what kept it from starting, or from stopping cleanly.
func Run(ctx context.Context, config Config) error {
	n := &Node{config: config}
	if err := n.start(ctx); err != nil {
		return errors.Join(err, n.close())
	}
	return errors.Join(n.serve(ctx), n.close())
}

// awaitingStore logs why the database can't be reached yet.
func (n *Node) awaitingStore(cause error) {
	n.config.Log.Warn("waiting for the database", "error", cause)
}

func (n *Node) start(ctx context.Context) error {
	c := n.config
	roots, err := trusted(c.TargetCAFile)
	if err != nil {
		return err
	}
	// Before the store, so that a wrong address does not leave a database behind.
	if n.listener, err = listenOn("--listen", c.Listen); err != nil {
		return err
	}
	if n.operations, err = listenOperations(c); err != nil {
		return err
	}
	if n.database, err = OpenStore(ctx, c.DatabaseURL, true, n.awaitingStore); err != nil {
		return err
	}
	n.watchAlerts()
	n.metrics = metrics.New(c.Version)
	n.store = newMeasuredStore(n.store, n.metrics)
	n.startTracing(ctx)
	node, err := n.store.NodeStart(ctx)
	if err != nil {
		return fmt.Errorf("registering this node: %w", err)
	}
	if err := whole(ctx, n.database); err != nil {
		return errors.Join(err, n.store.NodeStop(ctx, node))
	}
	if err := n.openSecrets(ctx); err != nil {
		return err
	}
	n.clients = admission.New(n.sealed)
	n.audit = audit.New(n.clients, n.store.Now, c.Log)
	if n.auth, err = auth.New(ctx, auth.Config{Store: n.sealed, Now: n.store.Now, PublicKey: c.PublicAPIKey, Log: c.Log, Audit: n.audit}); err != nil {
		return err
	}
	n.stats = stats.New(stats.Config{Store: n.store, Now: n.store.Now, Log: c.Log, Enter: n.clients.Enter})
	if err := n.newClient(ctx, roots); err != nil {
		return err
	}
	mail, err := newMail(c, roots)
	if err != nil {
		return err
	}
	n.vault = secret.New(secret.Config{
		Records: n.store, Keys: n.keys, Client: n.client, Now: n.store.Now, CheckHost: n.targets.CheckHost, Audit: n.audit, Log: c.Log,
	})
	n.hub = eventstream.New(eventstream.Config{Store: n.clients, Log: c.Log})
	n.newListeners()
	n.runner = attempt.New(attempt.Config{
		Queue: n.store, Jobs: n.store, Client: n.client, Secrets: n.auth, Vault: n.vault, Logs: n.store, Metrics: n.metrics, Tracer: n.tracer, Stats: n.stats, Stored: n.hub.Wake, Log: c.Log,
		CompletionURL: completionURL(c.PublicURL), Completions: n.store,
		Mail: mail, Listeners: n.listeners,
		LimitStarted: func(account int64, keys []string, until, at time.Time) {
			n.dispatcher.LimitStarted(account, keys, until, at)
		},
		LimitsFreed: func(account int64, keys []string) { n.dispatcher.LimitsFreed(account, keys) },
	})
	n.dispatcher = dispatch.New(dispatch.Config{
		Queue: n.store, Node: node, Concurrency: c.Concurrency, Prepare: n.runner.Prepare, Deadline: lifecycle.Deadline, Prewarm: n.runner.Prewarm,
		Log: c.Log, ObserveClaims: n.metrics.BatchSize("claim"),
		SetAside: n.runner.SetAside, ObserveAside: n.metrics.SetAside, ObservePanic: n.metrics.Panicked,
		Blocked: n.store, Budget: dispatch.Budget,
	})
	n.listeners.Start()
	n.store.Subscribe(func(told store.Notice) {
		if told.Alerts {
			n.watcher.Changed()
		}
		n.dispatcher.Notice(told)
	})
	if err := n.dispatcher.Suspect(ctx); err != nil {
		return fmt.Errorf("reading what was being prepared at a crash: %w", err)
	}
	if err := n.watcher.Refresh(ctx); err != nil {
		return fmt.Errorf("reading which accounts have alerts: %w", err)
	}
	n.recovery = &attempt.Recovery{Store: n.store, Suspects: n.dispatcher, Runner: n.runner}
	if err := n.recovery.Run(ctx); err != nil {
		return err
	}
	n.quotas = quota.NewBook(quota.Config{
		Store: n.store, Account: n.auth.Account, Public: n.publicAccount(), Defaults: c.Limits, Now: n.store.Now, Log: c.Log,
	})
	rates := edge.NewRates(c.Limits.AnonymousRate, n.metrics)
	n.service = service.New(service.Config{
		Store: n.clients, Operations: n.store, Engine: n.dispatcher, Metrics: n.metrics, CheckHost: n.targets.CheckHost, AllowHTTP: n.targets.AllowHTTP, Listener: n.hub, Quotas: n.quotas,
		Stats: n.stats, NoCompletion: c.PublicURL == nil,
		Operated: func() { n.operating.Wake() },
		Secrets:  n.vault, Audit: n.audit,
	})
	n.operating = operation.New(operation.Config{Steps: n.service, Metrics: n.metrics, Log: c.Log})
	notices := broadcast.New(n.store.Now)
	alerts := n.newAlerts(mail != nil)
	api := httpapi.New(httpapi.Config{
		Service: n.service, Alerts: alerts, Auth: n.auth, Secrets: n.vault, Audit: n.audit, Metrics: n.metrics, Tracer: n.tracer, Stats: n.stats, Board: notices, Events: n.hub, Listeners: n.listeners, Log: c.Log,
		PublicPunctuality: c.PublicPunctuality,
		Running:           n.ready, Quotas: n.quotas, Rates: rates, Retention: c.Retention, Version: c.Version,
		OperationsElsewhere: n.operations != nil,
	})
	n.people = auth.NewPeople(auth.PeopleConfig{Store: n.sealed, Now: n.store.Now, Signup: c.Signup, Forget: n.auth.Forget, Log: c.Log, Audit: n.audit})
	pages := dashboard.New(dashboard.Config{
		Service: n.service, People: n.people, Auth: n.auth, Secrets: n.vault, Alerts: alerts, Board: notices, Stats: n.stats, Events: n.hub, Running: n.ready,
		Quotas: n.quotas, Rates: rates, Retention: c.Retention, Public: n.auth.Public(), Log: c.Log, Version: c.Version, Audit: n.audit,
		Observe: n.metrics.Requested, PublicPunctuality: c.PublicPunctuality,
	})
	n.server = newServer(c, api, edge.CountHops(pages.Wrap(api)))
	n.server.RegisterOnShutdown(n.hub.Close)
	n.server.RegisterOnShutdown(n.listeners.Drain)
	if n.operations != nil {
		n.operations.serves(c, api)
	}
	n.observe()
	return nil
}

// completionURL returns the address at which targets report outcomes, without the
// token; "" if clients' address of the service is not known.
func completionURL(public *url.URL) string {
	if public == nil {
		return ""
	}
	return public.String() + "/api/completions/"
}

// publicAccount returns the number of the account of the public key; 0 when
// there is none.
func (n *Node) publicAccount() int64 {
	if public := n.auth.Public(); public != nil {
		return public.Number
	}
	return 0
}

// trusted returns the system's certificates and those of a file.
func trusted(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--target-ca-file can't be read; give a file with PEM certificates: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--target-ca-file %s has no PEM certificate in it", file)
	}
	return roots, nil
}

// takeOverEvery is how often the claims of nodes that are gone are looked for.
const takeOverEvery = time.Second

// takeOver ends the attempts of other nodes that went away, until ctx ends.
func (n *Node) takeOver(ctx context.Context) {
	var expired <-chan struct{} // nil waits for ever
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

func (n *Node) observe() {
	gauge := func(name, help, kind string, value func() float64) {
		n.metrics.Gauge(name, help, map[string]string{"kind": kind}, value)
	}
	for kind, name := range map[store.Kind]string{store.KindJob: "job", store.KindDelivery: "delivery"} {
		gauge("punctual_runs_waiting", "Runs in memory that wait to be claimed, by kind.", name, func() float64 { return float64(n.dispatcher.Waiting(kind)) })
		gauge("punctual_runs_in_use", "Runs claimed or under way on this node, by kind.", name, func() float64 { return float64(n.dispatcher.InUse(kind)) })
	}
	for operation, bytes := range map[string]func() int{"create": n.service.WaitingBytes, "finish": n.runner.WaitingBytes} {
		n.metrics.Gauge("punctual_waiting_bytes", "Bytes that wait for a commit, by operation.", map[string]string{"operation": operation},
			func() float64 { return float64(bytes()) })
	}
	if disk, ok := n.database.(interface{ Free() int64 }); ok {
		n.metrics.Gauge("punctual_database_free_bytes", "Bytes free for the database; -1 when that is not known.", nil, func() float64 { return float64(disk.Free()) })
	}
	n.metrics.Gauge("punctual_answer_bytes", "Bytes of records held for answers to clients.", nil, func() float64 { return float64(n.clients.Held()) })
	n.observeEdge()
	n.metrics.Gauge("punctual_creates_waiting", "Creates that wait for a commit.", nil, func() float64 { return float64(n.service.Waiting()) })
}

// serve runs the node's parts until it is told to stop, then stops them: first the edge,
// and the engine at the same time, then what they stand on.
func (n *Node) serve(told context.Context) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(told))
	defer cancel(nil)
	var parts sync.WaitGroup
	var served, watched, dispatched error
	parts.Go(func() {
		if err := n.server.Serve(n.listener); !errors.Is(err, http.ErrServerClosed) {
			served = fmt.Errorf("serving: %w", err)
			cancel(served)
		}
	})
	parts.Go(func() { dispatched = n.dispatcher.Run(ctx, Grace) })
	parts.Go(func() {
		if watched = n.operations.serve(); watched != nil {
			cancel(watched)
		}
	})
	keeper := &maintenance.Worker{Config: maintenance.Config{Store: n.store, Metrics: n.metrics, Log: n.config.Log, Retention: n.config.Retention}}
	parts.Go(func() { keeper.Run(ctx) })
	parts.Go(func() { n.operating.Run(ctx) })
	parts.Go(func() { n.auth.Run(ctx) })
	parts.Go(func() { n.stats.Run(ctx) })
	parts.Go(func() { n.takeOver(ctx) })
	parts.Go(func() { n.runner.WatchCompletions(ctx) })
	parts.Go(func() { n.followBlocks(ctx) })
	parts.Go(func() { n.watcher.Run(ctx) })
	n.config.Log.Info("started", "version", n.config.Version, "address", n.listener.Addr().String())
	n.config.Listening(n.listener.Addr().String())
	n.showSetupCode(told)
	n.awaitStop(told, ctx)
	cancel(nil)
	stopped := time.Now()
	n.config.Log.Info("stopping; attempts under way may finish", "grace", Grace.String())
	stop, end := context.WithTimeout(context.WithoutCancel(ctx), httpGrace)
	defer end()
	if err := n.server.Shutdown(stop); err != nil {
		_ = n.server.Close() // what is still open is cut
	}
	n.operations.close()
	parts.Wait()
	n.listeners.Close(time.Until(stopped.Add(Grace)))
	return errors.Join(served, watched, dispatched)
}

// lastStats stores what was counted while the node stopped.
func (n *Node) lastStats() {
	ctx, cancel := context.WithTimeout(context.Background(), statsGrace)
	defer cancel()
	if err := n.stats.Write(ctx); err != nil {
		n.config.Log.Warn("storing the last statistics failed", "error", err)
	}
}

// close takes apart what start has put together.
func (n *Node) close() error {
	var err error
	if n.service != nil {
		n.service.Close()
	}
	if n.quotas != nil {
		n.quotas.Close()
	}
	if n.runner != nil {
		n.runner.Close()
		n.lastStats()
	}
	n.tracer.Close()
	if n.vault != nil {
		n.vault.Close()
	}
	if n.client != nil {
		n.client.Close()
	}
	if n.hub != nil {
		n.hub.Close()
	}
	if n.listeners != nil {
		n.listeners.Close(0)
	}
	if n.database != nil {
		err = n.database.Close()
	}
	if n.listener != nil {
		_ = n.listener.Close() // closed already when it has served
	}
	n.operations.close()
	return err
}

package app

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/punctual-dev/punctual/internal/admission"
	"github.com/punctual-dev/punctual/internal/attempt"
	"github.com/punctual-dev/punctual/internal/audit"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/broadcast"
	"github.com/punctual-dev/punctual/internal/compat/qstash"
	"github.com/punctual-dev/punctual/internal/dashboard"
	"github.com/punctual-dev/punctual/internal/dispatch"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/eventstream"
	"github.com/punctual-dev/punctual/internal/httpapi"
	"github.com/punctual-dev/punctual/internal/issuer"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/mcp"
	"github.com/punctual-dev/punctual/internal/metrics"
	"github.com/punctual-dev/punctual/internal/oidc"
	"github.com/punctual-dev/punctual/internal/operation"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/release"
	"github.com/punctual-dev/punctual/internal/secret"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/socket"
	"github.com/punctual-dev/punctual/internal/stats"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/internal/virtual"
)

// open opens the addresses and the database. The database comes last, so that a wrong
// address does not leave one behind.
func (n *Node) open(ctx context.Context) (err error) {
	if n.config.Sockets == nil {
		n.config.Sockets = &socket.Set{} // none
	}
	c := n.config
	if n.roots, err = trusted(c.TargetCAFile); err != nil {
		return err
	}
	if n.listener, err = c.Sockets.Listen(listenFlag, c.Listen); err != nil {
		return err
	}
	if n.operations, err = listenOperations(c); err != nil {
		return err
	}
	if n.google, err = listenGoogle(c); err != nil {
		return err
	}
	if err = c.Sockets.Close(); err != nil { // those of flags that are not given any more
		return fmt.Errorf("closing sockets that are not used: %w", err)
	}
	if n.database, err = openAt(ctx, c.DatabaseURL, true, c.now(), n.awaitingStore); err == nil {
		n.warnOfModes()
	}
	return err
}

// now is the clock of a store that has none itself; nil for the machine's.
func (c *Config) now() func() time.Time {
	if c.Clock == nil {
		return nil
	}
	return c.Clock.Now
}

// awaitingStore logs why the database can't be reached yet.
func (n *Node) awaitingStore(cause error) {
	n.config.Log.Warn("waiting for the database", "error", cause)
}

// start puts the node together, on the database that was opened: each step uses only
// what the steps before it have made. After an error, close takes the parts apart.
func (n *Node) start(ctx context.Context) error {
	n.measure(ctx)
	for _, step := range []func(context.Context) error{n.register, n.newAccounts, n.newEngine, n.startEngine} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	n.newService()
	n.newEdges()
	if err := n.newOutbox(); err != nil {
		return err
	}
	n.observe()
	return nil
}

// measure makes what watches the calls of the store, and the metrics and spans.
func (n *Node) measure(ctx context.Context) {
	n.watchAlerts()
	n.metrics = metrics.New(n.config.Version)
	n.store = newMeasuredStore(n.store, n.metrics)
	n.startTracing(ctx)
}

// register makes this process a node of the database.
func (n *Node) register(ctx context.Context) (err error) {
	if n.number, err = n.store.NodeStart(ctx); err != nil {
		return fmt.Errorf("registering this node: %w", err)
	}
	n.registered = true
	return whole(ctx, n.database)
}

// unregister ends this process's node, although the start was cancelled.
func (n *Node) unregister() error {
	n.registered = false
	if err := n.store.NodeStop(context.Background(), n.number); err != nil {
		return fmt.Errorf("ending the node's lease: %w", err)
	}
	return nil
}

// newAccounts makes what knows accounts, their secrets and their figures.
func (n *Node) newAccounts(ctx context.Context) (err error) {
	c := n.config
	if err := n.openSecrets(ctx); err != nil {
		return err
	}
	n.clients = admission.New(n.sealed)
	n.audit = audit.New(n.clients, n.store.Now, c.Log)
	if n.auth, err = auth.New(ctx, auth.Config{Store: n.sealed, Now: n.store.Now, PublicKey: c.PublicAPIKey, Log: c.Log,
		Audit: n.audit}); err != nil {
		return err
	}
	if err := n.store.AccountsAdopt(ctx, auth.PublicEmail); err != nil {
		return fmt.Errorf("storing the owners of accounts that have none: %w", err)
	}
	n.stats = stats.New(stats.Config{Store: n.store, Now: n.store.Now, Log: c.Log, Enter: n.clients.Enter})
	return nil
}

// newEngine makes what claims queue items and makes their attempts.
func (n *Node) newEngine(ctx context.Context) (err error) {
	c := n.config
	if err := n.newClient(ctx, n.roots); err != nil {
		return err
	}
	if err := n.newMail(); err != nil {
		return err
	}
	token, err := n.newIssuer(ctx)
	if err != nil {
		return err
	}
	n.vault = secret.New(secret.Config{
		Records: n.store, Keys: n.keys, Client: n.client, Now: n.store.Now, CheckHost: n.targets.CheckHost, Token: token, Audit: n.audit,
		Log: c.Log,
	})
	n.hub = eventstream.New(eventstream.Config{Store: n.clients, Log: c.Log})
	n.newListeners()
	n.releasing = release.New(c.Log)
	n.runner = attempt.New(attempt.Config{
		Queue: n.store, Jobs: n.store, Client: n.client, Secrets: n.auth, Vault: n.vault, Sealer: secret.Sealer{Keys: n.keys},
		Logs: n.store, Groups: n.store, Runs: n.store, Metrics: n.metrics, Tracer: n.tracer, Stats: n.stats, Stored: n.hub.Wake, Log: c.Log,
		Admit: func(ctx context.Context, account int64, jobs int) error {
			return n.quotas.AdmitJobs(ctx, account, jobs)
		},
		CompletionURL: completionURL(c.PublicURL), Completions: n.store,
		Mail: n.mailer(), Listeners: n.listeners,
		LimitStarted: func(account, job int64, keys []string, until, at time.Time) {
			n.dispatcher.LimitStarted(account, job, keys, until, at)
		},
		LimitsFreed: func(account int64, keys []string) { n.dispatcher.LimitsFreed(account, keys) },
	})
	n.dispatcher = dispatch.New(dispatch.Config{
		Queue: n.store, Node: n.number, Concurrency: c.Concurrency, Prepare: n.runner.Prepare, Deadline: lifecycle.Deadline,
		Prewarm: n.runner.Prewarm,
		Log:     c.Log, ObserveClaims: n.metrics.BatchSize("claim"),
		SetAside: n.runner.SetAside, ObserveAside: n.metrics.SetAside, ObservePanic: n.metrics.Panicked,
		Blocked: n.store, Budget: dispatch.Budget,
	})
	n.recovery = &attempt.Recovery{Store: n.store, Suspects: n.dispatcher, Runner: n.runner}
	return nil
}

// startEngine subscribes to notices, and ends what earlier nodes have left. The
// dispatcher claims nothing before serve.
func (n *Node) startEngine(ctx context.Context) error {
	n.listeners.Start()
	n.store.Subscribe(func(notice store.Notice) {
		if notice.Alerts {
			n.watcher.Changed()
		}
		if notice.Released {
			n.releasing.Wake()
		}
		n.dispatcher.Notice(notice)
	})
	if err := n.dispatcher.Suspect(ctx); err != nil {
		return fmt.Errorf("reading what was being prepared at a crash: %w", err)
	}
	if err := n.watcher.Refresh(ctx); err != nil {
		return fmt.Errorf("reading which accounts have alerts: %w", err)
	}
	return n.recovery.Run(ctx)
}

// newService makes what the edges call.
func (n *Node) newService() {
	c := n.config
	n.quotas = quota.NewBook(quota.Config{
		Store: n.store, Account: n.auth.Account, Public: n.publicAccount(), Defaults: c.Limits, Now: n.store.Now, Log: c.Log,
	})
	n.service = service.New(service.Config{
		Store: n.clients, Operations: n.store, Engine: n.dispatcher, Metrics: n.metrics, CheckHost: n.targets.CheckHost,
		AllowHTTP: n.targets.AllowHTTP, Listener: n.hub, Quotas: n.quotas,
		Stats: n.stats, NoCompletion: c.PublicURL == nil, NoIssuer: n.issuer == nil,
		Operated: func() { n.operating.Wake() },
		Secrets:  n.vault, Sealer: secret.Sealer{Keys: n.keys}, Audit: n.audit,
	})
	n.runner.TimedOut = n.service.TimeOutWait
	n.operating = operation.New(operation.Config{Steps: n.service, Metrics: n.metrics, Log: c.Log})
	n.members = auth.NewMembers(auth.MembersConfig{
		Store: n.store, Now: n.store.Now, PublicURL: c.PublicURL, Mail: n.mailInvitation(), Log: c.Log, Audit: n.audit,
	})
	n.people = auth.NewPeople(auth.PeopleConfig{
		Store: n.sealed, Now: n.store.Now, Signup: c.Signup, Provider: c.Provider, NoPasswords: c.NoPasswords,
		SessionMaxAge: c.SessionMaxAge,
		Mail:          n.mailLink(), PublicURL: c.PublicURL, Forget: n.auth.Forget, Log: c.Log, Audit: n.audit,
	})
	if c.OIDC != nil {
		provider := *c.OIDC
		provider.Roots, provider.Now, provider.Log = n.roots, n.store.Now, c.Log
		n.provider = oidc.New(provider)
	}
}

// newEdges makes what clients and operators reach: the API, the dashboard, and their
// servers.
func (n *Node) newEdges() {
	c := n.config
	rates := edge.NewRates(c.Limits.AnonymousRate, n.metrics)
	notices := broadcast.New(n.store.Now)
	alerts := n.newAlerts()
	api := httpapi.New(httpapi.Config{
		Service: n.service, Alerts: alerts, Auth: n.auth, Members: n.members, Secrets: n.vault, Issuer: n.issuer, Audit: n.audit,
		Metrics: n.metrics, Tracer: n.tracer, Stats: n.stats, Broadcasts: notices, Events: n.hub, Listeners: n.listeners, Log: c.Log,
		PublicPunctuality: c.PublicPunctuality,
		Running:           n.ready, Quotas: n.quotas, Rates: rates, Retention: c.Retention, Version: c.Version,
		OperationsElsewhere: n.operations != nil,
	})
	pages := dashboard.New(dashboard.Config{
		Service: n.service, People: n.people, Provider: n.provider, Members: n.members, Auth: n.auth, Secrets: n.vault, Alerts: alerts,
		Broadcasts: notices, Stats: n.stats, Events: n.hub, Running: n.ready,
		Quotas: n.quotas, Rates: rates, Retention: c.Retention, Public: n.auth.Public(), PublicKey: c.PublicAPIKey, Log: c.Log,
		Version: c.Version, Audit: n.audit,
		Observe: n.metrics.Requested, PublicPunctuality: c.PublicPunctuality,
	})
	messages := qstash.New(qstash.Config{
		Service: n.service, Auth: n.auth, Concurrency: c.Concurrency, InUse: func() int { return int(n.dispatcher.InUse(store.KindJob)) },
	})
	api.Mount(qstash.Prefix, messages, qstash.Names()...)
	api.Mount(qstash.LLMPrefix, messages)
	if c.Clock != nil {
		api.Mount(virtual.Path, virtual.API{Mover: &virtual.Mover{Clock: c.Clock, Queue: n.store, Engine: n.dispatcher}}, virtual.Path)
	}
	agents := mcp.New(mcp.Config{Version: c.Version, Log: c.Log})
	api.Mount(mcp.Path, mcp.NewHandler(agents, api, c.PublicURL), mcp.Path)
	n.server = newServer(c, api, edge.CountHops(pages.Wrap(api)))
	n.server.RegisterOnShutdown(n.hub.Close)
	n.server.RegisterOnShutdown(n.listeners.Drain)
	n.server.RegisterOnShutdown(agents.Drain)
	if n.operations != nil {
		n.operations.serves(c, api)
	}
	if n.google != nil {
		n.google.serves(n, api)
	}
}

// newIssuer makes what issues tokens, and returns the function that does; nil if there
// is no public URL or no key file.
func (n *Node) newIssuer(ctx context.Context) (token func(issuer.Claims) (string, error), err error) {
	c := n.config
	if c.PublicURL == nil || n.keys == nil {
		return nil, nil
	}
	if n.issuer, err = issuer.Open(ctx, issuer.Config{Keys: n.sealed, URL: c.PublicURL.String(), Now: n.store.Now,
		Log: c.Log}); err != nil {
		return nil, err
	}
	return n.issuer.Token, nil
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

// observe measures what the parts hold.
func (n *Node) observe() {
	gauge := func(name, help, kind string, value func() float64) {
		n.metrics.Gauge(name, help, map[string]string{"kind": kind}, value)
	}
	for kind, name := range map[store.Kind]string{store.KindJob: "job", store.KindDelivery: "delivery"} {
		gauge("punctual_runs_waiting", "Runs in memory that wait to be claimed, by kind.", name,
			func() float64 { return float64(n.dispatcher.Waiting(kind)) })
		gauge("punctual_runs_in_use", "Runs claimed or under way on this node, by kind.", name,
			func() float64 { return float64(n.dispatcher.InUse(kind)) })
	}
	for operation, bytes := range map[string]func() int{"create": n.service.WaitingBytes, "finish": n.runner.WaitingBytes} {
		n.metrics.Gauge("punctual_waiting_bytes", "Bytes that wait for a commit, by operation.", map[string]string{"operation": operation},
			func() float64 { return float64(bytes()) })
	}
	if disk, ok := n.database.(interface{ Free() int64 }); ok {
		n.metrics.Gauge("punctual_database_free_bytes", "Bytes free for the database; -1 when that is not known.", nil,
			func() float64 { return float64(disk.Free()) })
	}
	n.metrics.Gauge("punctual_answer_bytes", "Bytes of records in memory for responses to clients.", nil,
		func() float64 { return float64(n.clients.Held()) })
	n.observeEdge()
	n.metrics.Gauge("punctual_creates_waiting", "Creates that wait for a commit.", nil,
		func() float64 { return float64(n.service.Waiting()) })
}

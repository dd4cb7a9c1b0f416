package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/buildinfo"
	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/network"
	"github.com/punctual-dev/punctual/internal/quota"
	"github.com/punctual-dev/punctual/internal/socket"
)

type serveCommand struct {
	databaseFlag
	Listen              string `setting:"" default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address to serve on; port 0 picks a free one."`
	PublicAPIKey        apiKey `name:"public-api-key" setting:"" placeholder:"KEY" help:"A public key for trials, which everyone may know. Its account exists only if this is set."`
	AllowHTTPTargets    bool   `setting:"" type:"switch" help:"Allow targets and receivers with http URLs, without encryption. The default of --target-ports then includes 80."`
	AllowPrivateTargets bool   `setting:"" type:"switch" help:"Allow loopback, private, link-local and other special addresses as targets."`
	targetFlags
	TargetCAFile string `name:"target-ca-file" setting:"" placeholder:"FILE" help:"PEM certificates to trust for targets, in addition to the system's."`
	PreferHTTP2  bool   `name:"prefer-http2" setting:"" type:"switch" help:"Speak HTTP/2 to targets that offer it beside HTTP/1.1. Default: only to targets that refuse HTTP/1.1."`
	secretsFlag
	Concurrency        slots  `setting:"" default:"1000" placeholder:"N" help:"Maximum of job requests under way at once on this node. Callbacks and webhooks have the same number of slots of their own."`
	Retention          period `setting:"" default:"30d" placeholder:"PERIOD" help:"How long final jobs and logs are kept (90m, 12h, 30d, 2w); 0 means forever."`
	Signup             signup `setting:"" placeholder:"WHO" help:"Who may sign up in the dashboard: open (anyone), invite (people with an invite) or closed (nobody). Default: only the first person, who becomes the operator."`
	RateLimit          rate   `setting:"" default:"0" placeholder:"N" help:"Calls per second for each account; 0 means no limit."`
	PublicRateLimit    rate   `setting:"" default:"10" placeholder:"N" help:"Calls per second with the public key; 0 means no limit."`
	AnonymousRateLimit rate   `setting:"" default:"20" placeholder:"N" help:"Calls per second from each network address without a valid key; 0 means no limit."`
	MaxPending         count  `setting:"" placeholder:"N" help:"Unfinished one-off jobs for each account; 0 means no limit. Default: no limit, but 1,000 for the public key's account."`
	MaxSchedules       count  `setting:"" placeholder:"N" help:"Schedules for each account, including disabled ones; 0 means no limit. Default: no limit, but 20 for the public key's account."`
	MaxStored          size   `setting:"" placeholder:"SIZE" help:"Space that each account's records may use (100MB, 2GiB); 0 means no limit. Default: no limit, but 100MB for the public key's account."`
	PublicPunctuality  bool   `setting:"" type:"switch" help:"Show everyone how late the jobs of all accounts began, at /api/punctuality and /punctuality, without a key. Default: only callers with a key and people who are signed in."`
	signInFlags
	mailFlags
	edgeFlags
	googleFlags
	Outbox    string    `setting:"" placeholder:"URL" help:"An application's database with an outbox, whose rows become jobs of --api-key's account: postgres://, mysql://, mariadb:// or sqlite:FILE. See punctual outbox."`
	APIKey    apiKey    `name:"api-key" setting:"" placeholder:"KEY" help:"The key that --outbox creates jobs with."`
	LogLevel  level     `setting:"" default:"info" placeholder:"LEVEL" help:"Lowest level to log to standard error: debug, info, warn or error."`
	LogFormat logFormat `setting:"" placeholder:"FORMAT" help:"Log format: json or text. Default: text at a terminal, JSON elsewhere."`
}

// Validate implements kong.Validatable. kong does not validate embedded structs, and of
// several embedded methods with this name Go promotes none.
func (c *serveCommand) Validate() error {
	return cmp.Or(c.mailFlags.check(), c.googleFlags.check(), c.signInFlags.check())
}

// memoryRatio is the part of the control group's memory limit that the Go heap
// may grow to; the rest is for stacks, the SQLite cache and the kernel's buffers.
const memoryRatio = 0.8

// limitMemory keeps the heap below the limit of the control group, if there is
// one, so that the garbage collector runs before the kernel ends the process.
// GOMEMLIMIT and AUTOMEMLIMIT in the environment win.
func limitMemory(log *slog.Logger) {
	limit, err := memlimit.Set(memlimit.WithProvider(memlimit.FromCgroup), memlimit.WithRatio(memoryRatio))
	switch {
	case errors.Is(err, memlimit.ErrCgroupsNotSupported), err == nil && limit == math.MaxInt64:
	case err != nil:
		log.Warn("the memory limit of the control group can't be read; set GOMEMLIMIT", "error", err)
	default:
		log.Info("memory limit", "bytes", limit)
	}
}

// Run serves until the context ends.
func (c *serveCommand) Run(env *environment) error {
	if os.Getenv("GOGC") == "" {
		paceHeap()
	}
	log := logger(env.errOut, c.LogLevel, c.LogFormat)
	limitMemory(log)
	here := c.PublicURL.String()
	sockets, err := socket.Inherited(log, app.SocketNames()...)
	if err != nil {
		return err
	}
	config := app.Config{
		Listen: c.Listen, Sockets: sockets, DatabaseURL: c.DatabaseURL, PublicAPIKey: string(c.PublicAPIKey),
		AllowPrivateTargets: c.AllowPrivateTargets, AllowHTTPTargets: c.AllowHTTPTargets, PreferHTTP2: c.PreferHTTP2,
		DenyTargets: c.DenyTargets, AllowTargets: c.AllowTargets, TargetPorts: execute.Ports(c.TargetPorts),
		TargetCAFile: c.TargetCAFile, SecretsKeyFile: c.SecretsKeyFile, Concurrency: int(c.Concurrency),
		Retention: time.Duration(c.Retention), Limits: c.limits(),
		Signup:  auth.Signup(c.Signup),
		Version: buildinfo.Read().Version, Log: log,
		MaxConnections: int(c.MaxConnections), TrustedProxies: network.List(c.TrustedProxies), PublicURL: c.PublicURL.URL,
		MetricsListen: c.MetricsListen, Drain: time.Duration(c.Drain),
		PublicPunctuality: c.PublicPunctuality, Outbox: c.Outbox, OutboxKey: string(c.APIKey),
		SMTP: c.SMTPURL.Server, MailFrom: c.SMTPFrom.Address, MailTrusted: c.SMTPTrustedDomains,
		GoogleListen: c.GoogleListen, GoogleTLSCert: c.GoogleTLSCert, GoogleTLSKey: c.GoogleTLSKey, AppEngineURL: c.AppEngineURL.URL,
		GoogleListening: func(address string) {
			_, _ = fmt.Fprintf(env.out, "serving the Google-compatible APIs at %s\n", address)
		},
		Listening: func(address string) {
			_, _ = fmt.Fprintf(env.out, "listening on http://%s\n", address)
			if here == "" {
				here = "http://" + address
			}
		},
		SetupCode: func(code string) {
			_, _ = fmt.Fprintf(env.out, "there is no account yet; the first person signs up at %s/sign-up?setup=%s with the setup code %s\n", here, code, code)
		},
	}
	if err := c.provider(&config); err != nil {
		return err
	}
	return app.Run(env.ctx, config)
}

func (c *serveCommand) limits() quota.Defaults {
	return quota.Defaults{
		Pending: c.MaxPending.get(), Schedules: c.MaxSchedules.get(), Stored: c.MaxStored.get(),
		Rate: quota.Rate(c.RateLimit), PublicRate: quota.Rate(c.PublicRateLimit), AnonymousRate: quota.Rate(c.AnonymousRateLimit),
	}
}

type migrateCommand struct{ databaseFlag }

// Run brings the tables up to date.
func (c *migrateCommand) Run(env *environment) error {
	s, err := app.OpenStore(env.ctx, c.DatabaseURL, false, env.awaitingStore)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, "the database is up to date")
	return err
}

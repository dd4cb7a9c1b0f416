package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/punctual-dev/punctual/internal/app"
	"github.com/punctual-dev/punctual/internal/auth"
	"github.com/punctual-dev/punctual/internal/execute"
)

type serveCommand struct {
	databaseFlag
	Listen              string `setting:"" default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address to serve on; port 0 picks a free one."`
	PublicAPIKey        apiKey `name:"public-api-key" setting:"" placeholder:"KEY" help:"A key that everyone may know, for trials. Its account exists only when this is set."`
	AllowPrivateTargets bool   `setting:"" type:"switch" help:"Permit loopback, private, link-local and other special addresses as targets."`
	targetFlags
	TargetCAFile string `name:"target-ca-file" setting:"" placeholder:"FILE" help:"PEM certificates trusted for targets, beside the system's."`
	Concurrency  slots  `setting:"" default:"1000" placeholder:"N" help:"Jobs' requests under way at once on this node. Callbacks and webhooks have as many slots of their own."`
	Retention    period `setting:"" default:"30d" placeholder:"PERIOD" help:"How long final jobs and logs are kept (90m, 12h, 30d, 2w); 0 is for ever."`
	Signup       signup `setting:"" placeholder:"WHO" help:"Who may sign up in the dashboard: open (anyone), invite (who has an invite) or closed (nobody). Not given: the first, who becomes the operator."`
	RateLimit    rate   `setting:"" default:"0" placeholder:"N" help:"Calls a second an account may make; 0 is any number."`
	LogLevel     level  `setting:"" default:"info" placeholder:"LEVEL" help:"What is logged to standard error: debug, info, warn or error."`
}

// gcPercent lets the heap grow to three times what lives on it: a few dozen
// megabytes more for a fifteenth of the CPU. GOGC in the environment wins.
const gcPercent = 200

// Run serves until the context ends.
func (c *serveCommand) Run(env *environment) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return app.Run(env.ctx, app.Config{
		Listen: c.Listen, DatabaseURL: c.DatabaseURL, PublicAPIKey: string(c.PublicAPIKey), AllowPrivateTargets: c.AllowPrivateTargets,
		DenyTargets: c.DenyTargets, AllowTargets: c.AllowTargets, TargetPorts: execute.Ports(c.TargetPorts),
		TargetCAFile: c.TargetCAFile, Concurrency: int(c.Concurrency), Retention: time.Duration(c.Retention), RateLimit: float64(c.RateLimit),
		Signup:  auth.Signup(c.Signup),
		Version: version(), Log: logger(env.errOut, c.LogLevel),
		Listening: func(address string) { _, _ = fmt.Fprintf(env.out, "listening on http://%s\n", address) },
	})
}

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(env *environment) error {
	_, err := fmt.Fprintln(env.out, "punctual", version())
	return err
}

// release is set by the linker when a release is built.
var release string

// version tells which version this is: that of the release, else that of the
// module as Go knows it.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

type migrateCommand struct{ databaseFlag }

// Run brings the tables up to date.
func (c *migrateCommand) Run(env *environment) error {
	s, err := app.OpenStore(env.ctx, c.DatabaseURL, false)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.out, "the database is up to date")
	return err
}

package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/punctual-dev/punctual/internal/bench"
	"github.com/punctual-dev/punctual/internal/buildinfo"
)

// None of its flags is a setting: a variable that is meant for the service must
// not make a bench fill that service's database.
type benchCommand struct {
	Workloads []string `placeholder:"NAME" help:"The workloads to run: ${workloads}. Default: all."`
	Quick     bool     `type:"switch" help:"Small sizes, for a first look. Takes about two minutes; all in full take about ten."`
	N         int      `placeholder:"N" help:"Jobs of a herd; the numbers of jobs and hosts of other workloads follow from it. Default: 10000."`
	Rate      float64  `placeholder:"N" help:"Jobs per second of steady workloads. Default: 200."`
	Seconds   float64  `placeholder:"N" help:"How long steady workloads are. Default: 30."`
	Backlog   int      `placeholder:"N" help:"Jobs waiting in the store in the workload backlog. Default: 1000000."`
	Workers   int      `placeholder:"N" help:"Concurrent requests of the service and of the bare client. Default: 500."`
	HTTP2     bool     `name:"http2" type:"switch" help:"Let the target offer HTTP/2, and the service and the bare client speak it. Default: HTTP/1.1."`
	Runs      int      `default:"1" placeholder:"N" help:"How often to run each workload; medians are shown."`

	JSON string `name:"json" placeholder:"FILE" help:"Write all figures, the settings and a description of the machine."`
	SVG  string `name:"svg" placeholder:"FILE" help:"Write a chart of the latencies."`

	DatabaseURL string `name:"database-url" placeholder:"URL" help:"The database for the service. It is filled with jobs, so use one that you can throw away. Default: a temporary SQLite file."`
	OutboxURL   string `name:"outbox-url" placeholder:"URL" help:"The application's PostgreSQL database in the workload outbox, which makes a schema there and drops it. Default: a temporary SQLite file."`
	BaseURL     string `name:"base-url" placeholder:"URL" help:"Measure a service that already runs on this machine; needs --api-key and --authority."`
	APIKey      string `name:"api-key" placeholder:"KEY" help:"Key for that service."`
	Authority   string `placeholder:"FILE" help:"The CA certificate of the bench's target, with its key; created if missing. Start that service with --allow-private-targets --target-ca-file FILE."`

	Bare string `hidden:"" placeholder:"KIND" help:"Run the bare client that the service is compared with."`
}

// Run measures.
func (c *benchCommand) Run(env *environment) error {
	if c.Bare != "" {
		return bench.RunBare(env.ctx, c.Bare, os.Stdin, env.out)
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("this program can't be found, to start it as a service: %w", err)
	}
	ctx, stop := untilHungUp(env.ctx)
	defer stop()
	return bench.Run(ctx, bench.Config{
		Out: env.out, ErrOut: env.errOut, Terminal: isTerminal(env.errOut) && os.Getenv("TERM") != "dumb",
		Version: buildinfo.Read().Version, Program: program,
		Workloads: c.Workloads, Runs: c.Runs, Sizes: c.sizes(),
		DatabaseURL: c.DatabaseURL, OutboxURL: c.OutboxURL, BaseURL: c.BaseURL, APIKey: c.APIKey, AuthorityFile: c.Authority,
		JSON: c.JSON, SVG: c.SVG,
	})
}

// sizes returns the sizes requested by flags, with defaults for the rest.
func (c *benchCommand) sizes() bench.Sizes {
	s := bench.Full()
	if c.Quick {
		s = bench.Quick()
	}
	if c.N != 0 {
		s.Jobs = c.N
	}
	if c.Rate != 0 {
		s.Rate = c.Rate
	}
	if c.Seconds != 0 {
		s.Seconds = c.Seconds
	}
	if c.Backlog != 0 {
		s.Backlog = c.Backlog
	}
	if c.Workers != 0 {
		s.Workers = c.Workers
	}
	s.HTTP2 = c.HTTP2
	return s
}

// workloadNames lists the workloads for the help.
func workloadNames() string { return strings.Join(bench.Names(), ", ") }

package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/punctual-dev/punctual/internal/bench"
)

// None of its flags is a setting: a variable that is meant for the service must
// not make a bench fill that service's database.
type benchCommand struct {
	Workloads []string `placeholder:"NAME" help:"Which to run: ${workloads}. Default: all."`
	Quick     bool     `type:"switch" help:"Small sizes, for a first look. Takes about two minutes; all in full take about ten."`
	N         int      `placeholder:"N" help:"Jobs of a herd; the numbers of jobs and hosts of other workloads follow from it. Default: 10000."`
	Rate      float64  `placeholder:"N" help:"Jobs a second of steady workloads. Default: 200."`
	Seconds   float64  `placeholder:"N" help:"How long steady workloads are. Default: 30."`
	Backlog   int      `placeholder:"N" help:"Jobs that wait in the store of the workload backlog. Default: 1000000."`
	Workers   int      `placeholder:"N" help:"Requests at once, of the service and of the bare client. Default: 500."`
	HTTP2     bool     `name:"http2" type:"switch" help:"Let the target speak HTTP/2."`
	Runs      int      `default:"1" placeholder:"N" help:"How often each workload is run; medians are shown."`

	JSON string `name:"json" placeholder:"FILE" help:"Write all figures, settings and what the machine is."`
	SVG  string `name:"svg" placeholder:"FILE" help:"Draw the latencies."`

	DatabaseURL string `name:"database-url" placeholder:"URL" help:"A database for the service, which is filled with jobs: give one that can be thrown away. Default: a temporary SQLite file."`
	BaseURL     string `name:"base-url" placeholder:"URL" help:"Measure a service that runs already on this machine, with --api-key and --authority."`
	APIKey      string `name:"api-key" placeholder:"KEY" help:"Key for that service."`
	Authority   string `placeholder:"FILE" help:"The certificate that the bench's target is vouched for by, with its key; made when there is none. That service must be started with --allow-private-targets --target-ca-file FILE."`

	Bare string `hidden:"" placeholder:"KIND" help:"Be what the service is held against."`
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
		Version: version(), Program: program,
		Workloads: c.Workloads, Runs: c.Runs, Sizes: c.sizes(),
		DatabaseURL: c.DatabaseURL, BaseURL: c.BaseURL, APIKey: c.APIKey, AuthorityFile: c.Authority,
		JSON: c.JSON, SVG: c.SVG,
	})
}

// sizes gives the sizes asked for, the usual ones otherwise.
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

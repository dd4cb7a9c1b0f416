package bench

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Config of a bench.
type Config struct {
	Out      io.Writer // the table and the plot
	ErrOut   io.Writer // progress
	Terminal bool      // ErrOut is a terminal, so that a live line can be shown
	Version  string
	// Program is the executable that is started as the service; its first
	// argument is a command of internal/cli.
	Program string

	Workloads []string // none: all
	Runs      int
	Sizes     Sizes

	// DatabaseURL is for the service; "" for a SQLite file that is thrown away.
	DatabaseURL string
	// OutboxURL is the PostgreSQL database of the application in the workload outbox; ""
	// for a SQLite file that is thrown away.
	OutboxURL string
	// BaseURL and APIKey are of a service that runs already; "" to start one.
	BaseURL, APIKey string
	// AuthorityFile keeps the certificate and the key of the target's authority,
	// for a service that runs already to trust; "" for a new one in memory.
	AuthorityFile string

	JSON, SVG string // files to write; "" for none
}

// Sizes say how much work there is.
type Sizes struct {
	Jobs    int     `json:"jobs"`    // of a herd; other counts follow from it
	Rate    float64 `json:"rate"`    // jobs a second of what is steady
	Seconds float64 `json:"seconds"` // how long it is
	Backlog int     `json:"backlog"` // jobs that wait in the store
	Workers int     `json:"workers"` // requests at once, of the bare client and of the service
	Clients int     `json:"clients"` // connections by which jobs are created
	HTTP2   bool    `json:"http2"`   // whether the target offers it and its clients speak it
}

// Full returns the sizes that figures are compared at, and Quick those for a
// first look.
func Full() Sizes {
	return Sizes{Jobs: 10_000, Rate: 200, Seconds: 30, Backlog: 1_000_000, Workers: 500, Clients: 64}
}

// Quick returns sizes that are done within a few minutes.
func Quick() Sizes {
	s := Full()
	s.Jobs, s.Rate, s.Seconds, s.Backlog = 2000, 100, 6, 50_000
	return s
}

// Counts are the numbers that follow from the sizes.
type Counts struct {
	IngestJobs      int `json:"ingest_jobs"`
	SteadyJobs      int `json:"steady_jobs"`
	CrowdJobs       int `json:"crowd_jobs"`
	CrashJobs       int `json:"crash_jobs"`
	SlowHosts       int `json:"slow_hosts"`
	Hosts           int `json:"hosts"`
	LargeJobs       int `json:"large_jobs"`
	BacklogAccounts int `json:"backlog_accounts"`
}

func (s *Sizes) counts() Counts {
	return Counts{s.ingest(), s.steady(), s.crowd(), s.crash(), s.slowHosts(), s.hosts(), s.large(), s.accounts()}
}

func (s *Sizes) ingest() int    { return 2 * s.Jobs }
func (s *Sizes) crowd() int     { return 20 * s.Jobs }
func (s *Sizes) steady() int    { return max(1, int(s.Rate*s.Seconds)) }
func (s *Sizes) crash() int     { return max(1, int(s.Rate*s.Seconds/3)) }
func (s *Sizes) large() int     { return min(1000, max(2, s.Jobs/10)) }
func (s *Sizes) slowHosts() int { return min(10_000, max(10, s.Jobs/10)) }
func (s *Sizes) hosts() int     { return min(10_000, max(2, s.Jobs/5)) }
func (s *Sizes) accounts() int  { return min(1000, max(2, s.Backlog/50)) }

// lead is how long before they are due steady jobs are created.
func (s *Sizes) lead() time.Duration {
	return max(time.Second, time.Duration(s.Seconds/3*float64(time.Second)))
}

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	for _, name := range c.Workloads {
		if !slices.ContainsFunc(workloads, func(w workload) bool { return w.name == name }) {
			return fmt.Errorf("--workloads: there is no %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	s := &c.Sizes
	switch {
	case c.Runs < 1 || c.Runs > 100:
		return errors.New("--runs must be from 1 to 100")
	case s.Jobs < 10 || s.Jobs > 1_000_000:
		return errors.New("--n must be from 10 to 1000000")
	case !(s.Rate >= 1 && s.Rate <= 10_000):
		return errors.New("--rate must be from 1 to 10000 jobs a second")
	case !(s.Seconds >= 1 && s.Seconds <= 3600):
		return errors.New("--seconds must be from 1 to 3600")
	case s.Backlog < 100 || s.Backlog > 100_000_000:
		return errors.New("--backlog must be from 100 to 100000000")
	case s.Workers < 1 || s.Workers > 10_000:
		return errors.New("--workers must be from 1 to 10000")
	case c.OutboxURL != "" && !strings.HasPrefix(c.OutboxURL, "postgres"):
		return errors.New("--outbox-url must begin with postgres://; without it the application's database is a SQLite file")
	case c.DatabaseURL != "" && c.BaseURL != "":
		return errors.New("--database-url and --base-url exclude each other: a service that runs already has its database")
	case c.BaseURL == "" && c.APIKey != "":
		return errors.New("--api-key goes with --base-url")
	case c.BaseURL != "":
		return c.validateService()
	}
	return nil
}

// validateService checks the settings for a service that runs already.
func (c *Config) validateService() error {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("--base-url %q is not understood; give one like http://127.0.0.1:8080", c.BaseURL)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--base-url %s is not on this machine; the jobs' target is on its loopback address, so the service must be here too", c.BaseURL)
	}
	if c.APIKey == "" {
		return errors.New("--base-url goes with --api-key; punctual keys create EMAIL makes one")
	}
	if c.AuthorityFile == "" {
		return errors.New("--base-url goes with --authority FILE: the bench writes the certificate of its target there, and the service must be started with --allow-private-targets --target-ca-file FILE")
	}
	return nil
}

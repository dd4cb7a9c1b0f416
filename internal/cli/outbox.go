package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/punctual-dev/punctual/internal/outbox"
	"github.com/punctual-dev/punctual/internal/socket"
)

type outboxCommand struct {
	Schema outboxSchemaCommand `cmd:"" help:"Print the statements that create the tables of the outbox. Needs no service."`
	Run    outboxRunCommand    `cmd:"" help:"Create jobs from the rows of an outbox as they are committed. Several relays may run: one is active, the others stand by."`
}

type outboxSchemaCommand struct {
	Dialect string `default:"postgres" enum:"postgres,mysql,sqlite" placeholder:"NAME" help:"The database: postgres, mysql (also for MariaDB) or sqlite."`
}

// Run prints the statements.
func (c *outboxSchemaCommand) Run(env *environment) error {
	text, err := outbox.Schema(c.Dialect)
	if err == nil {
		_, err = fmt.Fprint(env.out, text)
	}
	return err
}

type outboxRunCommand struct {
	serviceFlags
	Source    string    `setting:"" required:"" placeholder:"URL" help:"The application's database: postgres://, mysql://, mariadb:// or sqlite:FILE. Prefer the environment variable: other users can see a command's flags."`
	Listen    string    `placeholder:"ADDRESS" help:"Address to serve /metrics and /healthz on; port 0 picks a free one."`
	LogLevel  level     `setting:"" default:"info" placeholder:"LEVEL" help:"Lowest level to log to standard error: debug, info, warn or error."`
	LogFormat logFormat `setting:"" placeholder:"FORMAT" help:"Log format: json or text. Default: text at a terminal, JSON elsewhere."`
}

// relayMemory is what the heap of a relay may grow to before the garbage collector runs
// all the time. A relay may use 256 MiB.
const relayMemory = 192 << 20

// operationsWithin bounds a call of /metrics or /healthz.
const operationsWithin = 10 * time.Second

// Run relays rows until the context ends.
func (c *outboxRunCommand) Run(env *environment) error {
	s, err := c.session(env)
	if err != nil {
		return err
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(relayMemory)
	}
	r, err := outbox.New(outbox.Config{Source: c.Source, Service: s.url, Key: s.key, Log: logger(env.errOut, c.LogLevel, c.LogFormat)})
	if err != nil {
		return failed(statusUsage, "%w", err)
	}
	var serving sync.WaitGroup
	sockets, err := socket.Inherited(r.Log, "listen")
	if err != nil {
		return err
	}
	if c.Listen != "" || sockets.Has("listen") {
		stop, err := c.serve(env, r, sockets, &serving)
		if err != nil {
			return err
		}
		defer serving.Wait()
		defer stop()
	}
	r.Run(env.ctx)
	return nil
}

// serve serves metrics and health.
func (c *outboxRunCommand) serve(env *environment, r *outbox.Relay, sockets *socket.Set, serving *sync.WaitGroup) (stop func(), err error) {
	l, err := sockets.Listen("listen", c.Listen)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registry.MustRegister(r.Collectors()...)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", r.ServeHealth)
	server := &http.Server{Handler: mux, ReadTimeout: operationsWithin, WriteTimeout: operationsWithin, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10}
	serving.Go(func() {
		if err := server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			r.Log.Error("serving metrics and health failed", "error", err)
		}
	})
	_, _ = fmt.Fprintf(env.out, "listening on http://%s\n", l.Addr())
	return func() { _ = server.Shutdown(context.WithoutCancel(env.ctx)) }, nil
}

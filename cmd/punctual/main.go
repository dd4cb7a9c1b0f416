// Command punctual fires HTTP requests on time. Run punctual --help for its
// commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/punctual-dev/punctual/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal stops in order; a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	return cli.Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

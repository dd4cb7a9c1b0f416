package cli

import (
	"os"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/buildinfo"
	"github.com/punctual-dev/punctual/internal/demo"
)

type demoCommand struct{}

// Run shows the service at work.
func (demoCommand) Run(env *environment) error {
	ctx, stop := untilHungUp(env.ctx)
	defer stop()
	terminal := isTerminal(env.out) && os.Getenv("TERM") != "dumb"
	return demo.Run(ctx, demo.Config{
		Out: env.out, ErrOut: env.errOut, Terminal: terminal, Color: terminal && os.Getenv("NO_COLOR") == "",
		Zone: time.Local, Version: buildinfo.Read().Version, Command: invocation(os.Args[0]),
	})
}

// invocation returns the command that runs this program again. It differs from the
// path for go run, which builds into a temporary directory.
func invocation(program string) string {
	if strings.Contains(program, "go-build") {
		return "go run ./cmd/punctual"
	}
	return program
}

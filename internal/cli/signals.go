package cli

import (
	"context"
	"os/signal"
	"syscall"
)

// untilHungUp prepares a command that has files and programs to take away at
// its end: a terminal that is closed, or a pipe nobody reads from any more,
// must not leave them behind. Where hanging up is ignored, it stays so.
func untilHungUp(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGPIPE)
	stop := context.CancelFunc(func() {})
	if !signal.Ignored(syscall.SIGHUP) {
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
	}
	return ctx, func() {
		stop()
		signal.Reset(syscall.SIGPIPE)
	}
}

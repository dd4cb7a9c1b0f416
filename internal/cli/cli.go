package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/punctual-dev/punctual/internal/fault"
)

// commands is the command line's grammar.
type commands struct {
	Serve    serveCommand    `cmd:"" help:"Run the service."`
	Demo     demoCommand     `cmd:"" help:"Show the service at work, on a temporary database with a target of its own. Takes about fifteen seconds."`
	Accounts accountsCommand `cmd:"" help:"Make and show accounts; works beside a running service."`
	Keys     keysCommand     `cmd:"" help:"Make, list and revoke API keys; works beside a running service."`
	Migrate  migrateCommand  `cmd:"" help:"Make the database, or bring its tables up to date. serve does so too."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// environment is what commands have to do with the outside.
type environment struct {
	ctx    context.Context
	out    io.Writer
	errOut io.Writer
}

// exit is the panic by which kong's help ends parsing.
type exit int

// Run carries out a command line and gives the process' exit status: 0 when
// all went well, 1 when the command failed, 2 when it was not understood. The
// command stops in order when ctx ends.
func Run(ctx context.Context, args []string, out, errOut io.Writer) (status int) {
	defer func() {
		if code, ok := recover().(exit); ok {
			status = int(code)
		}
	}()
	var grammar commands
	parser := kong.Must(&grammar,
		kong.Name("punctual"),
		kong.Description("punctual fires HTTP requests on time: after a delay, at a time, every so often, by cron.\n\nEvery flag can also be given as an environment variable: PUNCTUAL_ and the flag in upper case with _ for -."),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.NamedMapper("switch", switchMapper{}),
	)
	parsed, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "punctual: %s\nRun punctual --help to see the commands and flags.\n", err)
		return 2
	}
	if err := parsed.Run(&environment{ctx, out, errOut}); err != nil {
		_, _ = fmt.Fprintf(errOut, "punctual: %s\n", sentence(err))
		return 1
	}
	return 0
}

// sentence gives what of an error is for a person.
func sentence(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Error()
	}
	return err.Error()
}

// logger writes text for a person at a terminal, and JSON otherwise.
func logger(errOut io.Writer, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(strings.ToUpper(level))); err != nil {
		return nil, fmt.Errorf("--log-level %q is not understood; give debug, info, warn or error", level)
	}
	options := &slog.HandlerOptions{Level: l}
	if isTerminal(errOut) {
		return slog.New(slog.NewTextHandler(errOut, options)), nil
	}
	return slog.New(slog.NewJSONHandler(errOut, options)), nil
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

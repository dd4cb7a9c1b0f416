package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
)

// commands is the command line's grammar.
type commands struct {
	Serve    serveCommand    `cmd:"" help:"Run the service."`
	Demo     demoCommand     `cmd:"" help:"Show the service at work, on a temporary database with a target of its own. Takes about fifteen seconds."`
	Bench    benchCommand    `cmd:"" help:"Measure the service on this machine, on a temporary database with a target of its own."`
	Accounts accountsCommand `cmd:"" help:"Make, show and delete accounts; works beside a running service."`
	Invites  invitesCommand  `cmd:"" help:"Make invites, with which people sign up where --signup is invite."`
	Keys     keysCommand     `cmd:"" help:"Make, list and revoke API keys; works beside a running service."`
	Targets  targetsCommand  `cmd:"" help:"Block targets for all accounts; works beside a running service, within two seconds."`
	Jobs     jobsCommand     `cmd:"" help:"Make, list and cancel jobs through a running service, here or elsewhere."`
	Migrate  migrateCommand  `cmd:"" help:"Make the database, or bring its tables up to date. serve does so too."`
	Backup   backupCommand   `cmd:"" help:"Copy a SQLite database to a file while the service runs."`
	Restore  restoreCommand  `cmd:"" help:"Make a SQLite database from a backup. It overwrites nothing, and no job number is given twice."`
	Copy     copyCommand     `cmd:"" help:"Copy everything to another, empty database: the way from SQLite to PostgreSQL and back."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// environment is what commands have to do with the outside.
type environment struct {
	ctx    context.Context
	in     io.Reader
	out    io.Writer
	errOut io.Writer
}

// exit is the panic by which kong's help ends parsing.
type exit int

const description = `punctual fires HTTP requests on time: after a delay, at a time, every so often, by cron.

A flag that names a variable, as in [$PUNCTUAL_LISTEN], can also be given as that environment variable; the flag wins.`

// Run carries out a command line and gives the process' exit status: 0 when
// all went well, 1 when the command failed, 2 when it was not understood. The
// command stops in order when ctx ends.
func Run(ctx context.Context, args []string, out, errOut io.Writer) (status int) {
	return run(ctx, args, os.Stdin, out, errOut)
}

func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) (status int) {
	defer func() {
		switch ending := recover().(type) {
		case nil:
		case exit:
			status = int(ending)
		default:
			panic(ending)
		}
	}()
	var grammar commands
	parser, variables := newParser(&grammar, out, errOut)
	parsed, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "punctual: %s\n", explain(err, variables.used))
		return 2
	}
	if err := parsed.Run(&environment{ctx, in, out, errOut}); err != nil {
		_, _ = fmt.Fprintf(errOut, "punctual: %s\n", sentence(err))
		return 1
	}
	return 0
}

func newParser(grammar *commands, out, errOut io.Writer) (*kong.Kong, *settings) {
	variables := &settings{used: map[string]string{}}
	parser := kong.Must(grammar,
		kong.Name("punctual"),
		kong.Description(description),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(describe),
		kong.Resolvers(variables),
		kong.NamedMapper("switch", switchMapper{}),
		kong.Vars{"workloads": workloadNames(), "target_ports": execute.DefaultPorts, "target_help": targetHelp},
	)
	parser.Model.HelpFlag.Help = "Show this help."
	return parser, variables
}

// sentence gives what of an error is for a person.
func sentence(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Error()
	}
	return err.Error()
}

// logger writes text for a person at a terminal, and JSON otherwise, unless it is
// told which.
func logger(errOut io.Writer, l level, format logFormat) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(l)}
	if format == "text" || format == "" && isTerminal(errOut) {
		return slog.New(slog.NewTextHandler(errOut, options))
	}
	return slog.New(slog.NewJSONHandler(errOut, options))
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

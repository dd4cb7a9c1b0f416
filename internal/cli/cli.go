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

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

// commands is the command line's grammar.
type commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the service."`
	Demo       demoCommand       `cmd:"" help:"Demonstrate the service with a temporary database and its own target. Takes about fifteen seconds."`
	Bench      benchCommand      `cmd:"" help:"Benchmark the service on this machine with a temporary database and its own target."`
	Accounts   accountsCommand   `cmd:"" help:"Create, show and delete accounts, also while the service runs."`
	Invites    invitesCommand    `cmd:"" help:"Create invites, with which people sign up if --signup is invite."`
	Keys       keysCommand       `cmd:"" help:"Create, list and revoke API keys, also while the service runs."`
	Targets    targetsCommand    `cmd:"" help:"Block targets for all accounts. A running service applies it within two seconds."`
	Secrets    secretsCommand    `cmd:"" help:"Create and rotate the keys that secrets are encrypted with."`
	Jobs       jobsCommand       `cmd:"" help:"Create, list and cancel jobs through the API of a running service."`
	Schedules  schedulesCommand  `cmd:"" help:"Show, change and run schedules through the API of a running service."`
	Limits     limitsCommand     `cmd:"" help:"Define, pause and delete limits for receivers through the API of a running service."`
	Operations operationsCommand `cmd:"" help:"Cancel, rerun, run or reschedule many jobs at once."`
	Apply      applyCommand      `cmd:"" help:"Create, change and remove schedules so that they match files."`
	Export     exportCommand     `cmd:"" help:"Print an account's schedules as a document that apply reads."`
	Import     importCommand     `cmd:"" help:"Create schedules from other schedulers' files."`
	Listen     listenCommand     `cmd:"" help:"Answer requests of an account's jobs, callbacks and webhooks on this machine, for development."`
	Migrate    migrateCommand    `cmd:"" help:"Create the database, or bring its tables up to date. serve does so too."`
	Backup     backupCommand     `cmd:"" help:"Copy a SQLite database to a file while the service runs."`
	Restore    restoreCommand    `cmd:"" help:"Restore a backup to a new SQLite database. It overwrites nothing, and no job number is used twice."`
	Copy       copyCommand       `cmd:"" help:"Copy everything to another, empty database, for example from SQLite to PostgreSQL."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
}

// environment is the context and the streams that commands use.
type environment struct {
	ctx    context.Context
	in     io.Reader
	out    io.Writer
	errOut io.Writer
}

// exit is the panic value with which kong's help ends parsing.
type exit int

const description = `punctual fires HTTP requests on time: after a delay, at a time, every so often, by cron.

A flag that names a variable, as in [$PUNCTUAL_LISTEN], can also be given as that environment variable; the flag wins.`

// Run runs a command line and returns the exit status of the process: 0 if it
// succeeded, 1 if the command failed, 2 if the command line was invalid. The
// command shuts down gracefully when ctx is done.
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
	grammar.Jobs.Create.Options = newFieldFlags()
	parser := kong.Must(grammar,
		kong.Name("punctual"),
		kong.Description(description),
		kong.Writers(out, errOut),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.ValueFormatter(describe),
		kong.Resolvers(variables),
		kong.NamedMapper("switch", switchMapper{}),
		kong.Vars{"workloads": workloadNames(), "target_ports": execute.DefaultPorts, "target_help": targetHelp, "states": strings.Join(job.StateFilters(), ", ")},
	)
	parser.Model.HelpFlag.Help = "Show this help."
	return parser, variables
}

// sentence returns the part of an error to show to a person.
func sentence(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Error()
	}
	return err.Error()
}

// logger returns a logger. Without a format, it writes text to a terminal and JSON
// elsewhere.
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

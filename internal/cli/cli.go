package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/mattn/go-isatty"

	"github.com/punctual-dev/punctual/internal/execute"
	"github.com/punctual-dev/punctual/internal/job"
)

// commands is the command line's grammar.
type commands struct {
	Serve      serveCommand      `cmd:"" help:"Run the service."`
	Dev        devCommand        `cmd:"" help:"Run the service for development, on this machine only: every API, a temporary database, one key."`
	Demo       demoCommand       `cmd:"" help:"Demonstrate the service with a temporary database and its own target. Takes about fifteen seconds."`
	Bench      benchCommand      `cmd:"" help:"Benchmark the service on this machine with a temporary database and its own target."`
	Accounts   accountsCommand   `cmd:"" help:"Create, show and delete accounts, also while the service runs."`
	Invites    invitesCommand    `cmd:"" help:"Create invites, with which people sign up if --signup is invite."`
	Keys       keysCommand       `cmd:"" help:"Create, list and revoke API keys, also while the service runs."`
	Targets    targetsCommand    `cmd:"" help:"Block targets for all accounts. A running service applies it within two seconds."`
	Login      loginCommand      `cmd:"" help:"Store the URL of a service and a key for it in a profile, which other commands use."`
	Logout     logoutCommand     `cmd:"" help:"Remove a profile with its key."`
	Profiles   profilesCommand   `cmd:"" help:"List the profiles, or choose the one to use."`
	Jobs       jobsCommand       `cmd:"" help:"Create, list, watch, change and cancel jobs through the API of a running service."`
	Schedules  schedulesCommand  `cmd:"" help:"Create, list, change, run and disable schedules through the API of a running service."`
	Why        whyCommand        `cmd:"" help:"Explain why a job or a schedule is in its state, and what to do."`
	Logs       logsCommand       `cmd:"" help:"List, follow and export the log entries of jobs."`
	Runs       runsCommand       `cmd:"" help:"List, show and cancel workflow runs."`
	Members    membersCommand    `cmd:"" help:"Invite persons to the account, change their roles and remove them, through the API of a running service."`
	Groups     groupsCommand     `cmd:"" help:"Define and delete groups of targets through the API of a running service."`
	Limits     limitsCommand     `cmd:"" help:"Define, pause and delete limits for receivers through the API of a running service."`
	Alerts     alertsCommand     `cmd:"" help:"Define, test and delete alerts through the API of a running service."`
	Secrets    secretsCommand    `cmd:"" help:"Store secrets for headers, and rotate the keys that secrets are encrypted with."`
	Issuer     issuerCommand     `cmd:"" help:"Rotate the key with which the service signs tokens for targets."`
	Operations operationsCommand `cmd:"" help:"Cancel, rerun, run or reschedule many jobs at once."`
	Outbox     outboxCommand     `cmd:"" help:"Send what an application commits to its own database: the tables, and the relay."`
	Apply      applyCommand      `cmd:"" help:"Create, change and remove schedules so that they match files."`
	Rehearse   rehearseCommand   `cmd:"" help:"See what schedules, stored or of files, will do: counts, clock changes, overlaps, limits, ends."`
	Lint       lintCommand       `cmd:"" help:"Print what is worth changing in files of schedules. Needs no service."`
	Export     exportCommand     `cmd:"" help:"Print an account's schedules as a document that apply reads."`
	Import     importCommand     `cmd:"" help:"Create schedules from other schedulers' files."`
	Listen     listenCommand     `cmd:"" help:"Respond to requests of an account's jobs, callbacks and webhooks on this machine, for development."`
	MCP        mcpCommand        `cmd:"" name:"mcp" help:"Serve tools for an agent on standard input and output (Model Context Protocol)."`
	API        apiCommand        `cmd:"" name:"api" help:"Make any call of the API."`
	Next       nextCommand       `cmd:"" help:"Print when a cron expression, an interval or a time in plain words is due next. Needs no service."`
	Verify     verifyCommand     `cmd:"" help:"Verify the signature of a webhook, a callback or a job's request. Needs no service."`
	Migrate    migrateCommand    `cmd:"" help:"Create the database, or bring its tables up to date. serve does so too."`
	Backup     backupCommand     `cmd:"" help:"Copy a SQLite database to a file while the service runs."`
	Restore    restoreCommand    `cmd:"" help:"Restore a backup to a new SQLite database. It overwrites nothing, and skips the job numbers that may have been used since the backup."`
	Copy       copyCommand       `cmd:"" help:"Copy everything to another, empty database, for example from SQLite to PostgreSQL."`
	Health     healthCommand     `cmd:"" help:"Check whether the service on this machine is ready, for containers and scripts."`
	Completion completionCommand `cmd:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Version    versionCommand    `cmd:"" help:"Print the version; --version does so too."`
}

// environment is the context and the streams that commands use.
type environment struct {
	ctx    context.Context
	in     io.Reader
	out    io.Writer
	errOut io.Writer
	// terminal is how to show what goes to out.
	terminal terminal
	// variables tells which environment variable a flag's value came from.
	variables map[string]string
}

// awaitingStore tells why a command does not go on yet.
func (e *environment) awaitingStore(cause error) {
	_, _ = fmt.Fprintf(e.errOut, "punctual: waiting for the database: %v\n", cause)
}

// exit is the panic value with which kong's help ends parsing.
type exit int

const description = `punctual fires HTTP requests on time: after a delay, at a time, every so often, by cron.

A flag that names a variable, as in [$PUNCTUAL_LISTEN], can also be given as that environment variable; the flag wins.`

// Run runs a command line and returns the exit status of the process; see status.go
// for what each means. The command shuts down gracefully when ctx is done.
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
	parser, variables := newParser(grammarFor(args), out, errOut)
	if len(args) > 0 && args[0] == completeCommand {
		return complete(parser.Model.Node, args[1:], out)
	}
	if len(args) > 0 {
		switch args[0] {
		case "--version":
			args = append([]string{"version"}, args[1:]...)
		case "help":
			args = append(slices.Clone(args[1:]), "--help")
		}
	}
	env := &environment{ctx, in, out, errOut, terminalOf(out), variables.used}
	parsed, err := parser.Parse(args)
	if err != nil {
		_, _ = fmt.Fprintf(errOut, "punctual: %s\n", printableLines(explain(err, variables.used)))
		return statusUsage
	}
	if err := parsed.Run(env); err != nil {
		env.report(err, wantsJSON(parsed))
		return exitStatus(err)
	}
	return statusDone
}

// wantsJSON reports whether a command that calls the service is to print JSON.
func wantsJSON(parsed *kong.Context) bool {
	selected := parsed.Selected()
	if selected == nil || !selected.Target.CanAddr() {
		return false
	}
	c, ok := selected.Target.Addr().Interface().(interface{ wantsJSON() bool })
	return ok && c.wantsJSON()
}

// newGrammar returns all commands.
func newGrammar() *commands {
	var grammar commands
	grammar.Jobs.Create.Options = newFieldFlags(job.ForCreate)
	grammar.Schedules.Create.Options = newFieldFlags(job.ForSchedule)
	grammar.Alerts.Set.To = newReceiverFlags()
	grammar.Jobs.List.filterFlags = newFilterFlags(job.OfJobs)
	grammar.Operations.Start.filterFlags = newFilterFlags(job.OfOperations)
	grammar.Schedules.List.filterFlags = newFilterFlags(job.OfSchedules)
	grammar.Logs.List.filterFlags = newFilterFlags(job.OfLogs)
	grammar.Logs.Export.filterFlags = newFilterFlags(job.OfLogs)
	return &grammar
}

// grammarFor returns what kong needs to parse args: a struct with only the command that
// args begin with, or all commands if they begin with none. Most of the CPU time of a
// short command was kong's reading of the tags of all others.
func grammarFor(args []string) any {
	grammar := newGrammar()
	if len(args) == 0 {
		return grammar
	}
	all := reflect.ValueOf(grammar).Elem()
	for field := range reflect.TypeFor[commands]().Fields() {
		if strings.ToLower(field.Name) != args[0] {
			continue
		}
		selected := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		selected.Elem().Field(0).Set(all.FieldByIndex(field.Index))
		return selected.Interface()
	}
	return grammar
}

func newParser(grammar any, out, errOut io.Writer) (*kong.Kong, *settings) {
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
		kong.Vars{"workloads": workloadNames(), "target_ports": execute.DefaultPorts, "target_help": targetHelp,
			"states": strings.Join(job.StateFilters(), ", ")},
	)
	parser.Model.HelpFlag.Help = "Show this help."
	addExamples(parser.Model.Node)
	return parser, variables
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

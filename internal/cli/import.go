package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/importer"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

type importCommand struct {
	Crontab    importCrontab    `cmd:"" help:"Create schedules from the lines of a crontab that call curl or wget."`
	Kubernetes importKubernetes `cmd:"" help:"Create schedules from CronJobs whose container runs curl or wget."`
	Vercel     importVercel     `cmd:"" help:"Create schedules from the crons of a vercel.json."`
	GitHub     importGitHub     `cmd:"" name:"github" help:"Create schedules that start a GitHub workflow with the trigger schedule."`
	Google     importGoogle     `cmd:"" help:"Create schedules from jobs of Google Cloud Scheduler."`
	AWS        importAWS        `cmd:"" name:"aws" help:"Create schedules from those of AWS EventBridge Scheduler."`
	QStash     importQStash     `cmd:"" name:"qstash" help:"Create the schedules, queues, topics and flow control keys of an account at QStash."`
	Systemd    importSystemd    `cmd:"" help:"Create schedules from systemd timers whose service runs curl or wget."`
}

// importFlags are the flags of all imports.
type importFlags struct {
	serviceFlags
	Owner  string `placeholder:"OWNER" help:"The owner of the schedules, for punctual apply and export. Default: the name of the system."`
	DryRun bool   `type:"switch" help:"Print the plan and change nothing."`
	Yes    bool   `short:"y" type:"switch" help:"Import without asking at a terminal."`
}

type importCrontab struct {
	importFlags
	File   string `arg:"" name:"file" help:"The crontab, or - for standard input, as in: crontab -l | punctual import crontab -"`
	Zone   string `placeholder:"ZONE" help:"The time zone of the crontab's times, such as Europe/Berlin. A line CRON_TZ=ZONE in it wins. Default: the zone of this machine."`
	System bool   `type:"switch" help:"Each line names a user after the time, as in /etc/crontab."`
}

// Run creates or updates a schedule for each line that can be converted. If others
// remain, it lists them and returns an error.
func (c *importCrontab) Run(env *environment) error {
	zone, err := machineZone(env, c.Zone, "times without CRON_TZ")
	if err != nil {
		return err
	}
	return c.run(env, "crontab", c.File, func(text []byte) ([]crontab.Entry, error) {
		return crontab.Parse(text, crontab.Options{Zone: zone, System: c.System})
	})
}

type importKubernetes struct {
	importFlags
	File string `arg:"" name:"file" help:"YAML or JSON, or - for standard input, as in: kubectl get cronjobs -o yaml | punctual import kubernetes -"`
	Zone string `placeholder:"ZONE" help:"The zone of CronJobs without timeZone: that of the cluster's controller manager, which usually is UTC."`
}

// Run imports CronJobs.
func (c *importKubernetes) Run(env *environment) error {
	return c.of(env, "kubernetes", c.File, importer.Options{Zone: c.Zone})
}

type importVercel struct {
	importFlags
	File    string `arg:"" name:"file" help:"The vercel.json, or - for standard input."`
	BaseURL string `name:"base-url" required:"" placeholder:"ORIGIN" help:"Where the project is served, as in https://app.example.com."`
}

// Run imports the crons of a project.
func (c *importVercel) Run(env *environment) error {
	return c.of(env, "vercel", c.File, importer.Options{BaseURL: c.BaseURL})
}

type importGitHub struct {
	importFlags
	File     string `arg:"" name:"file" help:"The workflow, as in .github/workflows/nightly.yml, or - for standard input."`
	Workflow string `required:"" placeholder:"OWNER/NAME/FILE" help:"The repository and the workflow's file, as in acme/app/nightly.yml."`
	Ref      string `default:"main" placeholder:"REF" help:"The branch that the workflow runs on."`
}

// Run imports the times of a workflow. Its requests use the secret github.
func (c *importGitHub) Run(env *environment) error {
	return c.of(env, "github", c.File, importer.Options{Repository: c.Workflow, Ref: c.Ref})
}

type importGoogle struct {
	importFlags
	File string `arg:"" name:"file" help:"What gcloud scheduler jobs list --format=json prints, or - for standard input."`
}

// Run imports jobs of Cloud Scheduler.
func (c *importGoogle) Run(env *environment) error {
	return c.of(env, "google", c.File, importer.Options{})
}

type importAWS struct {
	importFlags
	File   string            `arg:"" name:"file" help:"What aws scheduler get-schedule prints, one or a list, or - for standard input."`
	Target map[string]string `mapsep:"none" placeholder:"ARN=URL" help:"The URL that does the work of a target. May be repeated."`
}

// Run imports schedules of EventBridge Scheduler.
func (c *importAWS) Run(env *environment) error {
	return c.of(env, "aws", c.File, importer.Options{Targets: c.Target, Now: time.Now()})
}

type importSystemd struct {
	importFlags
	File string `arg:"" name:"file" help:"What systemctl cat NAME.timer NAME.service prints, or - for standard input."`
	Zone string `placeholder:"ZONE" help:"The zone of times without one. Default: the zone of this machine."`
}

// Run imports timers.
func (c *importSystemd) Run(env *environment) error {
	zone, err := machineZone(env, c.Zone, "times without a zone")
	if err != nil {
		return err
	}
	return c.of(env, "systemd", c.File, importer.Options{Zone: zone, Now: time.Now()})
}

// machineZone returns a zone that was given or, if none was, that of this machine, which
// it tells.
func machineZone(env *environment, given, what string) (string, error) {
	if given != "" {
		_, err := readZone(given)
		return given, err
	}
	name := os.Getenv("TZ")
	if name == "" {
		if link, err := os.Readlink("/etc/localtime"); err == nil {
			if _, after, ok := strings.Cut(filepath.ToSlash(link), "zoneinfo/"); ok {
				name = after
			}
		}
	}
	if name == "" {
		if text, err := os.ReadFile("/etc/timezone"); err == nil {
			name = strings.TrimSpace(string(text))
		}
	}
	if name == "" && time.Local.String() == "UTC" {
		name = "UTC"
	}
	if name == "Etc/UTC" {
		name = "UTC"
	}
	if _, err := schedule.LoadZone(name); err != nil {
		return "", failed(statusUsage, "--zone must name the time zone of the times, as in Europe/Berlin: that of this machine is not known")
	}
	_, _ = fmt.Fprintf(env.errOut, "%s are read in %s, the zone of this machine; --zone names another\n", what, name)
	return name, nil
}

// of imports a file with the importer of a system.
func (c *importFlags) of(env *environment, system, file string, o importer.Options) error {
	for _, i := range importer.Importers {
		if i.Name == system {
			return c.run(env, system, file, func(text []byte) ([]crontab.Entry, error) { return i.Parse(text, o) })
		}
	}
	return fmt.Errorf("there is no importer %s", system)
}

// run imports a file: it shows what becomes of each line and, at a terminal, asks. If
// lines can't be imported, it lists them and returns an error.
func (c *importFlags) run(env *environment, system, file string, parse func([]byte) ([]crontab.Entry, error)) error {
	text, err := readImported(env.in, file)
	if err != nil {
		return err
	}
	entries, err := parse(text)
	if err != nil {
		return err
	}
	c.Owner = cmp.Or(c.Owner, system)
	apply := applyCommand{serviceFlags: c.serviceFlags, DryRun: c.DryRun, Yes: true}
	ask := !c.Yes && !c.DryRun && isInteractive(env.in) && file != "-"
	p, err := c.apply(env, &apply, file, entries, c.DryRun || ask)
	if err != nil {
		return err
	}
	if !c.JSON && !c.Quiet {
		if err := printImported(env.out, env.terminal, entries, time.Now()); err != nil {
			return err
		}
	}
	if p != nil && ask && p.changes() > 0 {
		if err := apply.confirm(env, []*plan{p}); err != nil {
			return err
		}
		if p, err = c.apply(env, &apply, file, entries, false); err != nil {
			return err
		}
	}
	if p != nil {
		if err := apply.show(env, []*plan{p}); err != nil {
			return err
		}
	}
	left := 0
	for _, e := range entries {
		if e.Err != nil {
			left++
			_, _ = fmt.Fprintf(env.errOut, "line %d: %v\n    %s\n", e.Line, e.Err, printable(e.Text))
		}
	}
	switch {
	case len(entries) == 0 && system == "crontab":
		return errors.New("the crontab has no commands")
	case len(entries) == 0:
		return errors.New("the file has nothing to import")
	case left > 0:
		return fmt.Errorf("%d of %s could not be imported", left, counted(len(entries), "line", "lines"))
	}
	return nil
}

func readImported(in io.Reader, path string) ([]byte, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, importer.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the file: %w", err)
	}
	return text, nil
}

// printImported prints line, zone, method, URL and next runs of what can be imported.
func printImported(out io.Writer, to terminal, entries []crontab.Entry, now time.Time) error {
	t := &table{columns: []column{{title: "LINE"}, {title: "TIME"}, {title: "ZONE"}, {title: "METHOD"}, {title: "URL", shrink: true},
		{title: "NEXT RUNS"}}}
	for i := range entries {
		e := &entries[i]
		if e.Err != nil {
			continue
		}
		expr := rawjson.Text(rawjson.Get(e.Schedule, "cron"))
		next := ""
		if zone, err := schedule.LoadZone(e.Zone); err == nil && expr != "" {
			if cron, err := schedule.ParseCron(expr, zone); err == nil {
				first := cron.Next(time.Time{}, now)
				next = to.moment(client.Time{Time: first}) + ", " + to.moment(client.Time{Time: cron.Next(time.Time{}, first)})
			}
		}
		if expr == "" {
			expr = string(rawjson.Get(e.Schedule, "repeat_every"))
		}
		t.add(strconv.Itoa(e.Line), expr, e.Zone, e.Method, e.URL, next)
	}
	if len(t.rows) == 0 {
		return nil
	}
	return t.print(out, to)
}

// apply sends the schedules of the entries. Entries that the service refuses
// get its reason, and the others are sent again. The plan is nil if no entry is
// left.
func (c *importFlags) apply(env *environment, a *applyCommand, file string, entries []crontab.Entry, dryRun bool) (*plan, error) {
	for {
		var items []rawjson.Value
		var sent []*crontab.Entry
		for i := range entries {
			if entries[i].Err == nil {
				items, sent = append(items, entries[i].Schedule), append(sent, &entries[i])
			}
		}
		if len(items) == 0 {
			return nil, nil
		}
		d := document{name: file}
		d.set("owner", rawjson.Quote(c.Owner))
		d.set("schedules", rawjson.Array(items))
		p, err := a.send(env, &d, dryRun, "")
		var no *refusal
		if !errors.As(err, &no) || !blame(sent, no) {
			return p, err
		}
	}
}

// blame sets the errors of the entries that a refusal names, and reports
// whether there were any.
func blame(sent []*crontab.Entry, no *refusal) bool {
	named := false
	for _, p := range no.problems {
		rest, ok := strings.CutPrefix(p.Pointer, "#/schedules/")
		index, field, _ := strings.Cut(rest, "/")
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i < 0 || i >= len(sent) || sent[i].Err != nil {
			continue
		}
		sent[i].Err, named = fmt.Errorf("%s %s", field, p.Detail), true
	}
	return named
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/crontab"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type importCommand struct {
	Crontab importCrontab `cmd:"" help:"Create schedules from the lines of a crontab that call curl or wget."`
}

type importCrontab struct {
	serviceFlags
	File   string `arg:"" name:"file" help:"The crontab, or - for standard input, as in: crontab -l | punctual import crontab -"`
	Owner  string `default:"crontab" placeholder:"OWNER" help:"The owner of the schedules, for punctual apply and export."`
	Zone   string `default:"UTC" placeholder:"ZONE" help:"The time zone of the crontab's times, such as Europe/Berlin. A line CRON_TZ=ZONE in it wins."`
	System bool   `type:"switch" help:"Each line names a user after the time, as in /etc/crontab."`
	DryRun bool   `type:"switch" help:"Print the plan and change nothing."`
}

// Run creates or updates a schedule for each line that can be converted. If
// others remain, it lists them and returns an error.
func (c *importCrontab) Run(env *environment) error {
	if _, err := readZone(c.Zone); err != nil {
		return err
	}
	entries, err := c.read(env)
	if err != nil {
		return err
	}
	apply := applyCommand{serviceFlags: c.serviceFlags, DryRun: c.DryRun, Yes: true}
	p, err := c.apply(env, &apply, entries)
	if err != nil {
		return err
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
	case len(entries) == 0:
		return errors.New("the crontab has no commands")
	case left > 0:
		return fmt.Errorf("%d of %s could not be imported", left, counted(len(entries), "line", "lines"))
	}
	return nil
}

func (c *importCrontab) read(env *environment) ([]crontab.Entry, error) {
	in := env.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, crontab.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading the crontab: %w", err)
	}
	return crontab.Parse(text, crontab.Options{Zone: c.Zone, System: c.System})
}

// apply sends the schedules of the entries. Entries that the service refuses
// get its reason, and the others are sent again. The plan is nil if no entry is
// left.
func (c *importCrontab) apply(env *environment, a *applyCommand, entries []crontab.Entry) (*plan, error) {
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
		d := document{name: c.File}
		d.set("owner", rawjson.Quote(c.Owner))
		d.set("schedules", rawjson.Array(items))
		p, err := a.send(env, &d, c.DryRun, "")
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

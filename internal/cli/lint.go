package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
	"github.com/punctual-dev/punctual/internal/schedule"
)

type lintCommand struct {
	File   []string `arg:"" name:"file" sep:"none" help:"A JSON or YAML file, a directory with such files, or - for standard input."`
	From   string   `placeholder:"TIME" help:"When the year begins that is looked at. Default: now."`
	Ignore []string `placeholder:"CODE" help:"Leave out findings with this code. May be repeated."`
	JSON   bool     `name:"json" type:"switch" help:"Print JSON: an array of findings."`
}

// Run prints what is worth changing in the schedules of files. It needs no service, so it
// knows no limits. Its exit status is 0 without findings, 1 with some, and 2 if a file is
// no valid document.
func (c *lintCommand) Run(env *environment) error {
	for _, code := range c.Ignore {
		if !slices.Contains(rehearse.Codes(), code) {
			return failed(statusUsage, "--ignore: there is no code %s; the codes are %s", printable(code),
				strings.Join(rehearse.Codes(), ", "))
		}
	}
	from, err := lintFrom(c.From)
	if err != nil {
		return err
	}
	schedules, err := schedulesOf(env.in, c.File)
	if err != nil {
		return failed(statusUsage, "%w", err)
	}
	findings, err := lint(env.ctx, schedules, from)
	if err != nil {
		return err
	}
	findings = slices.DeleteFunc(findings, func(f rehearse.Finding) bool { return slices.Contains(c.Ignore, f.Code) })
	text := rehearse.AppendFindings(nil, findings)
	if c.JSON {
		if err := (&displayFlags{JSON: true}).print(env, text, nil); err != nil {
			return err
		}
	} else {
		var shown []client.Finding
		if err := json.Unmarshal(text, &shown); err != nil {
			return fmt.Errorf("reading the findings: %w", err)
		}
		if err := printFindings(env.out, shown); err != nil {
			return err
		}
	}
	if len(findings) > 0 {
		return failed(statusFailed, "%s in %s", counted(len(findings), "finding", "findings"),
			counted(len(schedules), "schedule", "schedules"))
	}
	return nil
}

func lintFrom(text string) (time.Time, error) {
	if text == "" {
		return time.Now(), nil
	}
	at, err := schedule.ParseInstant(text)
	if err != nil {
		return at, failed(statusUsage, "--from %w", err)
	}
	return at, nil
}

// lint rehearses schedules of a document for a year, as new ones. Its error tells what is
// wrong with them.
func lint(ctx context.Context, schedules []rawjson.Value, from time.Time) ([]rehearse.Finding, error) {
	from = from.UTC().Truncate(time.Microsecond)
	body := rawjson.Object([]rawjson.Member{{Name: "owner", Value: rawjson.Value(`"lint"`)},
		{Name: "schedules", Value: rawjson.Array(schedules)}})
	d, err := job.ReadDocument(body, func(key *string) job.ReadOptions {
		return job.ReadOptions{Now: from, HeaderKey: key,
			AllowHTTP: true}
	})
	if err != nil {
		return nil, invalidDocument(err)
	}
	p := &rehearse.Plan{From: from, To: from.AddDate(1, 0, 0)}
	for _, item := range d.Items {
		p.Entries = append(p.Entries, rehearse.NewEntry(item.Key, item.Draft, from))
	}
	r, err := rehearse.Run(ctx, p)
	if err != nil {
		return nil, err
	}
	return r.Findings, nil
}

// invalidDocument returns the error for a document with problems.
func invalidDocument(err error) error {
	problems := fault.ProblemsOf(err)
	if len(problems) == 0 {
		return err
	}
	text := "the schedules are not valid:"
	for _, p := range problems {
		text += "\n  " + printable(p.Pointer[min(len(p.Pointer), 2):]+" "+p.Detail)
	}
	return failed(statusUsage, "%s", text)
}

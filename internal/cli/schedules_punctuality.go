package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/client"
)

type schedulesPunctuality struct {
	serviceFlags
	ID    string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
	Month string `placeholder:"YYYY-MM" help:"One of the last 13 months, in UTC. The default is the current one."`
	CSV   bool   `name:"csv" help:"Print a table for spreadsheets."`
}

// Run shows the report of a month.
func (c *schedulesPunctuality) Run(env *environment) error {
	path := schedulePath(c.ID) + "/punctuality"
	if c.Month != "" {
		path += "?" + url.Values{"month": {c.Month}}.Encode()
	}
	if c.CSV {
		got, err := c.call(env, http.MethodGet, path, nil, http.Header{"Accept": {"text/csv"}})
		if err != nil {
			return err
		}
		_, err = env.out.Write(got.Body)
		return err
	}
	record, err := c.record(env, http.MethodGet, path, nil)
	return printOne(&c.displayFlags, env, record, err, func(p *client.SchedulePunctuality) string { return p.ScheduleID },
		func(p *client.SchedulePunctuality) error { return printPunctuality(env.out, c.terminal(env), p) })
}

func printPunctuality(out io.Writer, to terminal, p *client.SchedulePunctuality) error {
	f := facts{to: to}
	f.add("schedule", p.ScheduleID)
	f.add("month", p.Month)
	if !p.Complete {
		f.add("complete", "no: earlier runs are still being counted")
	}
	f.add("due", strconv.FormatInt(p.Due, 10))
	f.add("made", strconv.FormatInt(p.Made, 10))
	f.add("completed", strconv.FormatInt(p.Completed, 10))
	f.add("failed", strconv.FormatInt(p.Failed, 10))
	f.add("cancelled", strconv.FormatInt(p.Cancelled, 10))
	f.add("late", fmt.Sprintf("%d by more than %d s", p.Late, p.LateAfterMS/1000))
	f.add("missed", missedPoints(&p.Missed))
	f.add("lateness", latenessFigures(&p.LatenessMS))
	for i, o := range p.Outages {
		name := ""
		if i == 0 {
			name = "outages"
		}
		f.add(name, fmt.Sprintf("%s to %s: %s, %d runs", to.instant(o.From.Time), to.instant(o.To.Time), o.Reason, o.Runs))
	}
	if p.OutagesOmitted > 0 {
		f.add("", fmt.Sprintf("and %d shorter ones", p.OutagesOmitted))
	}
	return f.print(out)
}

// missedPoints returns the points without a run, by reason.
func missedPoints(missed *client.MissedPoints) string {
	var parts []string
	for _, m := range []struct {
		reason string
		n      int64
	}{{"down", missed.Down}, {"overlap", missed.Overlap}, {"limit", missed.Limit}, {"expired", missed.Expired},
		{"next", missed.Next}} {
		if m.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m.n, m.reason))
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, ", ")
}

func latenessFigures(l *client.LatenessFigures) string {
	if l.P50 == nil || l.P99 == nil || l.P999 == nil || l.Worst == nil {
		return "-"
	}
	ms := func(value *float64) string { return strconv.FormatFloat(*value, 'f', -1, 64) + " ms" }
	return fmt.Sprintf("p50 %s, p99 %s, p99.9 %s, worst %s", ms(l.P50), ms(l.P99), ms(l.P999), ms(l.Worst))
}

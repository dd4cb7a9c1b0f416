package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/schedule"
)

type nextCommand struct {
	Words []string `arg:"" name:"when" help:"A cron expression in quotes, an interval such as 'every 5 minutes', or another time in plain words."`
	Zone  string   `placeholder:"ZONE" help:"The time zone of times without one, and of the times that are printed, such as Europe/Berlin. Default: UTC."`
	From  string   `placeholder:"TIME" help:"The time to begin at, such as 2026-01-31T09:00:00Z. Default: now."`
	Count int      `short:"n" default:"5" placeholder:"N" help:"How many times to print, from 1 to 1000."`
	JSON  bool     `name:"json" type:"switch" help:"Print JSON: words and next."`
	Quiet bool     `short:"q" type:"switch" help:"Print the times only."`
}

// maxNext is how many due times are printed at most.
const maxNext = 1000

type nextView struct {
	Words string   `json:"words"`
	Next  []string `json:"next"`
}

// Run prints the next due times of a text. It needs no service.
func (c *nextCommand) Run(env *environment) error {
	if c.Count < 1 || c.Count > maxNext {
		return failed(statusUsage, "--count must be a whole number from 1 to %d", maxNext)
	}
	zone, err := readZone(cmp.Or(c.Zone, "UTC"))
	if err != nil {
		return err
	}
	from := time.Now()
	if c.From != "" {
		if from, _, err = schedule.ParseInstantIn(c.From, zone); err != nil {
			return failed(statusUsage, "--from %w", err)
		}
	}
	timing, err := naturaltime.Parse(strings.Join(c.Words, " "), from, zone)
	if err != nil {
		return failed(statusUsage, "the time %w", err)
	}
	words, times, err := dueTimes(timing, from, c.Count)
	if err != nil {
		return err
	}
	to := env.terminal
	if c.Zone != "" {
		to.zone = zone
	}
	view := nextView{Words: words, Next: []string{}}
	for _, at := range times {
		view.Next = append(view.Next, job.FormatTime(at))
	}
	if c.JSON {
		return printJSON(env.out, view)
	}
	if !c.Quiet {
		if _, err := fmt.Fprintln(env.out, words); err != nil {
			return err
		}
	}
	for _, at := range times {
		text := to.instant(at)
		if !to.interactive && c.Zone != "" {
			text = at.In(zone).Format(time.RFC3339)
		}
		if _, err := fmt.Fprintln(env.out, text); err != nil {
			return err
		}
	}
	return nil
}

// dueTimes returns the first n due times of a job with this timing that is created
// at a time, and describes them.
func dueTimes(t naturaltime.Timing, now time.Time, n int) (words string, due []time.Time, err error) {
	first := now
	switch {
	case t.In != nil:
		wait, err := length(*t.In)
		if err != nil {
			return "", nil, err
		}
		first = now.Add(wait)
	case !t.At.IsZero():
		first = t.At
	}
	var frequency schedule.Frequency
	switch {
	case t.Cron != "":
		zone, err := schedule.LoadZone(cmp.Or(t.Zone, "UTC"))
		if err != nil {
			return "", nil, failed(statusUsage, "timezone %w", err)
		}
		cron, err := schedule.ParseCron(t.Cron, zone)
		if err != nil {
			return "", nil, failed(statusUsage, "cron %w", err)
		}
		frequency = cron
	case t.Every != nil:
		every, err := length(*t.Every)
		if err != nil {
			return "", nil, err
		}
		if every < time.Second {
			return "", nil, failed(statusUsage, "an interval must be at least a second")
		}
		frequency = schedule.Interval{Every: every}
	default:
		return "once", []time.Time{first}, nil
	}
	due = append(due, frequency.First(schedule.Later(first, now)))
	for len(due) < n {
		due = append(due, frequency.Next(due[0], due[len(due)-1]))
	}
	return schedule.Describe(frequency), due, nil
}

// length returns the length of a span of time.
func length(s naturaltime.Span) (time.Duration, error) {
	unit, ok := schedule.UnitSeconds(s.Unit)
	if !ok {
		return 0, failed(statusUsage, "%q is no unit of time", s.Unit)
	}
	micros, err := schedule.ParseAmount(s.Amount, unit)
	if err != nil || micros > job.MaxAhead.Microseconds() {
		return 0, failed(statusUsage, "%s %s is too long; at most %d days are possible", s.Amount, s.Unit, int(job.MaxAhead.Hours()/24))
	}
	return time.Duration(micros) * time.Microsecond, nil
}

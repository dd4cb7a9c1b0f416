package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/rehearse"
)

type rehearseCommand struct {
	serviceFlags
	File     []string `short:"f" sep:"none" placeholder:"PATH" help:"Rehearse the schedules of this file, or of the files of a directory, instead of the stored ones. May be repeated; - is standard input."`
	From     string   `placeholder:"TIME" help:"When to begin, such as 2027-03-27. Default: now."`
	To       string   `placeholder:"TIME" help:"When to end, which is not included. Default: a year later."`
	Outage   []string `sep:"none" placeholder:"TIME/DURATION" help:"The service is down from a time on, as in 2027-03-28T00:50:00Z/30m. May be repeated."`
	Fail     []string `sep:"none" placeholder:"KEY:SHARE" help:"The share of a schedule's attempts that fail, as in nightly:0.2. May be repeated."`
	Duration []string `sep:"none" placeholder:"KEY:DURATION" help:"How long a schedule's attempts take, as in nightly:25m. May be repeated."`
	Only     []string `name:"only" sep:"none" placeholder:"KEY" help:"Rehearse only the schedule with this key. May be repeated."`
	ICS      bool     `name:"ics" type:"switch" help:"Print an iCalendar file with the first 10,000 runs."`
}

// Run prints what schedules will do.
func (c *rehearseCommand) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	header := http.Header{}
	if c.ICS {
		header.Set("Accept", rehearse.CalendarType)
	}
	got, err := c.call(env, http.MethodPost, "/api/rehearse", body, header)
	if err != nil {
		return err
	}
	if c.ICS {
		_, err := env.out.Write(got.Body)
		return err
	}
	data, err := c.data(env, got)
	if err != nil {
		return err
	}
	if c.JSON {
		return c.print(env, data, nil)
	}
	var r client.Rehearsed
	if err := json.Unmarshal(data, &r); err != nil {
		return unreadable(err)
	}
	if c.Quiet {
		return printFindings(env.out, r.Findings)
	}
	return printRehearsed(env.out, c.terminal(env), &r)
}

// body returns the request.
func (c *rehearseCommand) body(env *environment) ([]byte, error) {
	var members []rawjson.Member
	add := func(name string, v rawjson.Value) { members = append(members, rawjson.Member{Name: name, Value: v}) }
	for name, text := range map[string]string{"from": c.From, "to": c.To} {
		if text != "" {
			add(name, instantValue(text))
		}
	}
	outages, err := c.outages()
	if err != nil {
		return nil, err
	}
	if outages != nil {
		add("outages", rawjson.Array(outages))
	}
	var shares, spans []rawjson.Member
	for _, text := range c.Fail {
		key, share, ok := cutLast(text, ":")
		if _, err := strconv.ParseFloat(share, 64); !ok || err != nil {
			return nil, failed(statusUsage, "--fail must be a key and a share from 0 to 1, as in nightly:0.2, not %q", text)
		}
		v, err := rawjson.Read([]byte(share))
		if err != nil {
			return nil, failed(statusUsage, "--fail must have a share such as 0.2, not %q", share)
		}
		shares = append(shares, rawjson.Member{Name: key, Value: v})
	}
	for _, text := range c.Duration {
		key, long, ok := cutLast(text, ":")
		span, err := parsePeriod(long)
		if !ok || err != nil {
			return nil, failed(statusUsage, "--duration must be a key and a duration, as in nightly:25m, not %q", text)
		}
		spans = append(spans, rawjson.Member{Name: key, Value: seconds(span)})
	}
	if shares != nil {
		add("fail", rawjson.Object(shares))
	}
	if spans != nil {
		add("duration", rawjson.Object(spans))
	}
	if c.Only != nil {
		var keys []rawjson.Value
		for _, key := range c.Only {
			keys = append(keys, rawjson.Quote(key))
		}
		add("keys", rawjson.Array(keys))
	}
	if c.File != nil {
		schedules, err := schedulesOf(env.in, c.File)
		if err != nil {
			return nil, err
		}
		add("schedules", rawjson.Array(schedules))
	}
	return rawjson.Object(members), nil
}

// outages reads the --outage flags.
func (c *rehearseCommand) outages() (outages []rawjson.Value, err error) {
	for _, text := range c.Outage {
		at, long, ok := cutLast(text, "/")
		span, err := parsePeriod(long)
		if !ok || err != nil {
			return nil, failed(statusUsage, "--outage must be a time and a duration, as in 2027-03-28T00:50:00Z/30m, not %q", text)
		}
		outages = append(outages, rawjson.Object([]rawjson.Member{{Name: "at", Value: instantValue(at)},
			{Name: "for", Value: seconds(span)}}))
	}
	return outages, nil
}

// schedulesOf returns the schedules of documents, whatever their owners.
func schedulesOf(in io.Reader, paths []string) ([]rawjson.Value, error) {
	var schedules []rawjson.Value
	for _, path := range paths {
		documents, err := readDocuments(in, path)
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			listed := d.get("schedules")
			if listed.Kind() != '[' {
				return nil, fmt.Errorf("%s: schedules must be an array of schedules", d.name)
			}
			for _, item := range rawjson.Elements(listed) {
				if item.Kind() == '{' {
					item = rawjson.Object(slices.DeleteFunc(rawjson.Members(item),
						func(m rawjson.Member) bool { return m.Name == "owner" }))
				}
				schedules = append(schedules, item)
			}
		}
	}
	return schedules, nil
}

// cutLast cuts text around the last separator, because keys and times may have others.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 1 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// instantValue returns a time as the API takes it: digits are unix seconds.
func instantValue(text string) rawjson.Value {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		if v, err := rawjson.Read([]byte(text)); err == nil {
			return v
		}
	}
	return rawjson.Quote(text)
}

func seconds(d time.Duration) rawjson.Value {
	return rawjson.Value(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
}

// printRehearsed prints the schedules as a table, then the busiest minutes and the
// findings.
func printRehearsed(out io.Writer, to terminal, r *client.Rehearsed) error {
	t := &table{columns: []column{
		{title: "KEY", shrink: true}, {title: "RUNS"}, {title: "FAILED"}, {title: "EXPIRED"}, {title: "LATE"}, {title: "SKIPPED"},
		{title: "OVERLAPS"},
		{title: "LIMITED"}, {title: "CLOCK"}, {title: "FIRST RUN"}, {title: "ENDS"},
	}}
	for _, s := range r.Schedules {
		first, ends := "-", ""
		if len(s.First) > 0 {
			first = to.instant(s.First[0].Time)
		}
		if s.Ends != nil {
			ends = to.instant(s.Ends.At.Time) + " (" + s.Ends.Reason + ")"
		}
		if s.Disabled {
			ends = "disabled"
		}
		t.add(keyOrID(s.Key, s.ID), number(s.Runs), number(s.Failed), number(s.Expired), number(s.Late), number(s.Skipped),
			number(s.Overlaps),
			limitedText(s.Limited), strconv.Itoa(len(s.Clock)), first, ends)
	}
	if err := t.print(out, to); err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	_, _ = fmt.Fprintf(w, "\nFrom %s to %s.\n", to.instant(r.From.Time), to.instant(r.To.Time))
	if r.Cut != nil {
		_, _ = fmt.Fprintf(w, "Cut at %s (%s): the counts are complete up to there only. Rehearse a shorter time or fewer schedules.\n",
			to.instant(r.Cut.At.Time), printable(r.Cut.Reason))
	}
	if len(r.Busiest) > 0 {
		_, _ = fmt.Fprintf(w, "Busiest minute: %s, %s.\n", to.instant(r.Busiest[0].At.Time), counted(int(r.Busiest[0].Runs), "run", "runs"))
	}
	if len(r.Findings) > 0 {
		_, _ = fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return printFindings(out, r.Findings)
}

func keyOrID(key, id *string) string {
	switch {
	case key != nil:
		return *key
	case id != nil:
		return *id
	}
	return "-"
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func limitedText(l client.Limited) string {
	if l.Count == 0 {
		return "0"
	}
	return number(l.Count) + ", up to " + (time.Duration(l.LongestMS) * time.Millisecond).String()
}

// printFindings prints a finding a line: key: sentence (code).
func printFindings(out io.Writer, findings []client.Finding) error {
	w := bufio.NewWriter(out)
	for _, f := range findings {
		key := "all schedules"
		if f.Key != nil {
			key = *f.Key
		}
		_, _ = fmt.Fprintf(w, "%s: %s [%s]\n", printable(key), printable(f.Message), printable(f.Code))
	}
	return w.Flush()
}

// printComparison prints how a change changes the runs of schedules.
func printComparison(out io.Writer, to terminal, c *client.Comparison) error {
	t := &table{columns: []column{
		{title: "KEY", shrink: true}, {title: "RESULT"}, {title: "RUNS BEFORE"}, {title: "AFTER"}, {title: "ADDED"}, {title: "DROPPED"},
		{title: "MOVED"},
		{title: "FIRST DIFFERENCE"},
	}}
	runs := func(s *client.RehearsedSchedule) string {
		switch {
		case s == nil:
			return "-"
		case s.Disabled:
			return "disabled"
		}
		return number(s.Runs)
	}
	moment := func(at *client.Time) string {
		if at == nil {
			return "none"
		}
		return to.instant(at.Time)
	}
	for _, s := range c.Schedules {
		first := "none"
		if d := s.Difference.First; d != nil {
			first = moment(d.Before) + " -> " + moment(d.After)
		}
		t.add(keyOrID(s.Key, nil), s.Result, runs(s.Before), runs(s.After), number(s.Difference.Added), number(s.Difference.Dropped),
			number(s.Difference.Moved), first)
	}
	if err := t.print(out, to); err != nil {
		return err
	}
	end := ""
	if c.Cut != nil {
		end = fmt.Sprintf(" Cut at %s (%s).", to.instant(c.Cut.At.Time), printable(c.Cut.Reason))
	}
	if _, err := fmt.Fprintf(out, "\nFrom %s to %s.%s Nothing was applied.\n", to.instant(c.From.Time), to.instant(c.To.Time),
		end); err != nil {
		return err
	}
	return printFindings(out, c.Findings)
}

// rehearse prints how applying documents would change the runs of their schedules.
func (c *applyCommand) rehearse(env *environment, documents []document) error {
	var all []rawjson.Value
	for i := range documents {
		body := c.withFlags(&documents[i], false)
		got, err := c.call(env, http.MethodPost, "/api/apply", rawjson.Object(body.members), http.Header{"Prefer": {"rehearse"}})
		if err != nil {
			return fmt.Errorf("%s: %w", documents[i].name, err)
		}
		data, err := c.data(env, got)
		if err != nil {
			return err
		}
		if c.JSON {
			all = append(all, data)
			continue
		}
		var comparison client.Comparison
		if err := json.Unmarshal(data, &comparison); err != nil {
			return unreadable(err)
		}
		if err := printComparison(env.out, c.terminal(env), &comparison); err != nil {
			return err
		}
	}
	if c.JSON {
		return c.print(env, rawjson.Array(all), nil)
	}
	return nil
}

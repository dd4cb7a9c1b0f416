package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/schedule"
)

type schedulesCommand struct {
	Create      schedulesCreate      `cmd:"" help:"Create a schedule."`
	List        schedulesList        `cmd:"" help:"List schedules, newest first."`
	Show        schedulesShow        `cmd:"" help:"Show a schedule with its next due times and its last runs."`
	Punctuality schedulesPunctuality `cmd:"" help:"Report how punctual a schedule was in a month."`
	Edit        schedulesEdit        `cmd:"" help:"Change fields of a schedule; its pending run takes them over."`
	Run         schedulesRun         `cmd:"" help:"Run a schedule now; its grid stays."`
	Enable      schedulesEnable      `cmd:"" help:"Let a disabled schedule run again."`
	Disable     schedulesDisable     `cmd:"" help:"Stop a schedule until it is enabled; its pending run is cancelled."`
	Mute        schedulesMute        `cmd:"" help:"Keep alerts from sending the failures of a schedule, which goes on running."`
	Unmute      schedulesUnmute      `cmd:"" help:"Let alerts send the failures of a schedule again."`
	Delete      schedulesDelete      `cmd:"" help:"Delete a schedule. The jobs that it created stay."`
}

func scheduleRecordID(s *client.ScheduleRecord) string { return s.ID }

func scheduleState(s *client.ScheduleRecord) string {
	if s.DisabledAt != nil {
		return "disabled"
	}
	return "enabled"
}

// frequency returns how often a schedule runs, in a few words.
func frequency(f client.Frequency) string {
	if f.Cron != "" {
		return strings.TrimSpace(f.Cron + " " + f.Timezone)
	}
	return schedule.Describe(schedule.Interval{Every: time.Duration(f.RepeatEvery)})
}

func schedulePath(id string) string { return "/api/schedules/" + url.PathEscape(id) }

// scheduleID returns the id of a schedule that an argument names: an id, or key:KEY.
func (c *serviceFlags) scheduleID(env *environment, text string) (string, error) {
	if !strings.HasPrefix(text, "key:") {
		return text, nil
	}
	record, err := c.record(env, http.MethodGet, schedulePath(text), nil)
	if err != nil {
		return "", err
	}
	s, err := decoded[client.ScheduleRecord](record)
	return s.ID, err
}

type schedulesCreate struct {
	serviceFlags
	requestFlags
	Cron  string `placeholder:"EXPRESSION" help:"Run by a cron expression, such as '0 9 * * MON-FRI'."`
	Every string `placeholder:"DURATION" help:"Run at this interval, such as '5 minutes'."`
	whenFlags
}

// Run creates a schedule.
func (c *schedulesCreate) Run(env *environment) error {
	timing, err := c.grid()
	if err != nil {
		return err
	}
	members, err := c.fields(env, timing)
	if err != nil {
		return err
	}
	if !hasField(members, "cron") && !hasField(members, "repeat_every") {
		return failed(statusUsage, "say how often it runs: --every '5 minutes', --cron '0 9 * * *', or --when 'every weekday at 9:00'")
	}
	record, repeated, err := c.create(env, rawjson.Object(members))
	id := func(j *client.JobRecord) string { return orNothing(j.ScheduleID) }
	return printOne(&c.displayFlags, env, record, err, id, func(j *client.JobRecord) error {
		text := "schedule %s is created; its first run is job %d, due %s"
		if j.Job.HasConflict {
			text = "schedule %s already holds this key; nothing was created. Its run is job %d, due %s"
			if repeated {
				text = "schedule %s exists; an earlier try of this command may have created it. Its run is job %d, due %s"
			}
		}
		return c.say(env, text, printable(orNothing(j.ScheduleID)), j.JobID, c.terminal(env).moment(j.Job.ScheduledAt))
	})
}

// grid returns the fields that say when the schedule runs.
func (c *schedulesCreate) grid() ([]rawjson.Member, error) {
	given := 0
	for _, text := range []string{c.Cron, c.Every, c.When} {
		if text != "" {
			given++
		}
	}
	if given > 1 {
		return nil, failed(statusUsage, "give one of --every, --cron and --when")
	}
	zone, err := readZone(c.Zone)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Every != "":
		return []rawjson.Member{{Name: "repeat_every", Value: setValue("repeat_every", c.Every)}}, nil
	case c.Cron != "":
		members := []rawjson.Member{{Name: "cron", Value: rawjson.Quote(c.Cron)}}
		if zone != time.UTC {
			members = append(members, rawjson.Member{Name: "timezone", Value: rawjson.Quote(c.Zone)})
		}
		return members, nil
	}
	timing, err := c.timing()
	if err == nil && c.When != "" && !hasField(timing, "cron") && !hasField(timing, "repeat_every") {
		return nil, failed(statusUsage, "--when %q is one time; punctual jobs create makes a job for it", c.When)
	}
	return timing, err
}

type schedulesList struct {
	serviceFlags
	filterFlags
	listFlags
}

// Run lists schedules.
func (c *schedulesList) Run(env *environment) error {
	query, err := c.values(env, &c.serviceFlags)
	if err != nil {
		return err
	}
	query.Set("include", "next_run_at")
	records, err := c.list(env, "/api/schedules", query, c.Limit)
	columns := []column{{title: "ID"}, stateColumn("STATE"), {title: "NEXT RUN"}, {title: "RUNS", shrink: true},
		{title: "REQUEST", shrink: true}, {title: "NAME", shrink: true}}
	return listing[client.ListedSchedule]{
		id:      func(s *client.ListedSchedule) string { return s.ID },
		none:    "there are no such schedules; create one with punctual schedules create",
		columns: columns,
		row: func(to terminal, s *client.ListedSchedule) []string {
			return []string{s.ID, scheduleState(&s.ScheduleRecord), to.momentOrDash(s.NextRunAt), frequency(s.Frequency),
				requestOf(s.Args).String(), orDash(s.Name)}
		},
	}.print(&c.displayFlags, env, records, err)
}

type schedulesShow struct {
	serviceFlags
	ID string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
}

// Run shows a schedule. As JSON it is the schedule's details.
func (c *schedulesShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, schedulePath(c.ID)+"/details?include=mute", nil)
	return printOne(&c.displayFlags, env, record, err, func(d *client.ScheduleDetails) string { return d.Schedule.ID },
		func(d *client.ScheduleDetails) error {
			runs, err := c.lastRuns(env, d.Schedule.ID)
			if err != nil {
				return err
			}
			return printSchedule(env.out, c.terminal(env), d, runs)
		})
}

// lastRuns returns the latest runs of a schedule, newest first.
func (c *schedulesShow) lastRuns(env *environment, id string) ([]client.JobRecord, error) {
	query := url.Values{"schedule_id": {id}, "limit": {"20"}}
	records, err := c.record(env, http.MethodGet, "/api/jobs?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	return decoded[[]client.JobRecord](records)
}

// runMarks stand for runs in a strip. A run that waits for its first attempt has none.
var runMarks = map[string]string{"completed": "✓", "discarded": "✗", "retryable": "↻", "executing": "▸", "cancelled": "–"}

// strip shows runs in a line, the oldest first: "✓✓✗✓, 1 of 4 failed".
func strip(runs []client.JobRecord, to terminal) string {
	var line strings.Builder
	shown, failures := 0, 0
	for i := range runs {
		state := runs[len(runs)-1-i].Job.State
		if runMarks[state] == "" {
			continue
		}
		shown++
		if state == "discarded" || state == "retryable" {
			failures++
		}
		line.WriteString(to.paint(stateColours[state], runMarks[state]))
	}
	if shown == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %d of %d failed", line.String(), failures, shown)
}

func printSchedule(out io.Writer, to terminal, d *client.ScheduleDetails, runs []client.JobRecord) error {
	f, s := facts{to: to}, &d.Schedule
	request := requestOf(s.Args)
	f.add("schedule", s.ID)
	f.add("name", orNothing(s.Name))
	f.add("description", orNothing(s.Description))
	f.painted("state", to.state(scheduleState(s)))
	f.add("runs", frequency(s.Frequency))
	f.add("request", request.String())
	f.add("tags", strings.Join(request.Tags, ", "))
	f.add("created", to.moment(s.InsertedAt))
	if s.DisabledAt != nil {
		f.add("disabled", to.moment(*s.DisabledAt))
	}
	f.add("revision", strconv.FormatInt(d.Revision, 10))
	if d.RunsLeft != nil {
		f.add("runs left", strconv.FormatInt(*d.RunsLeft, 10))
	}
	for i, at := range d.Next {
		name := ""
		if i == 0 {
			name = "next"
		}
		f.add(name, to.moment(at))
	}
	if d.LastRun != nil {
		f.painted("last run", "job "+jobNumber(d.LastRun)+", due "+to.moment(d.LastRun.Job.ScheduledAt)+", "+to.state(d.LastRun.Job.State))
	}
	if line := strip(runs, to); line != "" {
		f.painted("last runs", line)
	}
	if d.FailuresInARow > 0 {
		f.painted("failures", to.paint(red, fmt.Sprintf("%d in a row", d.FailuresInARow)))
	}
	if d.Mute != nil {
		f.add("muted", muteEnd(d.Mute, to))
		f.add("note", orNothing(d.Mute.Note))
	}
	return f.print(out)
}

type schedulesEdit struct {
	serviceFlags
	editFlags
	ID       string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
	Revision int64  `placeholder:"N" help:"Change nothing unless the schedule has this revision."`
}

// Run changes a schedule.
func (c *schedulesEdit) Run(env *environment) error {
	body, err := c.body(env)
	if err != nil {
		return err
	}
	record, err := c.edited(env, schedulePath(c.ID), body, c.Revision)
	return printOne(&c.displayFlags, env, record, err, scheduleRecordID, func(s *client.ScheduleRecord) error {
		return c.say(env, "schedule %s is changed; frequency: %s", printable(s.ID), printable(frequency(s.Frequency)))
	})
}

type schedulesRun struct {
	serviceFlags
	waitFlags
	ID string `arg:"" name:"id" help:"The schedule's id, or key:KEY."`
}

// Run makes a run of a schedule due now.
func (c *schedulesRun) Run(env *environment) error {
	record, err := c.record(env, http.MethodPost, schedulePath(c.ID)+"/run", nil)
	return c.started(env, record, err, &c.waitFlags, c.due(env))
}

type schedulesEnable struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The schedules' ids, or key:KEY."`
}

// Run enables schedules.
func (c *schedulesEnable) Run(env *environment) error { return c.change(env, c.IDs, "enable") }

type schedulesDisable struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The schedules' ids, or key:KEY."`
}

// Run disables schedules.
func (c *schedulesDisable) Run(env *environment) error { return c.change(env, c.IDs, "disable") }

// change enables or disables as many of the schedules as possible.
func (c *serviceFlags) change(env *environment, ids []string, how string) error {
	var failures error
	for _, id := range ids {
		record, err := c.record(env, http.MethodPost, schedulePath(id)+"/"+how, nil)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("schedule %s: %w", printable(id), err))
			continue
		}
		err = printOne(&c.displayFlags, env, record, nil, scheduleRecordID, func(s *client.ScheduleRecord) error {
			return c.say(env, "schedule %s is %s", printable(s.ID), scheduleState(s))
		})
		failures = errors.Join(failures, err)
	}
	return failures
}

type schedulesDelete struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The schedules' ids, or key:KEY."`
}

// Run deletes as many of the schedules as possible.
func (c *schedulesDelete) Run(env *environment) error {
	return c.deleteAll(env, "schedule", c.IDs, schedulePath)
}

// deleteAll deletes as many records of a kind as possible.
func (c *serviceFlags) deleteAll(env *environment, kind string, names []string, path func(string) string) error {
	return c.endAll(env, kind, "deleted", names, path)
}

// endAll sends DELETE for as many records of a kind as possible; done says what they are
// then.
func (c *serviceFlags) endAll(env *environment, kind, done string, names []string, path func(string) string) error {
	var failures error
	for _, name := range names {
		if _, err := c.call(env, http.MethodDelete, path(name), nil, nil); err != nil {
			failures = errors.Join(failures, fmt.Errorf("%s %s: %w", kind, printable(name), err))
			continue
		}
		if !c.JSON {
			failures = errors.Join(failures, c.say(env, "%s %s is %s", kind, printable(name), done))
		}
	}
	return failures
}

// setValue returns the value that text stands for in a field.
func setValue(name, text string) rawjson.Value {
	if f := job.FieldNamed(name); f != nil && f.Kind != job.AnyValue {
		if v := typedValue(f, text); v != nil {
			return v
		}
	}
	return jsonOrText(text)
}

package cli

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/punctual-dev/punctual/client"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/naturaltime"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// muteEnd says until when the schedule is muted.
func muteEnd(m *client.Mute, to terminal) string {
	switch {
	case m.Until == nil:
		return "until it is unmuted"
	case *m.Until == client.UntilRecovered:
		return "until it succeeds"
	}
	until, err := time.Parse(time.RFC3339Nano, *m.Until)
	if err != nil {
		return "until " + *m.Until
	}
	return "until " + to.moment(client.Time{Time: until})
}

type schedulesMute struct {
	serviceFlags
	IDs   []string `arg:"" name:"id" help:"The schedules' ids, or key:KEY."`
	Until string   `placeholder:"WORDS" help:"When the mute ends: recovered for the next success, or a time in plain words, such as in 2 hours or tomorrow at 9:00. Default: when you unmute it."`
	Zone  string   `default:"UTC" placeholder:"ZONE" help:"The time zone of --until, such as Europe/Berlin."`
	Note  string   `placeholder:"TEXT" help:"Why, up to 500 characters."`
}

// Run mutes as many of the schedules as possible.
func (c *schedulesMute) Run(env *environment) error {
	body, err := c.body(time.Now())
	if err != nil {
		return err
	}
	var failures error
	for _, id := range c.IDs {
		record, err := c.record(env, http.MethodPut, schedulePath(id)+"/mute", body)
		if err != nil {
			failures = errors.Join(failures, fmt.Errorf("schedule %s: %w", printable(id), err))
			continue
		}
		name := func(*client.Mute) string { return id }
		failures = errors.Join(failures, printOne(&c.displayFlags, env, record, nil, name, func(m *client.Mute) error {
			return c.say(env, "schedule %s is muted %s", printable(id), printable(muteEnd(m, c.terminal(env))))
		}))
	}
	return failures
}

// body returns the body of the request at a time.
func (c *schedulesMute) body(now time.Time) (rawjson.Value, error) {
	var members []rawjson.Member
	switch c.Until {
	case "":
	case job.UntilRecovered:
		members = append(members, rawjson.Member{Name: "until", Value: rawjson.Quote(c.Until)})
	default:
		until, err := c.time(now)
		if err != nil {
			return nil, err
		}
		members = append(members, rawjson.Member{Name: "until", Value: rawjson.Quote(job.FormatTime(until))})
	}
	if c.Note != "" {
		members = append(members, rawjson.Member{Name: "note", Value: rawjson.Quote(c.Note)})
	}
	return rawjson.Object(members), nil
}

// time reads --until as a time.
func (c *schedulesMute) time(now time.Time) (time.Time, error) {
	zone, err := readZone(c.Zone)
	if err != nil {
		return time.Time{}, err
	}
	timing, err := naturaltime.Parse(c.Until, now, zone)
	if err != nil {
		return time.Time{}, failed(statusUsage, "--until %w", err)
	}
	until, once := timing.Once(now)
	if !once {
		return time.Time{}, failed(statusUsage, "--until %q is a recurrence; give one time", c.Until)
	}
	return until, nil
}

type schedulesUnmute struct {
	serviceFlags
	IDs []string `arg:"" name:"id" help:"The schedules' ids, or key:KEY."`
}

// Run unmutes as many of the schedules as possible.
func (c *schedulesUnmute) Run(env *environment) error {
	return c.endAll(env, "schedule", "unmuted", c.IDs, func(id string) string { return schedulePath(id) + "/mute" })
}

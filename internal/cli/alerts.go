package cli

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

type alertsCommand struct {
	List   alertsList   `cmd:"" help:"List alerts."`
	Show   alertsShow   `cmd:"" help:"Print the definition of an alert."`
	Set    alertsSet    `cmd:"" help:"Define or replace an alert."`
	Test   alertsTest   `cmd:"" help:"Send a message to each receiver of an alert now, and show what they said."`
	Delete alertsDelete `cmd:"" help:"Delete alerts."`
}

// alertView is the part of an alert that is shown.
type alertView struct {
	Name string              `json:"name"`
	On   []string            `json:"on"`
	To   []map[string]string `json:"to"`
}

func (a *alertView) id() string { return a.Name }

// receivers names the receivers of an alert.
func (a *alertView) receivers() string {
	var all []string
	for _, to := range a.To {
		all = append(all, receiver(to))
	}
	return strings.Join(all, ", ")
}

func receiver(to map[string]string) string {
	for _, kind := range notify.ChannelNames() {
		if to[kind] != "" {
			return kind + " " + to[kind]
		}
	}
	return ""
}

func alertPath(name string) string { return "/api/alerts/" + url.PathEscape(name) }

type alertsList struct {
	serviceFlags
	listFlags
}

// Run lists alerts.
func (c *alertsList) Run(env *environment) error {
	records, err := c.list(env, "/api/alerts", url.Values{}, c.Limit)
	columns := []column{{title: "NAME"}, {title: "ON"}, {title: "TO", shrink: true}}
	return listing[alertView]{
		id:      (*alertView).id,
		none:    "there are no alerts; define one with punctual alerts set",
		columns: columns,
		row: func(_ terminal, a *alertView) []string {
			return []string{a.Name, strings.Join(a.On, ", "), a.receivers()}
		},
	}.print(&c.displayFlags, env, records, err)
}

type alertsShow struct {
	serviceFlags
	Name string `arg:"" help:"The alert's name."`
}

// Run prints an alert as JSON, which alerts set reads.
func (c *alertsShow) Run(env *environment) error {
	record, err := c.record(env, http.MethodGet, alertPath(c.Name), nil)
	return printOne(&c.displayFlags, env, record, err, (*alertView).id, func(*alertView) error { return c.print(env, record, nil) })
}

type alertsSet struct {
	serviceFlags
	Name        string       `arg:"" help:"The alert's name."`
	File        string       `short:"f" placeholder:"FILE" help:"A JSON or YAML file with fields of the API; - for standard input. Other flags replace its fields."`
	On          []string     `placeholder:"WHAT" help:"What to report: failed, recovered, late, skipped or ended; several with commas."`
	After       string       `placeholder:"N" help:"How many failures in a row are reported. Default: 1."`
	LateBy      string       `placeholder:"DURATION" help:"How late a job is before it is reported, such as '5 minutes'. Default: a minute."`
	Tag         []string     `sep:"none" placeholder:"TAG" help:"Watch only jobs with this tag; may be repeated."`
	Schedule    string       `placeholder:"ID" help:"Watch only runs of this schedule: its id, or key:KEY."`
	To          kong.Plugins `embed:""` // of newReceiverFlags
	RemindEvery string       `placeholder:"DURATION" help:"Send the message again while it lasts, such as '6 hours'."`
}

// Run defines an alert.
func (c *alertsSet) Run(env *environment) error {
	members, err := readFields(env, c.File)
	if err != nil {
		return err
	}
	// What alerts show prints has fields that are not part of the definition.
	members = withoutFields(members, "name", "inserted_at", "updated_at")
	if members, err = c.fields(env, members); err != nil {
		return err
	}
	record, err := c.record(env, http.MethodPut, alertPath(c.Name), rawjson.Object(members))
	return printOne(&c.displayFlags, env, record, err, (*alertView).id, func(a *alertView) error {
		return c.say(env, "alert %s reports %s to %s", printable(a.Name), printable(strings.Join(a.On, ", ")), printable(a.receivers()))
	})
}

// fields sets the fields that flags give.
func (c *alertsSet) fields(env *environment, members []rawjson.Member) ([]rawjson.Member, error) {
	if len(c.On) > 0 {
		members = setField(members, "on", quotedList(c.On))
	}
	for name, text := range map[string]string{"late_by": c.LateBy, "remind_every": c.RemindEvery} {
		if text != "" {
			members = setField(members, name, setValue("expires_in", text)) // a duration too
		}
	}
	if c.After != "" {
		members = setField(members, "after", jsonOrText(c.After))
	}
	schedule, err := c.scheduleID(env, c.Schedule)
	if err != nil {
		return nil, err
	}
	var match []rawjson.Member
	if len(c.Tag) > 0 {
		match = append(match, rawjson.Member{Name: "tags", Value: quotedList(c.Tag)})
	}
	if schedule != "" {
		match = append(match, rawjson.Member{Name: "schedule_id", Value: rawjson.Quote(schedule)})
	}
	if match != nil {
		members = setField(members, "match", rawjson.Object(match))
	}
	if to := c.receivers(); to != nil {
		members = setField(members, "to", rawjson.Array(to))
	}
	return members, nil
}

// newReceiverFlags returns a flag for each channel.
func newReceiverFlags() kong.Plugins {
	var flags []tableFlag
	for _, c := range notify.Channels {
		flags = append(flags, tableFlag{c.Name, c.Name, c.Placeholder, c.Help, true})
	}
	return tableFlags[string](flags)
}

// receivers returns the receivers that flags give.
func (c *alertsSet) receivers() (to []rawjson.Value) {
	for channel, target := range tableValues[string](c.To) {
		to = append(to, rawjson.Object([]rawjson.Member{{Name: channel, Value: rawjson.Quote(target)}}))
	}
	return to
}

type alertsTest struct {
	serviceFlags
	Name string `arg:"" help:"The alert's name."`
}

type alertTestView struct {
	Results []struct {
		To       map[string]string `json:"to"`
		Status   *int              `json:"status"`
		Response *string           `json:"response"`
		Error    *struct {
			Kind    string `json:"kind"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"results"`
}

// Run sends a test message. It fails unless all receivers took it.
func (c *alertsTest) Run(env *environment) error {
	record, err := c.record(env, http.MethodPost, alertPath(c.Name)+"/test", nil)
	if err != nil {
		return err
	}
	v, err := decoded[alertTestView](record)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := c.print(env, record, nil); err != nil {
			return err
		}
	}
	refused := 0
	t := table{columns: []column{{title: "TO", shrink: true}, {title: "RESULT", shrink: true}}}
	for _, r := range v.Results {
		result := "sent"
		if r.Status != nil {
			result = strconv.Itoa(*r.Status)
		}
		if r.Error != nil {
			refused++
			result = r.Error.Kind + ": " + r.Error.Message
		}
		t.add(receiver(r.To), result)
	}
	if !c.JSON && !c.Quiet {
		if err := t.print(env.out, c.terminal(env)); err != nil {
			return err
		}
	}
	if refused > 0 {
		return fmt.Errorf("%d of %s did not take the message", refused, counted(len(v.Results), "receiver", "receivers"))
	}
	return nil
}

type alertsDelete struct {
	serviceFlags
	Names []string `arg:"" name:"name" help:"The alerts' names."`
}

// Run deletes alerts.
func (c *alertsDelete) Run(env *environment) error {
	return c.deleteAll(env, "alert", c.Names, alertPath)
}

package view

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Alerts is the page of an account's alerts.
type Alerts struct {
	Alerts []Alert // by name
	Notice string
	// ReadOnly reports that the person can't change alerts.
	ReadOnly bool
	// Open has the page show the form beside alerts: for a new one, or for one of them.
	Open bool
	Form Refusal // what the form for an alert shows
	// Tested is the alert that was tested, "" for none, and Results what its receivers said.
	Tested  string
	Results []AlertResult
	// Notices are a page of what alerts have sent, the latest first; Newest and Older
	// lead to other pages, "" if there are none.
	Notices       []AlertNotice
	Newest, Older string
	// Unsendable says why an e-mail address gets no e-mails; "" if it does.
	Unsendable func(address string) string
}

// Alert is an alert.
type Alert struct {
	Name       string
	Definition rawjson.Value // with all members
	UpdatedAt  time.Time
	// Failing is how many schedules it has reported as failing that have not recovered, and
	// OneOff reports that it has reported one-off jobs.
	Failing int
	OneOff  bool
	SentAt  time.Time // when it last sent a message; zero if it has not
}

// AlertNotice is a message that an alert has sent.
type AlertNotice struct {
	Alert string
	At    time.Time
	Type  string // as in notify.Message
	// Schedule is what it is about, uuid.Nil for one-off jobs, with its Title: "" if it was
	// deleted.
	Schedule uuid.UUID
	Title    string
	Job      int64    // 0 for none
	Failures int      // in a row
	To       []string // the receivers as lists show them: the first of them
	Messages int      // all receivers
	Left     int      // e-mails that the limit of the account has left out
	// Results are what became of messages to receivers.
	Results []AlertAnswer
	// Queued reports that it is known how many of its deliveries are Waiting, how many
	// Attempts the next of these has had, and when it is due.
	Queued            bool
	Waiting, Attempts int
	Next              time.Time
}

// AlertAnswer is what became of the message to one receiver.
type AlertAnswer struct {
	Place   int    // of the receiver, counted from 0
	Status  int    // of the last response; 0 for none
	Error   string // why there was none
	GivenUp int    // after how many attempts; 0 if it was accepted
}

// noticeLooks are the badges of messages by type.
var noticeLooks = map[string][3]string{
	notify.Failed: {"bad", "cross", "Failed"}, notify.Recovered: {"good", "check", "Recovered"}, notify.Late: {"warn", "clock", "Late"},
	notify.Skipped: {"warn", "minus", "Skipped"}, notify.Ended: {"calm", "minus", "Ended"}, notify.Merged: {"warn", "bell", "Several"},
}

// waiting says how many deliveries of a message wait; "" for none.
func (n *AlertNotice) waiting() string {
	switch n.Waiting {
	case 0:
		return ""
	case n.Messages:
		return "still trying"
	}
	return strconv.Itoa(n.Waiting) + " of " + strconv.Itoa(n.Messages) + " still trying"
}

// result is what became of some of the messages of a notice.
type result struct {
	kind, icon, text string
	why              string // "" for what was accepted
}

// results returns what became of the messages: those that were accepted together, then
// each that was given up.
func (n *AlertNotice) results() []result {
	var all []result
	var statuses []string
	accepted := 0
	for _, r := range n.Results {
		if r.GivenUp == 0 {
			accepted++
			if status := strconv.Itoa(r.Status); r.Status > 0 && !slices.Contains(statuses, status) {
				statuses = append(statuses, status)
			}
		}
	}
	if accepted > 0 {
		text := "accepted"
		if n.Messages > 1 {
			text = strconv.Itoa(accepted) + " of " + strconv.Itoa(n.Messages) + " accepted"
		}
		all = append(all, result{kind: "good", icon: "check", text: text, why: strings.Join(statuses, ", ")})
	}
	for _, r := range n.Results {
		if r.GivenUp == 0 {
			continue
		}
		why := "no response"
		if r.Status > 0 {
			why = "HTTP " + strconv.Itoa(r.Status)
		} else if r.Error != "" {
			why = strings.ReplaceAll(string(r.Error), "_", " ")
		}
		why += " after " + ui.Plural(r.GivenUp, "attempt", "attempts")
		// The names of receivers that were removed since are left out, and the places moved.
		if n.Messages > 1 && r.Place < len(n.To) && len(n.To) == min(n.Messages, 3) {
			why = n.To[r.Place] + ": " + why
		}
		all = append(all, result{kind: "bad", icon: "cross", text: "given up", why: why})
	}
	return all
}

// receivers says whom a message was for.
func (n *AlertNotice) receivers() string {
	text := strings.Join(n.To, ", ")
	switch others := n.Messages - len(n.To); {
	case others > 0 && len(n.To) > 0:
		text += " and " + strconv.Itoa(others) + " more"
	case others > 0:
		text = ui.Plural(others, "receiver", "receivers")
	}
	if n.Left > 0 {
		text = strings.TrimPrefix(text+"; ", "; ") + ui.Plural(n.Left, "e-mail", "e-mails") + " over the limit of the hour not sent"
	}
	return text
}

// open says what the alert has reported that lasts; "" for nothing.
func (a *Alert) open() string {
	var words []string
	if a.Failing > 0 {
		words = append(words, ui.Plural(a.Failing, "schedule", "schedules"))
	}
	if a.OneOff {
		words = append(words, "one-off jobs")
	}
	if len(words) == 0 {
		return ""
	}
	return "open for " + strings.Join(words, " and ")
}

// AlertResult is what a receiver said to a test.
type AlertResult struct {
	Target, Text string
	Status       int // 0 without a response
	Failed       bool
	Took         time.Duration
}

var alertSignals = []ui.Choice{
	{Value: "failed", Label: "Failed: runs failed, one or several in a row"},
	{Value: "recovered", Label: "Recovered: the first success after that"},
	{Value: "late", Label: "Late: a job has not started in time"},
	{Value: "skipped", Label: "Skipped: a schedule passed over due times"},
	{Value: "ended", Label: "Ended: a schedule has no further runs"},
}

// receivers returns the receivers of a kind.
func (a *Alert) receivers(kind string) []string {
	var targets []string
	for _, to := range rawjson.Elements(rawjson.Get(a.Definition, "to")) {
		if v := rawjson.Get(to, kind); v != nil {
			targets = append(targets, rawjson.Text(v))
		}
	}
	return targets
}

// texts returns the strings of a list.
func texts(list rawjson.Value) []string {
	var all []string
	for _, e := range rawjson.Elements(list) {
		all = append(all, rawjson.Text(e))
	}
	return all
}

// Values returns the texts of the form for an alert. Those who can't save it see of
// receivers what the list shows: addresses of webhooks may be credentials.
func (d *Alerts) Values(a *Alert) url.Values {
	duration := job.Field{Kind: job.DurationValue}
	text := func(name string) string {
		v := rawjson.Get(a.Definition, name)
		if len(v) == 0 || rawjson.IsNull(v) {
			return ""
		}
		return duration.Text(v)
	}
	match := rawjson.Get(a.Definition, "match")
	values := url.Values{
		"name": {a.Name}, "on": texts(rawjson.Get(a.Definition, "on")), "after": {text("after")}, "late_by": {text("late_by")},
		"remind_every": {text("remind_every")},
		"tags":         {strings.Join(texts(rawjson.Get(match, "tags")), " ")},
		"schedule_id":  {rawjson.Text(rawjson.Get(match, "schedule_id"))},
	}
	for _, kind := range notify.ChannelNames() {
		receivers := a.receivers(kind)
		if d.ReadOnly {
			receivers = a.shown(notify.ChannelNamed(kind))
		}
		values.Set(kind, strings.Join(receivers, "\n"))
	}
	return values
}

// on says what the alert reports.
func (a *Alert) on() string { return strings.Join(texts(rawjson.Get(a.Definition, "on")), ", ") }

// watched says which jobs the alert watches.
func (a *Alert) watched() string {
	match := rawjson.Get(a.Definition, "match")
	var words []string
	if tags := texts(rawjson.Get(match, "tags")); len(tags) > 0 {
		words = append(words, "tagged "+strings.Join(tags, " and "))
	}
	if id := rawjson.Text(rawjson.Get(match, "schedule_id")); id != "" {
		words = append(words, "of schedule "+id[:min(8, len(id))])
	}
	if len(words) == 0 {
		return "all jobs"
	}
	return "jobs " + strings.Join(words, ", ")
}

// receiverSummary returns whom the alert is sent to. The address of a webhook may be a
// credential, so only its host is shown.
func (a *Alert) receiverSummary() string {
	var words []string
	for _, channel := range notify.Channels {
		words = append(words, a.shown(channel)...)
	}
	return strings.Join(words, ", ")
}

// shown returns the receivers of a channel as lists show them.
func (a *Alert) shown(channel *notify.Channel) (all []string) {
	for _, text := range a.receivers(channel.Name) {
		all = append(all, channel.Shown(channel.TargetOf(text)))
	}
	return all
}

// pending returns the e-mail addresses that get no e-mails of an alert, each with the
// reason.
func (d *Alerts) pending(a *Alert) (all []string) {
	for _, address := range a.receivers("email") {
		if note := d.Unsendable(address); note != "" {
			all = append(all, address+": "+note)
		}
	}
	return all
}

// formOpen reports whether the page shows the form.
func (d *Alerts) formOpen() bool { return d.Open || d.Form.Err != nil || len(d.Alerts) == 0 }

// isOn reports whether the form has a signal.
func (d *Alerts) isOn(signal string) bool { return slices.Contains(d.Form.Values["on"], signal) }

// input returns an input of the form.
func (d *Alerts) input(name, label, pointer, hint string) ui.Input {
	return ui.Input{Name: name, Label: label, Hint: hint, Value: d.Form.entered("alert", name), Error: d.Form.at("alert", pointer)}
}

// receiverInput returns the input for the receivers of a channel.
func (d *Alerts) receiverInput(channel *notify.Channel) ui.Input {
	kind := channel.Name
	i := d.input(kind, channel.Label, "#/to/"+kind, channel.Hint)
	i.Rows, i.Mono = 2, true
	first := 0
	for _, k := range notify.ChannelNames() {
		n := len(strings.FieldsFunc(d.Form.Values.Get(k),
			func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t' }))
		if k == kind {
			for at := first; at < first+n && i.Error == ""; at++ {
				i.Error = d.Form.at("alert", "#/to/"+strconv.Itoa(at)+"/"+kind)
			}
		}
		first += n
	}
	return i
}

package view

import (
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Logs is the list of logs, with its filter.
type Logs struct {
	Filters
	Lines     []LogLine
	Schedule  *job.Schedule // the one that the filter names; nil for none, or if it is deleted
	Live      bool          // new lines are shown as they come
	CanFollow bool          // following can be switched on and off
	Follow    string        // the address that does so
	Self      string        // the address of the list alone
	Export    string
	First     string
	Next      string
}

// LogEvents are the events that the filter offers.
var LogEvents = []ui.Choice{
	{Value: "", Label: "All events"}, {Value: job.EventRequest, Label: "Requests"}, {Value: job.EventResponse, Label: "Responses"},
	{Value: job.EventError, Label: "Errors"}, {Value: job.EventCallbackFailed, Label: "Failed callbacks"},
	{Value: job.EventWebhookFailed, Label: "Failed webhook events"}, {Value: job.EventStateRejected, Label: "Rejected $state"},
	{Value: job.EventSkipped, Label: "Skipped points"}, {Value: job.EventEnded, Label: "Ended schedules"},
	{Value: job.EventAlertFailed, Label: "Failed messages of alerts"},
	{Value: job.EventCompletion, Label: "Reported results"}, {Value: job.EventOrphaned, Label: "Orphaned jobs"},
}

// logSpans are the periods up to now that the filter offers.
var logSpans = []ui.Choice{
	{Value: "", Label: "Any time"}, {Value: "15m", Label: "Last 15 minutes"}, {Value: "1h", Label: "Last hour"},
	{Value: "24h", Label: "Last day"}, {Value: "168h", Label: "Last week"},
}

// LogLine is a log in one line.
type LogLine struct {
	*job.Log
	Tone, Icon, Badge string
	Text              string
	RetryAt           time.Time // zero for none
}

// SkippedText describes the points that a log says were skipped.
func SkippedText(l *job.Log) string {
	count, reason := string(rawjson.Get(l.Payload, "count")), rawjson.Text(rawjson.Get(l.Payload, "reason"))
	from, to := rawjson.Text(rawjson.Get(l.Payload, "from")), rawjson.Text(rawjson.Get(l.Payload, "to"))
	if count == "1" {
		return "The run due at " + from + " was skipped: " + reason + "."
	}
	return count + " runs due from " + from + " to " + to + " were skipped: " + reason + "."
}

// LineOf returns a log in one line.
func LineOf(l *job.Log) LogLine {
	line := LogLine{Log: l, Tone: "bad", Icon: "cross"}
	value := func(name string) rawjson.Value { return rawjson.Get(l.Payload, name) }
	took := func() string {
		ms, err := strconv.ParseFloat(string(value("duration_ms")), 64)
		if err != nil {
			return ""
		}
		return ui.Millis(time.Duration(ms * float64(time.Millisecond)))
	}
	switch l.Event {
	case job.EventRequest:
		line.Tone, line.Icon, line.Badge, line.Text = "calm", "send", "request", rawjson.Text(value("url"))
	case job.EventResponse:
		status, _ := strconv.Atoi(string(value("status")))
		if l.Succeeded() {
			line.Tone, line.Icon = "good", "check"
		}
		line.Badge, line.Text = strconv.Itoa(status), "after "+took()
		var a Attempt
		if a.end(l); a.Message != "" && !l.Awaiting() {
			line.Text += ": " + a.Message
		}
		if l.Awaiting() {
			line.Tone, line.Icon, line.Text = "calm", "clock", line.Text+"; waiting for the result"
		}
	case job.EventError:
		line.Badge, line.Text = ui.CauseWord(rawjson.Text(value("kind"))), rawjson.Text(value("message"))
	case job.EventCallbackFailed:
		line.Icon, line.Badge, line.Text = "bell", "callback", "The callback failed; there are no retries left."
	case job.EventWebhookFailed:
		line.Icon, line.Badge, line.Text = "bell", "event", "The event "+rawjson.Text(value("type"))+" failed; there are no retries left."
	case job.EventSkipped:
		line.Tone, line.Icon, line.Badge, line.Text = "calm", "warning", "skipped", SkippedText(l)
	case job.EventEnded:
		line.Tone, line.Icon, line.Badge, line.Text = "calm", "minus", "ended", "The schedule has ended: "+rawjson.Text(value("reason"))+"."
	case job.EventStateRejected:
		line.Icon, line.Badge, line.Text = "warning", "state", rejected(l)+"."
	case job.EventOrphaned:
		line.Tone, line.Icon, line.Badge, line.Text = "calm", "minus", "orphaned", "Cancelled: "+orphanedText(l)+"."
	case job.EventCompletion:
		line.Tone, line.Icon, line.Badge, line.Text = "good", "check", "result", "reported after "+took()
	}
	if at := value("retry_at"); at.Kind() == '"' {
		line.RetryAt, _ = time.Parse(time.RFC3339Nano, rawjson.Text(at))
	}
	return line
}

// orphanedText says why a job was cancelled that waited for another one.
func orphanedText(l *job.Log) string {
	return "job " + string(rawjson.Get(l.Payload, "job_id")) + ", which it waited for, was " + rawjson.Text(rawjson.Get(l.Payload, "state"))
}

// rejected says which part of a response was ignored.
func rejected(l *job.Log) string {
	if member := rawjson.Text(rawjson.Get(l.Payload, "member")); member != "" {
		return "The value of " + member + " is wrong and was ignored"
	}
	return "The new $state is too large and was rejected"
}

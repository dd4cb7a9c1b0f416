package view

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// AttemptList is the list of attempts, with its filter.
type AttemptList struct {
	Logs     // without Lines
	Outcome  string
	Outcomes []ui.Tab
	Rows     []AttemptRow
}

// isFiltered reports whether the list is restricted.
func (list *AttemptList) isFiltered() bool {
	return list.Outcome != "" || len(list.Values) > 0
}

// AttemptRow is an attempt in one line.
type AttemptRow struct {
	Attempt
	Log        *job.Log // of its outcome or, without one, of its request
	Job        int64
	Name       *string
	Method     string
	URL        string
	ScheduleID uuid.UUID // uuid.Nil for a one-off job
	Ended      bool      // the job is final
}

// NewAttemptRow returns the row of an attempt, from the log that stands for it.
func NewAttemptRow(l *job.Log) AttemptRow {
	r := AttemptRow{Log: l, Job: l.Job}
	if l.Event == job.EventRequest {
		r.Request, r.StartedAt = l, l.InsertedAt
	} else {
		r.end(l)
	}
	return r
}

// title returns the name of the job, or its number.
func (r *AttemptRow) title() string {
	return JobTitle(&job.Job{Number: r.Job, Name: r.Name})
}

// result returns how the attempt ended, for a badge.
func (r *AttemptRow) result() (tone, icon, text string) {
	switch {
	case r.Outcome == nil && r.Ended:
		return "calm", "minus", "Aborted"
	case r.Outcome == nil:
		return "busy", "play", "Running"
	case r.succeeded() && !r.Responded:
		return "good", "check", "Reported"
	case r.succeeded():
		return "good", "check", strconv.Itoa(r.Status)
	case r.Responded && r.Kind != "":
		return "bad", "cross", strconv.Itoa(r.Status) + " " + ui.CauseWord(r.Kind)
	case r.Responded:
		return "bad", "cross", strconv.Itoa(r.Status)
	case r.interrupted():
		return "warn", "warning", "interrupted"
	}
	return "bad", "cross", ui.CauseWord(r.Kind)
}

// took returns the duration; "" while the attempt is under way.
func (r *AttemptRow) took() string {
	if r.Outcome == nil {
		return ""
	}
	return ui.Millis(r.Duration)
}

// place returns host and path of a URL, which identify it in a line.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ui.Shorten(address, 72)
	}
	return ui.Shorten(u.Host+strings.TrimSuffix(u.EscapedPath(), "/"), 72)
}

// AttemptDetail is an attempt with its request and response.
type AttemptDetail struct {
	AttemptRow
	Hidden Hidden
}

// bodyOf returns the body in the log of a request or response as text, and whether
// that is JSON.
func bodyOf(log *job.Log) (text string, isJSON bool) {
	body := rawjson.Get(log.Payload, "body")
	if log.Event == job.EventCompletion {
		body = rawjson.Get(log.Payload, "result")
	}
	switch {
	case rawjson.IsNull(body):
		return "", false
	case body.Kind() == '"':
		return rawjson.Text(body), false
	}
	return ui.Pretty(body), true
}

package dashboard

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var logRoutes = []route{
	{"/logs", forMembers, map[string]handler{"GET": (*Server).logs}},
	{"/logs/export", forMembers, map[string]handler{"GET": (*Server).exportLogs}},
	{"/logs/{log_id}", forMembers, map[string]handler{"GET": (*Server).log}},
}

// logsListed is how many logs a page of the list has.
const logsListed = 40

// logChoices are the events to choose from.
var logChoices = []ui.Choice{
	{Value: "", Label: "All events"}, {Value: job.EventRequest, Label: "Requests"}, {Value: job.EventResponse, Label: "Answers"},
	{Value: job.EventError, Label: "No answer"}, {Value: job.EventCallbackFailed, Label: "Callbacks given up"},
	{Value: job.EventWebhookFailed, Label: "Events given up"}, {Value: job.EventStateRejected, Label: "State refused"},
}

// logSpans are the times back from now to choose from.
var logSpans = []ui.Choice{
	{Value: "", Label: "Any time"}, {Value: "15m", Label: "Last 15 minutes"}, {Value: "1h", Label: "Last hour"}, {Value: "24h", Label: "Last day"}, {Value: "168h", Label: "Last week"},
}

// logFilter is what a list of logs is narrowed down by: as it was typed, and read.
type logFilter struct {
	event, job, schedule, last, since, until string

	problems map[string]string
	query    store.LogQuery
	of       uuid.UUID // the schedule
}

// narrowed reports whether there is any filter.
func (f *logFilter) narrowed() bool {
	return f.event+f.job+f.schedule+f.last+f.since+f.until != ""
}

func (c *call) logFilter() *logFilter {
	param := func(name string) string { return strings.TrimSpace(c.param(name)) }
	f := &logFilter{
		event: param("event"), job: strings.TrimPrefix(param("job"), "#"), schedule: param("schedule"), last: param("last"), since: param("since"), until: param("until"),
		problems: map[string]string{},
	}
	f.query.Event = f.event
	if !slices.ContainsFunc(logChoices, func(choice ui.Choice) bool { return choice.Value == f.event }) {
		f.problems["event"] = "is not one of those below"
	}
	if f.job != "" {
		id, ok := job.ParseRef(f.job)
		if f.query.Job = &id; !ok {
			f.problems["job"] = "must be a job's number or record id"
		}
	}
	if f.schedule != "" {
		var ok bool
		if f.of, ok = job.ParseID(f.schedule); !ok || f.of == uuid.Nil {
			f.problems["schedule"] = "must be a schedule's id"
		}
	}
	f.times(c.server.Store.Now())
	return f
}

func (f *logFilter) times(now time.Time) {
	if back, err := time.ParseDuration(f.last); err == nil && f.last != "" && back > 0 {
		f.query.Since = now.Add(-back)
	}
	read := func(name, text string, into *time.Time) {
		if text == "" {
			return
		}
		at, err := job.ReadInstant(text)
		if err != nil {
			f.problems[name] = err.Error()
		}
		*into = at
	}
	read("since", f.since, &f.query.Since)
	read("until", f.until, &f.query.Until)
	if len(f.problems) == 0 && !f.query.Until.IsZero() && !f.query.Since.Before(f.query.Until) {
		f.problems["until"] = "must be later than the beginning"
	}
}

// logList is what the list of logs shows.
type logList struct {
	*logFilter
	lines       []logLine
	schedule    *job.Schedule // the one that is asked for; nil for none, or one that is gone
	self        string
	live        bool // what is new comes in on top
	canFollow   bool
	follow      string // the address with following the other way round
	export      string
	first, next string
}

func (s *Server) logs(c *call) error {
	ctx := c.r.Context()
	list := &logList{logFilter: c.logFilter(), self: c.here("part", "list"), export: strings.Replace(c.here("after", "", "follow", ""), "/logs", "/logs/export", 1)}
	if len(list.problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, logsPage(list))
	}
	query := list.query
	query.Limit = logsListed
	place := readPlace(c.param("after"))
	if place != (store.LogPlace{}) {
		query.After, query.AfterID = place.Run, place.ID
		list.first = c.here("after", "")
	}
	list.canFollow = list.first == "" && list.until == ""
	list.live = list.canFollow && c.param("follow") != "off"
	list.follow = c.here("follow", "")
	if list.live {
		list.follow = c.here("follow", "off")
	}
	page, err := s.Manager.Logs(ctx, c.owner(), list.of, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		list.next = c.here("after", writePlace(page.Next.After, page.Next.AfterID))
	}
	for _, l := range page.Items {
		list.lines = append(list.lines, lineOf(l))
	}
	if list.of != uuid.Nil {
		list.schedule, err = s.Store.ScheduleGet(ctx, c.owner(), list.of)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, logsPart(list))
	}
	return c.render(http.StatusOK, logsPage(list))
}

// writePlace writes where a page of logs ends, readPlace reads it.
func writePlace(run int64, id uuid.UUID) string { return fmt.Sprintf("%d.%s", run, id) }

// readPlace gives the beginning for what was not written by writePlace.
func readPlace(text string) store.LogPlace {
	run, id, _ := strings.Cut(text, ".")
	number, err := strconv.ParseInt(run, 10, 64)
	parsed, ok := job.ParseID(id)
	if err != nil || number < 0 || !ok {
		return store.LogPlace{}
	}
	return store.LogPlace{Run: number, ID: parsed}
}

// exportLogs gives the same logs as lines of JSON, all of them.
func (s *Server) exportLogs(c *call) error {
	f := c.logFilter()
	if len(f.problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, logsPage(&logList{logFilter: f}))
	}
	began := false
	err := edge.WriteLogs(c, c.r, func(part func([]*job.Log) error) error {
		return s.Manager.Export(c.r.Context(), c.owner(), f.of, f.query, func(logs []*job.Log) error {
			began = true
			return part(logs)
		})
	})
	if err != nil && began {
		// Half a file must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	return err
}

// log shows one log whole.
func (s *Server) log(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok || id == uuid.Nil {
		return noLog
	}
	found, err := s.Store.LogGet(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	return c.render(http.StatusOK, logPage(found, lineOf(found)))
}

// logLine is a log in one line.
type logLine struct {
	*job.Log
	tone, icon, badge string
	text              string
	retryAt           time.Time
}

func lineOf(l *job.Log) logLine {
	line := logLine{Log: l, tone: "bad", icon: "cross"}
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
		line.tone, line.icon, line.badge, line.text = "calm", "send", "request", rawjson.Text(value("url"))
	case job.EventResponse:
		status, _ := strconv.Atoi(string(value("status")))
		if l.Succeeded() {
			line.tone, line.icon = "good", "check"
		}
		line.badge, line.text = strconv.Itoa(status), "after "+took()
	case job.EventError:
		line.badge, line.text = rawjson.Text(value("kind")), rawjson.Text(value("message"))
	case job.EventCallbackFailed:
		line.icon, line.badge, line.text = "bell", "callback", "The callback was given up."
	case job.EventWebhookFailed:
		line.icon, line.badge, line.text = "bell", "event", "The event "+rawjson.Text(value("type"))+" was given up."
	case job.EventStateRejected:
		line.icon, line.badge, line.text = "warning", "state", "The new $state was refused: it is too large."
	}
	if at := value("retry_at"); at.Kind() == '"' {
		line.retryAt, _ = time.Parse(time.RFC3339Nano, rawjson.Text(at))
	}
	return line
}

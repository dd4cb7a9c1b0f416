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
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/edge"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
)

var logRoutes = []route{
	{"/logs", forMembers, map[string]handler{"GET": (*Server).logs}},
	{"/logs/export", forMembers, map[string]handler{"GET": (*Server).exportLogs}},
	{"/logs/{log_id}", forMembers, map[string]handler{"GET": (*Server).log}},
}

// logsListed is how many logs a page of the list has.
const logsListed = 40

// logFilter is the filter of a list of logs.
type logFilter struct {
	view.LogFilter
	query job.LogQuery
	of    uuid.UUID // the schedule; uuid.Nil for any
}

// logFilter parses the filter in the request's parameters.
func (c *call) logFilter() *logFilter {
	param := func(name string) string { return strings.TrimSpace(c.param(name)) }
	f := &logFilter{LogFilter: view.LogFilter{
		Event: param("event"), Job: strings.TrimPrefix(param("job"), "#"), Schedule: param("schedule"), Last: param("last"), Since: param("since"), Until: param("until"),
		Problems: map[string]string{},
	}}
	f.query.Event = f.Event
	if !slices.ContainsFunc(view.LogEvents, func(choice ui.Choice) bool { return choice.Value == f.Event }) {
		f.Problems["event"] = "must be one of the choices"
	}
	if f.Job != "" {
		id, ok := job.ParseRef(f.Job)
		if f.query.Job = &id; !ok {
			f.Problems["job"] = "must be a job's number or record id"
		}
	}
	if f.Schedule != "" {
		var ok bool
		if f.of, ok = job.ParseID(f.Schedule); !ok || f.of == uuid.Nil {
			f.Problems["schedule"] = "must be a schedule's id"
		}
	}
	f.times(c.server.Service.Now())
	return f
}

// times parses the period.
func (f *logFilter) times(now time.Time) {
	if back, err := time.ParseDuration(f.Last); err == nil && f.Last != "" && back > 0 {
		f.query.Since = now.Add(-back)
	}
	read := func(name, text string, into *time.Time) {
		if text == "" {
			return
		}
		at, err := job.ReadInstant(text)
		if err != nil {
			f.Problems[name] = err.Error()
		}
		*into = at
	}
	read("since", f.Since, &f.query.Since)
	read("until", f.Until, &f.query.Until)
	if why := job.WhyNotPeriod(f.query.Since, f.query.Until); why != "" && len(f.Problems) == 0 {
		f.Problems["until"] = why
	}
}

func (s *Server) logs(c *call) error {
	ctx, f := c.r.Context(), c.logFilter()
	list := &view.Logs{Filter: f.LogFilter, Export: strings.Replace(c.here("after", "", "follow", ""), "/logs", "/logs/export", 1)}
	if len(f.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.LogsPage(list))
	}
	query := f.query
	query.Limit = logsListed
	query.After, query.AfterID = parsePosition(c.param("after"))
	c.follow(list)
	page, err := s.Service.Logs(ctx, c.owner(), f.of, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		list.Next = c.here("after", formatPosition(page.Next))
	}
	for _, l := range page.Items {
		list.Lines = append(list.Lines, view.LineOf(l))
	}
	if f.of != uuid.Nil {
		list.Schedule, err = s.Service.Schedule(ctx, c.owner(), f.of)
		if err != nil && fault.CodeOf(err) != fault.NotFound {
			return err
		}
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.LogsPart(list))
	}
	return c.render(http.StatusOK, view.LogsPage(list))
}

// formatPosition formats where the next page of logs begins: after a log of a run.
func formatPosition(q *job.ListQuery) string { return fmt.Sprintf("%d.%s", q.After, q.AfterID) }

// parsePosition parses the result of formatPosition. Anything else is the first
// page.
func parsePosition(text string) (run int64, id uuid.UUID) {
	number, rest, _ := strings.Cut(text, ".")
	run, err := strconv.ParseInt(number, 10, 64)
	id, ok := job.ParseID(rest)
	if err != nil || run < 0 || !ok {
		return 0, uuid.Nil
	}
	return run, id
}

// exportLogs returns all logs that the filter selects, as lines of JSON. Credentials
// in headers are masked, as on the pages.
func (s *Server) exportLogs(c *call) error {
	f := c.logFilter()
	if len(f.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.LogsPage(&view.Logs{Filter: f.LogFilter}))
	}
	started := false
	err := edge.WriteLogs(c, c.r, func(part func([]*job.Log) error) error {
		return s.Service.Export(c.r.Context(), c.owner(), f.of, f.query, func(logs []*job.Log) error {
			started = true
			for _, l := range logs {
				l.Payload = c.show(l.Payload, &view.Hidden{})
			}
			return part(logs)
		})
	})
	if err != nil && started {
		// The client must see that the file is incomplete.
		panic(http.ErrAbortHandler)
	}
	return err
}

// log shows a log.
func (s *Server) log(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok || id == uuid.Nil {
		return noLog
	}
	found, err := s.Service.Log(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	hidden := c.newHidden(c.href("/logs/%s", id))
	found.Payload = c.show(found.Payload, &hidden)
	return c.render(http.StatusOK, view.LogPage(found, view.LineOf(found), hidden))
}

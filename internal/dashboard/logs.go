package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
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

// logFilters reads the filters of a list of logs or of attempts. Their inputs have
// short names.
func (c *call) logFilters(list job.Lists) (view.Filters, job.Selection) {
	entered, _ := tidy(c.r.URL.Query())
	f := view.Filters{Values: url.Values{}, Problems: map[string]string{}}
	parameters, short := job.Parameters{Values: url.Values{}}, map[string]string{}
	for _, one := range job.FiltersOf(list) {
		short[one.Name] = one.Short()
		for _, text := range entered[one.Short()] {
			parameters.Values.Add(one.Name, strings.TrimPrefix(strings.TrimSpace(text), "#"))
		}
		if texts := parameters.Values[one.Name]; len(texts) > 0 {
			f.Values.Set(one.Short(), strings.Join(texts, " "))
		}
	}
	if last := strings.TrimSpace(c.param("last")); last != "" {
		f.Values.Set("last", last)
		if back, err := time.ParseDuration(last); err == nil && back > 0 && !parameters.Values.Has("since") {
			parameters.Values.Set("since", job.FormatTime(c.server.Service.Now().Add(-back)))
		}
	}
	selection := parameters.Filters(list)
	for i := range parameters.Problems {
		parameters.Problems[i].Parameter = short[parameters.Problems[i].Parameter]
	}
	f.Refuse(parameters.Problems)
	if !slices.ContainsFunc(view.LogEvents, func(choice ui.Choice) bool { return choice.Value == selection.Event }) {
		f.Problems["event"] = "must be one of the choices"
	}
	return f, selection
}

func (s *Server) logs(c *call) error {
	ctx := c.r.Context()
	filters, selection := c.logFilters(job.OfLogs)
	list := &view.Logs{Filters: filters, Export: strings.Replace(c.here("after", "", "follow", ""), "/logs", "/logs/export", 1)}
	if len(filters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.LogsPage(list))
	}
	query, of := selection.Logs(), selection.Query.Schedule
	query.Limit = logsListed
	query.After, query.AfterID = parsePosition(c.param("after"))
	c.follow(list)
	page, err := s.Service.Logs(ctx, c.owner(), of, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		list.Next = c.here("after", formatPosition(page.Next))
	}
	for _, l := range page.Items {
		list.Lines = append(list.Lines, view.LineOf(l))
	}
	if of != uuid.Nil {
		list.Schedule, err = s.Service.Schedule(ctx, c.owner(), of)
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
	filters, selection := c.logFilters(job.OfLogs)
	if len(filters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.LogsPage(&view.Logs{Filters: filters}))
	}
	started := false
	err := edge.WriteLogs(c, c.r, func(part func([]*job.Log) error) error {
		return s.Service.Export(c.r.Context(), c.owner(), selection.Query.Schedule, selection.Logs(), func(logs []*job.Log) error {
			started = true
			for _, l := range logs {
				c.showLog(l, &view.Hidden{})
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
	c.showLog(found, &hidden)
	found.Payload = job.WithoutTimings(found.Event, found.Payload)
	return c.render(http.StatusOK, view.LogPage(found, view.LineOf(found), hidden))
}

package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/service"
)

var attemptRoutes = []route{
	{"/attempts", forMembers, map[string]handler{"GET": (*Server).attempts}},
	{"/attempts/{log_id}", forMembers, map[string]handler{"GET": (*Server).attempt}},
}

// attemptsListed is how many attempts a page of the list has.
const attemptsListed = 25

// outcomes are the choices above the list. A choice with an event reads only the
// logs of that event, which have an index.
var outcomes = []struct {
	value, label, event string
	match               func(*job.Log) bool // nil: all attempts
}{
	{"", "All", "", nil},
	{"failed", "Failed", "", func(l *job.Log) bool { return !l.Succeeded() }},
	{"4xx", "4xx", "", statusOf(4)},
	{"5xx", "5xx", "", statusOf(5)},
	{"timeout", "Timeout", job.EventError, kindIs(job.KindTimeout)},
	{"dns", "DNS", job.EventError, kindIs(job.KindDNS)},
}

// statusOf returns whether a log is of a response with a status of a class.
func statusOf(class int) func(*job.Log) bool {
	return func(l *job.Log) bool {
		status, err := strconv.Atoi(string(rawjson.Get(l.Payload, "status")))
		return l.Event == job.EventResponse && err == nil && status/100 == class
	}
}

// kindIs returns whether a log is of an error of a kind.
func kindIs(kind job.Kind) func(*job.Log) bool {
	return func(l *job.Log) bool { return rawjson.Text(rawjson.Get(l.Payload, "kind")) == string(kind) }
}

// attemptQuery reads the filters in the address.
func (c *call) attemptQuery(values url.Values, list *view.AttemptList) service.AttemptQuery {
	f, selection := c.logFilters(job.OfAttempts)
	q := service.AttemptQuery{Limit: attemptsListed, Logs: selection.Logs(), Jobs: selection.Query}
	q.Jobs.Since, q.Jobs.Until = time.Time{}, time.Time{} // they are about the logs
	q.After.Run, q.After.ID = parsePosition(c.param("after"))
	known := false
	for _, o := range outcomes {
		current := o.value == values.Get("outcome")
		if current {
			q.Match, q.Logs.Event, known = o.match, o.event, true
		}
		list.Outcomes = append(list.Outcomes, ui.Tab{Label: o.label, Current: current, Href: c.here("outcome", o.value, "after", "")})
	}
	if !known {
		f.Problems["outcome"] = "must be one of the choices"
	}
	list.Filters, list.Outcome = f, values.Get("outcome")
	return q
}

// attempts shows one line for each attempt.
func (s *Server) attempts(c *call) error {
	values, changed := tidy(c.r.URL.Query())
	if len(values.Encode()) > maxFilters {
		return fault.New(fault.Invalid, "The filters may have at most 1,500 bytes.")
	}
	if changed && c.part() == "" {
		return c.redirectHere(values)
	}
	list := &view.AttemptList{}
	q := c.attemptQuery(values, list)
	if len(list.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.AttemptsPage(list))
	}
	c.follow(&list.Logs)
	var err error
	if list.Schedule, err = s.filterSchedule(c, q.Jobs.Schedule); err != nil {
		return err
	}
	page, err := s.Service.Attempts(c.r.Context(), c.owner(), q)
	if err != nil {
		return err
	}
	if page.Next != nil {
		list.Next = c.here("after", formatPosition(&job.ListQuery{After: page.Next.Run, AfterID: page.Next.ID}))
	}
	for _, a := range page.Items {
		list.Rows = append(list.Rows, attemptRow(a))
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.AttemptsPart(list))
	}
	return c.render(http.StatusOK, view.AttemptsPage(list))
}

func attemptRow(a service.Attempt) view.AttemptRow {
	row := view.NewAttemptRow(a.Log)
	row.Name, row.Method, row.URL, row.ScheduleID, row.Ended = a.Name, a.Method, a.URL, a.ScheduleID, a.Ended
	return row
}

// attempt shows the request and the response of an attempt.
func (s *Server) attempt(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok || id == uuid.Nil {
		return noLog
	}
	a, request, err := s.Service.AttemptOf(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	d := &view.AttemptDetail{AttemptRow: attemptRow(a), Hidden: c.newHidden(c.href("/attempts/%s", id))}
	d.Request = request
	for _, l := range []*job.Log{d.Request, d.Outcome} {
		if l != nil {
			c.showLog(l, &d.Hidden)
		}
	}
	if d.Request != nil {
		d.StartedAt = d.Request.InsertedAt
	}
	if c.part() == "detail" {
		return c.render(http.StatusOK, view.AttemptPart(d))
	}
	return c.render(http.StatusOK, view.AttemptPage(d))
}

// follow sets whether a list of logs is live, and the addresses around it.
func (c *call) follow(list *view.Logs) {
	list.Self = c.here("part", "list")
	if strings.TrimSpace(c.param("after")) != "" {
		list.First = c.here("after", "")
	}
	list.CanFollow = list.First == "" && !list.Values.Has("until")
	list.Live, list.Follow = c.followed(list.CanFollow)
}

// followed reports whether a list that can be live is, and returns the address that
// changes this.
func (c *call) followed(can bool) (live bool, change string) {
	if live = can && c.param("follow") != "off"; live {
		return true, c.here("follow", "off")
	}
	return false, c.here("follow", "")
}

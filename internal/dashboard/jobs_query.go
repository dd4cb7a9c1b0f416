package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/jobquery"
)

// queryParameter is the parameter with a query as it was typed. The list itself has
// filters in its address.
const queryParameter = "query"

// followQuery leads from a query that was typed to the list of what it selects.
func (s *Server) followQuery(c *call) error {
	text := c.param(queryParameter)
	values, err := jobquery.Parse(text, jobquery.Options{Now: s.Service.Now(), Zone: ui.From(c.r.Context()).Now.Location()})
	if err == nil {
		err = s.resolveSchedule(c, values)
	}
	switch {
	case err == nil && len(values.Get(jobquery.TextParameter)) > maxSearch:
		err = &jobquery.Error{Detail: "may have at most 300 bytes of text to search for"}
	case err == nil && len(values.Encode()) > maxFilters:
		err = &jobquery.Error{Detail: "has filters that are too long together"}
	}
	var problem *jobquery.Error
	switch {
	case errors.As(err, &problem):
		text, _ = ui.Clip(text, jobquery.MaxBytes)
		list := &view.Jobs{Query: text, QueryProblem: problem.Error(), Words: queryWords(), Filters: filterForm(job.OfJobs, nil, nil)}
		return c.render(http.StatusUnprocessableEntity, view.JobsPage(list))
	case err != nil:
		return err
	}
	to := url.URL{Path: c.r.URL.Path, RawQuery: values.Encode()}
	http.Redirect(c, c.r, to.String(), http.StatusSeeOther)
	return nil
}

// resolveSchedule replaces key:KEY by the id of the schedule with that key.
func (s *Server) resolveSchedule(c *call, values url.Values) error {
	key, named := strings.CutPrefix(values.Get("schedule_id"), "key:")
	if !named {
		return nil
	}
	found, err := s.Service.ScheduleHolding(c.r.Context(), c.owner(), key)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return &jobquery.Error{Word: "schedule:key:" + key, Detail: "names no schedule"}
	case err != nil:
		return err
	case found.ID != uuid.Nil:
		values.Set("schedule_id", found.ID.String())
	}
	return nil
}

// queryWords returns the words of queries, for completion.
func queryWords() []view.QueryWord {
	var words []view.QueryWord
	for _, w := range jobquery.Words() {
		words = append(words, view.QueryWord(w))
	}
	return words
}

// usedWords returns the words of queries for the hosts and tags that the account uses, a
// line each. The script of the query asks for them when somebody begins to type.
func (s *Server) usedWords(c *call) error {
	used, err := s.Service.LabelsUsed(c.r.Context(), c.owner())
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, host := range used.Hosts {
		b.WriteString(jobquery.Format(url.Values{"host": {host}}) + "\n")
	}
	for _, tag := range used.Tags {
		b.WriteString(jobquery.Format(url.Values{"tag": {tag}}) + "\n")
	}
	return c.text(b.String())
}

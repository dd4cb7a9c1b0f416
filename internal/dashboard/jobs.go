package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/jobquery"
	"github.com/punctual-dev/punctual/internal/service"
)

var jobRoutes = []route{
	{"/jobs", forMembers, map[string]handler{"GET": (*Server).jobs, "POST": (*Server).createJob}},
	{"/jobs/new", forMembers, map[string]handler{"GET": (*Server).newJob}},
	{"/jobs/preview", forMembers, map[string]handler{"POST": (*Server).previewJob}},
	{"/jobs/words", forMembers, map[string]handler{"GET": (*Server).usedWords}},
	{"/jobs/cancel", forMembers, map[string]handler{"POST": (*Server).cancelJobs}},
	{"/jobs/{job_id}", forMembers, map[string]handler{"GET": (*Server).job}},
	{"/jobs/{job_id}/cancel", forMembers, map[string]handler{"POST": (*Server).cancelJob}},
	{"/jobs/{job_id}/run", forMembers, map[string]handler{"POST": (*Server).runJob}},
	{"/jobs/{job_id}/rerun", forMembers, map[string]handler{"POST": (*Server).rerunJob}},
	{"/jobs/{job_id}/when", forMembers, map[string]handler{"POST": (*Server).rescheduleJob}},
	{"/jobs/{job_id}/when/preview", forMembers, map[string]handler{"POST": (*Server).previewReschedule}},
	{"/jobs/{job_id}/compare", forMembers, map[string]handler{"GET": (*Server).compareAttempts}},
	{"/jobs/{job_id}/text/{of}", forMembers, map[string]handler{"GET": (*Server).jobText}},
	{"/jobs/{job_id}/logs/{log_id}", forMembers, map[string]handler{"GET": (*Server).jobLog}},
}

// jobsShown is how many jobs a page of the list has.
const jobsShown = 25

// listedStates are the tabs of the list.
var listedStates = []job.State{job.Available, job.Executing, job.Retryable, job.Completed, job.Discarded, job.Cancelled}

// maxSearch is the maximum length of a search text in bytes. Every link of the
// page contains it.
const maxSearch = 300

func (s *Server) jobs(c *call) error {
	if c.r.URL.Query().Has(queryParameter) {
		return s.followQuery(c)
	}
	list := &view.Jobs{Search: c.param("q"), Notice: c.notice()}
	if len(list.Search) > maxSearch {
		return fault.New(fault.Invalid, "A search may have at most 300 bytes.")
	}
	values, changed := tidy(c.r.URL.Query())
	if len(values.Encode()) > maxFilters {
		return fault.New(fault.Invalid, "The filters may have at most 1,500 bytes.")
	}
	if changed && c.part() == "" {
		return c.redirectHere(values)
	}
	parameters := job.Parameters{Values: values}
	selection := parameters.Filters(job.OfJobs)
	query := &selection.Query
	list.Filters, list.Query, list.Words = filterForm(job.OfJobs, values, parameters.Problems), jobquery.Format(values), queryWords()
	if len(parameters.Problems) > 0 {
		return c.render(http.StatusUnprocessableEntity, view.JobsPage(list))
	}
	schedule, err := s.filterSchedule(c, query.Schedule)
	if err != nil {
		return err
	}
	list.State, list.Filters.Chips, list.Filters.Clear = c.param("state"), c.chips(job.OfJobs, values, schedule), c.clearFilters(job.OfJobs)
	if list.Tabs, err = s.jobTabs(c, selection, list); err != nil {
		return err
	}
	query.Limit = jobsShown
	query.After, _ = strconv.ParseInt(c.param("after"), 10, 64) // anything else is the first page
	query.After = max(query.After, 0)
	list.CanFollow = query.After == 0
	list.Live, list.Follow = c.followed(list.CanFollow)
	if query.After > 0 {
		list.First = c.here("after", "")
	}
	if err := s.readJobs(c, selection, list); err != nil {
		return err
	}
	list.Cancel = c.href("/jobs/cancel") + strings.TrimPrefix(c.here(), c.r.URL.Path)
	if list.Operate = c.operateAddress(values); list.Operate != "" {
		list.Bulk = bulkActions(list.State, values)
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, view.JobsPart(list))
	}
	return c.render(http.StatusOK, view.JobsPage(list))
}

// filteredCountLimit is how many of the newest jobs that match filters the tabs count:
// each is looked up in the index of each filter.
const filteredCountLimit = 1000

// jobTabs returns a tab for each state, with the number of jobs that match the
// other filters. A search can't be counted.
func (s *Server) jobTabs(c *call, of job.Selection, list *view.Jobs) ([]ui.Tab, error) {
	count := func(job.State) string { return "" }
	if list.Search == "" {
		of.Query.States = nil
		limit := service.CountLimit
		if of.Query.Path() == job.ByFilter {
			limit = filteredCountLimit
		}
		counts, partial, err := s.Service.CountsOf(c.r.Context(), c.owner(), &of, limit)
		if err != nil {
			return nil, err
		}
		count = func(state job.State) string {
			n := counts[state]
			switch {
			case partial && n == 0:
				return "" // there may be some
			case partial || n >= int64(limit):
				return ui.Count(n) + "+"
			}
			return ui.Count(n)
		}
	}
	tabs := []ui.Tab{{Label: "All", Href: c.here("state", "", "after", "", "order", ""), Current: list.State == ""}}
	for _, state := range listedStates {
		tabs = append(tabs, ui.Tab{
			Label: ui.StateLabel(state), Count: count(state), Current: list.State == state.String(),
			Href: c.here("state", state.String(), "after", "", "order", ""),
		})
	}
	return tabs, nil
}

// jobID parses the job in the path.
func (c *call) jobID() (job.Ref, error) {
	id, ok := job.ParseRef(c.r.PathValue("job_id"))
	if !ok {
		return id, noJob
	}
	return id, nil
}

// jobText returns a complete text of a job's page.
func (s *Server) jobText(c *call) error {
	d, err := s.readJob(c)
	if err != nil {
		return err
	}
	text, ok := d.Text(c.r.PathValue("of"))
	if !ok {
		return errNoPage
	}
	return c.text(text)
}

// jobLog returns the complete payload of a log as text.
func (s *Server) jobLog(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok || id == uuid.Nil {
		return noLog
	}
	log, err := s.Service.Log(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	c.showLog(log, &view.Hidden{})
	return c.text(ui.Pretty(job.WithoutTimings(log.Event, log.Payload)))
}

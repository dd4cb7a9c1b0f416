package dashboard

import (
	"context"
	"net/http"
	"strconv"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
	"github.com/punctual-dev/punctual/internal/store"
)

var jobRoutes = []route{
	{"/jobs", forMembers, map[string]handler{"GET": (*Server).jobs, "POST": (*Server).createJob}},
	{"/jobs/new", forMembers, map[string]handler{"GET": (*Server).newJob}},
	{"/jobs/preview", forMembers, map[string]handler{"POST": (*Server).previewJob}},
	{"/jobs/cancel", forMembers, map[string]handler{"POST": (*Server).cancelJobs}},
	{"/jobs/{job_id}", forMembers, map[string]handler{"GET": (*Server).job}},
	{"/jobs/{job_id}/cancel", forMembers, map[string]handler{"POST": (*Server).cancelJob}},
	{"/jobs/{job_id}/run", forMembers, map[string]handler{"POST": (*Server).runJob}},
	{"/jobs/{job_id}/rerun", forMembers, map[string]handler{"POST": (*Server).rerunJob}},
	{"/jobs/{job_id}/when", forMembers, map[string]handler{"POST": (*Server).retimeJob}},
	{"/jobs/{job_id}/logs/{log_id}", forMembers, map[string]handler{"GET": (*Server).jobLog}},
}

// jobsShown is how many jobs a page of the list has.
const jobsShown = 25

// listedStates are the tabs of the list, in the order of a job's life.
var listedStates = []job.State{job.Available, job.Executing, job.Retryable, job.Completed, job.Discarded, job.Cancelled}

// maxSearch is how long the text of a search may be: it comes back in every
// link of the page.
const maxSearch = 300

// jobList is what the list of jobs shows.
type jobList struct {
	jobs   []*job.Job
	search string
	state  string // the tab; "" for all
	tabs   []ui.Tab
	// self fetches the list anew.
	self        string
	live        bool // the first page: what is new comes in on top
	first, next string
	notice      string
}

func (s *Server) jobs(c *call) error {
	list := &jobList{search: c.param("q"), notice: c.notice()}
	if len(list.search) > maxSearch {
		return fault.New(fault.Invalid, "A search may have at most 300 bytes.")
	}
	query := store.JobQuery{ListQuery: store.ListQuery{Limit: jobsShown}}
	for _, state := range listedStates {
		if state.String() == c.param("state") {
			list.state, query.States = state.String(), []job.State{state}
		}
	}
	query.After, _ = strconv.ParseInt(c.param("after"), 10, 64) // nonsense is the first page
	query.After = max(query.After, 0)
	next, err := s.findJobs(c, list, query)
	if err != nil {
		return err
	}
	if list.tabs, err = s.jobTabs(c.r.Context(), c, list.state); err != nil {
		return err
	}
	list.self, list.live = c.here("part", "list"), query.After == 0
	if query.After > 0 {
		list.first = c.here("after", "")
	}
	if next > 0 {
		list.next = c.here("after", strconv.FormatInt(next, 10))
	}
	if c.part() == "list" {
		return c.render(http.StatusOK, jobsPart(list))
	}
	return c.render(http.StatusOK, jobsPage(list))
}

// findJobs reads a page of the list, or of what a search finds.
func (s *Server) findJobs(c *call, list *jobList, query store.JobQuery) (next int64, err error) {
	var page job.Page[*job.Job]
	if list.search != "" {
		page, err = s.Manager.Search(c.r.Context(), c.owner(), query, list.search)
	} else {
		page, err = s.Manager.Jobs(c.r.Context(), c.owner(), query)
	}
	if list.jobs = page.Items; page.Next != nil {
		next = page.Next.After
	}
	return next, err
}

func (s *Server) jobTabs(ctx context.Context, c *call, current string) ([]ui.Tab, error) {
	counts, _, err := s.Manager.Counts(ctx, c.owner(), job.Query{})
	if err != nil {
		return nil, err
	}
	tabs := []ui.Tab{{Label: "All", Href: c.here("state", "", "after", ""), Current: current == ""}}
	for _, state := range listedStates {
		n := counts[state]
		count := ui.Count(n)
		if n >= service.CountLimit {
			count += "+"
		}
		tabs = append(tabs, ui.Tab{
			Label: ui.Capital(state.String()), Count: count, Current: current == state.String(),
			Href: c.here("state", state.String(), "after", ""),
		})
	}
	return tabs, nil
}

// jobID reads the job an address names.
func (c *call) jobID() (store.JobID, error) {
	id, ok := job.ParseRef(c.r.PathValue("job_id"))
	if !ok {
		return id, noJob
	}
	return id, nil
}

// jobLog shows one of a job's logs whole, as the text it is.
func (s *Server) jobLog(c *call) error {
	id, ok := job.ParseID(c.r.PathValue("log_id"))
	if !ok || id == uuid.Nil {
		return noLog
	}
	log, err := s.Store.LogGet(c.r.Context(), c.owner(), id)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = c.Write([]byte(ui.Pretty(log.Payload))) // a browser that went away needs no answer
	return nil
}

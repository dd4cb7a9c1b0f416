package dashboard

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/service"
)

// dueListed is how many jobs the list of those that are due next has.
const dueListed = 100

// dueScanned is how many queued jobs are read at most to find those.
const dueScanned = 5000

// readJobs reads the jobs of a list. An open page names the newest job that it
// shows: newer ones are counted and not shown, so that rows don't move under the
// reader's hand.
func (s *Server) readJobs(c *call, of job.Selection, list *view.Jobs) error {
	query := &of.Query
	list.Self = c.here("part", "list")
	if list.State == job.Available.String() && query.After == 0 && list.Search == "" && !list.Filtered() {
		due := c.param("order") == "due"
		list.Orders = []ui.Tab{{Label: "Newest first", Href: c.here("order", ""), Current: !due},
			{Label: "Due first", Href: c.here("order", "due"), Current: due}}
		if due {
			return s.readDue(c, list)
		}
	}
	top, err := strconv.ParseInt(c.param("top"), 10, 64)
	pinned := err == nil && top > 0 && query.After == 0 && list.Search == "" && c.part() == "list"
	first := of
	if pinned {
		query.After = top + 1
	}
	page, err := s.findJobs(c, of, list.Search)
	if err != nil {
		return err
	}
	list.Jobs = page.Items
	service.ShowOwnDue(list.Jobs...)
	if page.Next != nil {
		list.Next = c.here("after", strconv.FormatInt(page.Next.After, 10))
	}
	if pinned {
		newer, err := s.findJobs(c, first, "")
		if err != nil {
			return err
		}
		newer.Items = slices.DeleteFunc(newer.Items, func(j *job.Job) bool { return j.Number <= top })
		list.NewJobs, list.Newer = newJobs(len(newer.Items)), c.here()
	} else if top = 0; len(list.Jobs) > 0 {
		top = list.Jobs[0].Number
	}
	if top > 0 && list.Search == "" {
		list.Self = c.here("part", "list", "top", strconv.FormatInt(top, 10))
	}
	return s.readJobFailures(c, list)
}

// newJobs says how many jobs are new; "" for none.
func newJobs(n int) string {
	switch n {
	case 0:
		return ""
	case jobsShown:
		return strconv.Itoa(n) + " or more new jobs"
	}
	return ui.Plural(n, "new job", "new jobs")
}

// readDue reads the scheduled jobs that are due next, the earliest first.
func (s *Server) readDue(c *call, list *view.Jobs) error {
	due, err := s.Service.JobsDue(c.r.Context(), c.owner(), s.Service.Now().AddDate(100, 0, 0), dueListed, dueScanned)
	if err != nil {
		return err
	}
	list.Partly = due.Partly || due.Count > dueListed
	list.Jobs = slices.DeleteFunc(due.Jobs, func(j *job.Job) bool { return j.State != job.Available })
	return nil
}

// readJobFailures reads why jobs of the list failed or are retried.
func (s *Server) readJobFailures(c *call, list *view.Jobs) (err error) {
	var numbers []int64
	for _, j := range list.Jobs {
		if j.State == job.Discarded || j.State == job.Retryable {
			numbers = append(numbers, j.Number)
		}
	}
	if len(numbers) > 0 {
		list.Failures, err = s.Service.JobFailures(c.r.Context(), c.owner(), numbers)
	}
	return err
}

// findJobs reads a page of the list, or of the jobs that a search finds.
func (s *Server) findJobs(c *call, of job.Selection, search string) (job.Page[*job.Job], error) {
	switch ctx := c.r.Context(); {
	case of.ErrorKind != "":
		return s.Service.JobsOfKind(ctx, c.owner(), &of, search)
	case search != "":
		return s.Service.SearchAll(ctx, c.owner(), of.Query, search)
	default:
		return s.Service.Jobs(ctx, c.owner(), of.Query)
	}
}

// bulkActions returns the operations that suit the jobs of a tab.
func bulkActions(state string, values url.Values) []view.BulkAction {
	form := func(action job.Action) url.Values {
		f := url.Values{"action": {string(action)}, "zone": {"UTC"}, "go": {"count"}}
		for _, one := range job.FiltersOf(job.OfOperations) {
			if len(values[one.Name]) > 0 {
				f.Set(one.Name, strings.Join(values[one.Name], " "))
			}
		}
		return f
	}
	again := view.BulkAction{Label: "Run all again", Form: form(job.RerunJobs)}
	now := view.BulkAction{Label: "Run all now", Form: form(job.RunJobs)}
	cancel := view.BulkAction{Label: "Cancel all", Form: form(job.CancelJobs)}
	switch state {
	case "":
		return []view.BulkAction{again, cancel}
	case job.Completed.String(), job.Discarded.String(), job.Cancelled.String():
		return []view.BulkAction{again}
	case job.Executing.String():
		return []view.BulkAction{cancel}
	}
	return []view.BulkAction{now, cancel}
}

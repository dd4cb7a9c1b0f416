package view

import (
	"slices"
	"strconv"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Jobs is the list of jobs.
type Jobs struct {
	Jobs   []*job.Job
	Search string
	State  string // the tab; "" for all
	Filters
	Tabs []ui.Tab
	// Self is the address of the list alone.
	Self        string
	Live        bool // the first page, which shows new jobs as they come
	First, Next string
	Notice      string
	// Cancel is the address that the form for the selected jobs posts to.
	Cancel string
	// Operate is the address of the form for an operation on all jobs that match;
	// "" if there is none.
	Operate string
}

// canCancel reports whether a job of the page can be selected.
func (list *Jobs) canCancel() bool {
	return slices.ContainsFunc(list.Jobs, func(j *job.Job) bool { return !j.State.Final() })
}

// JobTitle returns the name of a job, or its number.
func JobTitle(j *job.Job) string {
	if j.Name != nil && *j.Name != "" {
		return *j.Name
	}
	return "Job " + strconv.FormatInt(j.Number, 10)
}

// emptyTabs are the titles and texts of tabs without jobs.
var emptyTabs = map[string]struct{ title, text string }{
	"available": {"No scheduled jobs", "Jobs wait here until they are due."},
	"scheduled": {"No scheduled jobs", "Jobs wait here until they are due, or until their retry."},
	"executing": {"No running jobs", "Jobs are here while their request is running."},
	"retryable": {"No retrying jobs", "Jobs wait here for a retry after a failed attempt."},
	"completed": {"No completed jobs", "Jobs move here when an attempt succeeds."},
	"discarded": {"No failed jobs", "Jobs move here when their last attempt fails."},
	"cancelled": {"No cancelled jobs", "Jobs move here when they are cancelled."},
}

// firstJobCurl returns a call of the API that works as it is, except for the key.
func firstJobCurl(v *ui.View) string {
	return "curl " + v.Origin + "/api/jobs \\\n  -H \"Authorization: Bearer $PUNCTUAL_API_KEY\" \\\n  -H \"Content-Type: application/json\" \\\n" +
		`  -d '{"method": "post", "url": "https://example.com/hook", "schedule_in": [30, "seconds"], "body": {"hello": "world"}}'`
}

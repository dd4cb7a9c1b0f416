package view

import (
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

// JobTitle returns the name of a job, or its number.
func JobTitle(j *job.Job) string {
	if j.Name != nil && *j.Name != "" {
		return *j.Name
	}
	return "Job " + strconv.FormatInt(j.Number, 10)
}

// stateMeaning explains an empty tab.
var stateMeaning = map[string]string{
	"available": "Jobs are here until they are due.",
	"executing": "Jobs are here while their request is under way.",
	"retryable": "Jobs are here after a failed attempt, until the next one.",
	"completed": "Jobs are here once their target responds with a 2xx.",
	"discarded": "Jobs are here once their last attempt failed.",
	"cancelled": "Jobs are here once they are cancelled.",
}

// firstJobCurl returns a call of the API that works as it is, except for the key.
func firstJobCurl(v *ui.View) string {
	return "curl " + v.Origin + "/api/jobs \\\n  -H \"Authorization: Bearer $PUNCTUAL_API_KEY\" \\\n  -H \"Content-Type: application/json\" \\\n" +
		`  -d '{"method": "post", "url": "https://example.com/hook", "schedule_in": [30, "seconds"], "body": {"hello": "world"}}'`
}

package view

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Jobs is the list of jobs.
type Jobs struct {
	Jobs   []*job.Job
	Search string
	// Query is the query that stands for the list's filters, or one that can't be read
	// for the reason QueryProblem. Words complete it.
	Query, QueryProblem string
	Words               []QueryWord
	State               string // the tab; "" for all
	Filters
	Tabs []ui.Tab
	// Self is the address of the list alone.
	Self        string
	Live        bool // the first page, which shows new jobs as they come
	First, Next string
	Notice      string
	// Cancel is the address that the form for the selected jobs posts to.
	Cancel string
	// Failures are the latest failures of the jobs that failed or are retrying.
	Failures map[int64]job.LastFailure
	// Newer is the address of the list with the jobs that were created since it was
	// opened, and NewJobs how many these are, in words; "" if there are none.
	Newer, NewJobs string
	// CanFollow reports that updates can be switched on and off, at Follow.
	CanFollow bool
	Follow    string
	// Orders are the orders that can be chosen; none if there is no choice. Partly
	// reports that not all of the jobs that are due next are shown.
	Orders []ui.Tab
	Partly bool
	// Bulk are the operations on all jobs that match.
	Bulk []BulkAction
	// Operate is the address of the form for an operation on all jobs that match;
	// "" if there is none.
	Operate string
}

// QueryWord is a word of queries. One that ends with a colon needs a value.
type QueryWord struct{ Text, Hint string }

// wordLines returns the words of queries as lines for query.js, each with its hint after
// a tab.
func (list *Jobs) wordLines() string {
	var b strings.Builder
	for _, w := range list.Words {
		b.WriteString(w.Text + "\t" + w.Hint + "\n")
	}
	return b.String()
}

// BulkAction is a button that counts the jobs an operation would change.
type BulkAction struct {
	Label string
	Form  url.Values // of the form for an operation
}

// status returns what is behind the state of a job: the cause of its failure and how
// many of its attempts have started; "" if there is nothing to say.
func (list *Jobs) status(j *job.Job, spec *job.Spec) string {
	failure, failed := list.Failures[j.Number]
	if !failed {
		return ""
	}
	text := ui.CauseWord(failure.Cause)
	if failure.Attempt > 0 && spec.Retries > 0 {
		text += " · attempt " + strconv.Itoa(failure.Attempt) + "/" + strconv.Itoa(spec.Retries+1)
	}
	return text
}

// canCancel reports whether a job of the page can be selected.
func (list *Jobs) canCancel() bool {
	return slices.ContainsFunc(list.Jobs, func(j *job.Job) bool { return !j.State.Final() })
}

// startedOnTime reports whether the last attempt started when the job was due, to the
// second: there is no second time to show. A job that waits for a retry is due later.
func startedOnTime(j *job.Job) bool {
	late := j.AttemptedAt.Sub(j.ScheduledAt)
	return j.State != job.Retryable && !j.AttemptedAt.IsZero() && late >= 0 && late < time.Second
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
	return "curl " + v.Origin + "/api/jobs \\\n  -H \"Authorization: Bearer " + v.Key() +
		"\" \\\n  -H \"Content-Type: application/json\" \\\n" +
		`  -d '{"method": "post", "url": "https://example.com/hook", "schedule_in": [30, "seconds"], "body": {"hello": "world"}}'`
}

// savedFor names whose searches query.js keeps: browsers may be used for several accounts.
func savedFor(ctx context.Context) string {
	if v := ui.From(ctx); !v.IsPublic() && v.Viewer != nil {
		return v.Viewer.Email
	}
	return "public"
}

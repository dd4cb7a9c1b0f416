package view

import (
	"net/url"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

const (
	// FailuresRead is how many failures of the last day the overview groups.
	FailuresRead = 200
	// bandShown is how many failing schedules the band names.
	bandShown = 5
	// groupsShown is how many groups of failures are shown.
	groupsShown = 10
)

// hostFailures returns the path of the list of a host's failed jobs.
func hostFailures(host string) string {
	return "/jobs?" + url.Values{"state": {"discarded"}, "host": {host}}.Encode()
}

// Overview is the first page of an account.
type Overview struct {
	// Newcomer is set while nothing is stored; then nothing below is shown.
	Newcomer bool
	Tabs     []ui.Tab // how far back the figures and plots go
	Figures  []Figure
	Plots    []ui.Plot
	Due      []*job.Job // the next ones
	DueCount string     // of all that are due within the hour
	Failing  Failing
	Grid     *Grid
	// Failures are the failures of the last day; partly, if there are more than
	// FailuresRead.
	Failures       []FailureGroup
	FailuresPartly bool
	Retryable      int64 // jobs in this state
	// FailedAttempts is how many attempts failed in the period.
	FailedAttempts int64
	// Self is the address of the live part.
	Self string
}

// noneFailed says that no job was discarded, and whether attempts failed.
func (o *Overview) noneFailed() string {
	if o.FailedAttempts == 0 {
		return "No failures."
	}
	return ui.Plural(int(o.FailedAttempts), "attempt", "attempts") + " failed, but every job has retries left or succeeded."
}

// Figure is a large number with its name.
type Figure struct{ Name, Value, Below string }

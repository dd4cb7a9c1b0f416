package view

import (
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
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
	Failing  Failing
	Signals  *Signals
	Grid     *Grid
	Tabs     []ui.Tab // how far back the figures, the ribbon and the plots go
	Figures  []Figure
	Ribbon   *ui.Ribbon
	// Plots are charts of the course of the figures. AsTable is set if Values are shown
	// instead of them and the ribbon, and OtherView is the address of the one that is not
	// shown.
	Plots     []ui.Plot
	Values    []Value
	AsTable   bool
	OtherView string
	// Failures are the failures of the last day; partly, if there are more than
	// FailuresRead.
	Failures       []FailureGroup
	FailuresPartly bool
	Retrying       string // how many jobs are retried; "" if none
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

// Value is a column of the ribbon as a row of a table. Failures is the address of its
// failed attempts; "" if it has none. A column that is ahead has Planned and its Note only.
type Value struct {
	Planned, Note      string
	From, To           time.Time
	Attempts, Failed   int64
	FailureRate        string
	Lateness, Duration [2]string // p50 and p99
	Failures           string
}

// Figure is a large number with its name.
type Figure struct{ Name, Value, Below string }

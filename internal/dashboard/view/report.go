package view

import (
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Report is the report of a month of a schedule. Its figures are texts.
type Report struct {
	Schedule *job.Schedule
	Month    string // "November 2026"
	Current  bool   // the month is not over
	Complete bool   // all final runs are counted
	Runs     []Figure
	Missed   []Figure // by reason
	Lateness []Figure
	Outages  []Outage
	Omitted  int64 // shorter outages

	Previous, Next, CSV string // addresses; "" omits a link
}

// Outage is a time without successful runs.
type Outage struct {
	Reason, Runs string
	From, To     time.Time
}

// below returns the line below the title.
func (r *Report) below() string {
	if r.Current {
		return "Report of " + r.Month + " so far, in UTC"
	}
	return "Report of " + r.Month + ", in UTC"
}

// omitted describes the outages that are not listed.
func (r *Report) omitted() string {
	if r.Omitted == 1 {
		return "A shorter one is not listed."
	}
	return ui.Count(r.Omitted) + " shorter ones are not listed."
}

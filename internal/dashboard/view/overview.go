package view

import (
	"net/url"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/ui"
)

// hostFailures returns the path of the list of a host's failed jobs.
func hostFailures(host string) string {
	return "/jobs?" + url.Values{"state": {"discarded"}, "host": {host}}.Encode()
}

// Overview is the first page of an account.
type Overview struct {
	// Newcomer is set while nothing is stored; then nothing below is shown.
	Newcomer bool
	Triage   *Triage
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
	Notice    string
	// Self is the address of the live part.
	Self string
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

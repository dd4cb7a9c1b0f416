package ui

import (
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
)

// Run is one run in a row of cells.
type Run struct {
	Href  string
	State job.State
	At    time.Time
	Text  string // "HTTP 500", "210 ms"; "" for none
}

// words describes the run: "Failed 22 Nov 11:40:12 UTC, HTTP 500".
func (r *Run) words(zone *time.Location) string {
	text := StateLabel(r.State) + " " + r.At.In(zone).Format("2 Jan 15:04:05 MST")
	if r.Text != "" {
		text += ", " + r.Text
	}
	return text
}

// runsWords describes a row of runs, for screen readers.
func runsWords(runs []Run) string {
	counts := map[job.State]int{}
	for _, r := range runs {
		counts[r.State]++
	}
	return "Last " + Plural(len(runs), "run", "runs") + ": " + strings.Join(stateCounts(counts), ", ")
}

// legendStates are the states that the legend of the cells explains.
var legendStates = []job.State{job.Completed, job.Discarded, job.Retryable, job.Executing, job.Cancelled}

// runClass returns the class of a cell, which has a sign of its own for each state.
func runClass(s job.State) string { return stateLooks[s].tone }

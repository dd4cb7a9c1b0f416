package view

import (
	"github.com/punctual-dev/punctual/internal/dashboard/ui"
	"github.com/punctual-dev/punctual/internal/job"
)

// Overview is the first page of an account.
type Overview struct {
	// Newcomer is set while nothing is stored; then nothing below is shown.
	Newcomer  bool
	Tabs      []ui.Tab // how far back the figures and plots go
	Figures   []Figure
	Plots     []ui.Plot
	Due       []*job.Job // the next ones
	DueCount  string     // of all that are due within the hour
	Failed    []FailedJob
	Retryable int64 // jobs in this state
	// Self is the address of the live part.
	Self string
}

// Figure is a large number with its name.
type Figure struct{ Name, Value, Below string }

// FailedJob is a discarded job with its last log.
type FailedJob struct {
	*job.Job
	Why *LogLine // nil if the job has no log
}

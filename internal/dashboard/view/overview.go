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

// FailedJob is a discarded job with its last log.
type FailedJob struct {
	*job.Job
	Why *LogLine // nil if the job has no log
}

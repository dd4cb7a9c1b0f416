package view

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// awaited reports whether the target is to report the outcome.
func (d *Job) awaited() bool {
	return d.Completion != nil && d.Completion.State == job.CompletionAwaiting
}

// progress returns the last progress that the target reported, 0 to 100, with its
// message; false if there is none.
func (d *Job) progress() (percent float64, message string, ok bool) {
	report := d.Completion.Progress
	percent, err := strconv.ParseFloat(string(rawjson.Get(report, "progress")), 64)
	return percent, rawjson.Text(rawjson.Get(report, "message")), err == nil
}

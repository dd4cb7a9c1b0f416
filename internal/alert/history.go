package alert

import (
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// History is what an alert has seen of a schedule, or of all one-off jobs that
// it matches.
type History struct {
	Failures int           `json:"failures"` // in a row
	Sent     bool          `json:"sent"`     // failed was reported, and no success has followed
	Last     notify.Detail `json:"last"`     // of the latest failure, for reminders
}

// ReadHistory returns the history in the Data of a state.
func ReadHistory(data rawjson.Value) (h History) {
	decode(data, &h)
	return h
}

// Signal is what an outcome means: the type of a message, or "" for nothing to
// report.
type Signal string

// Failure adds a failure. The first one that makes After in a row is reported.
func (h History) Failure(d *Definition, detail notify.Detail) (History, Signal) {
	h.Failures++
	h.Last = detail
	if d.Failed && !h.Sent && h.Failures >= d.After {
		h.Sent = true
		return h, notify.Failed
	}
	return h, ""
}

// Success ends a row of failures. It is reported if the failures were.
func (h History) Success(d *Definition) (History, Signal) {
	if h.Sent && d.Recovered {
		return History{}, notify.Recovered
	}
	return History{}, ""
}

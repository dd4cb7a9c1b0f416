package alert

import (
	"strconv"

	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// maxSent is how many messages about failures a history keeps: four rounds to as many
// receivers as an alert can have.
const maxSent = 4 * MaxReceivers

// History is what an alert has seen of a schedule, or of all one-off jobs that
// it matches.
type History struct {
	Failures int  `json:"failures"` // in a row
	Sent     bool `json:"sent"`     // failed was reported, and no success has followed
	// Held: failed was not reported since because the schedule was muted. The first
	// failure after that is.
	Held bool          `json:"held,omitempty"`
	Last notify.Detail `json:"last"` // of the latest failure, for reminders
	// Messages are the latest messages about these failures. A success withdraws those
	// that no receiver has accepted yet.
	Messages []store.AlertMessage `json:"messages,omitempty"`
}

// ReadHistory returns the history in the Data of a state.
func ReadHistory(data rawjson.Value) (h History) {
	decode(data, &h)
	return h
}

// Reported reads from the Data of a state whether failures in a row were reported, and how
// many there are. It doesn't decode the rest, which takes ten times as long: the overview
// reads a thousand states.
func Reported(data rawjson.Value) (failures int, sent bool) {
	failures, _ = strconv.Atoi(string(rawjson.Get(data, "failures"))) // 0 without any
	return failures, string(rawjson.Get(data, "sent")) == "true"
}

// Signal is what an outcome means: the type of a message, or "" for nothing to
// report.
type Signal string

// Failure adds a failure. The first one that makes After in a row is reported, unless
// a success has already followed: then it is overtaken. While the schedule is muted none
// is; the first one after that is reported in any case.
func (h History) Failure(d *Definition, detail notify.Detail, muted bool, overtaken func() bool) (History, Signal) {
	h.Failures++
	h.Last = detail
	switch {
	case !d.Failed || h.Failures < d.After:
	case muted:
		h.Held = true
	case (!h.Sent || h.Held) && !overtaken():
		h.Sent, h.Held = true, false
		return h, notify.Failed
	}
	return h, ""
}

// Success ends a row of failures. It is reported if the failures were, or would have
// been by an alert that reports no failures.
func (h History) Success(d *Definition) Signal {
	if d.Recovered && (h.Sent || !d.Failed && h.Failures >= d.After) {
		return notify.Recovered
	}
	return ""
}

// keep adds messages about the failures.
func (h *History) keep(sent []store.AlertMessage) {
	h.Messages = append(h.Messages, sent...)
	h.Messages = h.Messages[max(0, len(h.Messages)-maxSent):]
}

package alert

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

// Definition is what an alert watches and where it sends messages.
type Definition struct {
	// What the alert reports.
	Failed, Recovered, Late, Skipped, Ended bool
	// After is how many failures in a row are reported, at least 1.
	After int
	// LateBy is how late a run is that is reported, at least a second.
	LateBy time.Duration
	// RemindEvery is the interval of reminders, at least a second; 0 for none.
	RemindEvery time.Duration
	Tags        []string  // that a job must have, all of them
	Schedule    uuid.UUID // whose runs are watched; uuid.Nil for all jobs
	To          []Receiver
}

// Receiver is where an alert sends messages.
type Receiver struct {
	Channel job.Channel
	// Target is the URL that stands for the receiver: https, or mailto: with an address.
	// Its channel says where deliveries go.
	Target string
}

// Matches reports whether the alert watches a job.
func (d *Definition) Matches(schedule uuid.UUID, tags []string) bool {
	if d.Schedule != uuid.Nil && d.Schedule != schedule {
		return false
	}
	for _, tag := range d.Tags {
		if !slices.Contains(tags, tag) {
			return false
		}
	}
	return true
}

// Mails returns the addresses of the receivers that get e-mails.
func (d *Definition) Mails() (addresses []string) {
	for _, r := range d.To {
		if r.Channel == job.AlertMail {
			addresses = append(addresses, strings.TrimPrefix(r.Target, "mailto:"))
		}
	}
	return addresses
}

// IsName reports whether a text can be the name of an alert: a letter or a digit,
// then up to 63 of these and of : . _ -
func IsName(text string) bool {
	return job.IsTag(strings.ToLower(text)) && strings.IndexFunc(text, func(r rune) bool { return r > 127 }) < 0
}

// Parse reads a definition that Read has accepted.
func Parse(definition rawjson.Value) *Definition {
	d, err := Read(definition, Checks{Mail: true, Stored: true, Targets: job.ReadOptions{AllowHTTP: true}})
	if err != nil {
		return &Definition{After: 1, LateBy: defaultLate} // can't happen: it reports nothing
	}
	return &d.Definition
}

package alert

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

const (
	// MaxNotices is how many of its latest messages an alert keeps.
	MaxNotices = 20
	// maxShown is how many bytes of a receiver's name a notice keeps.
	maxShown = 80
)

// Notice is a message that an alert has put in the queue for its receivers.
type Notice struct {
	At       time.Time `json:"at"`
	Type     string    `json:"type"`     // as in notify.Message
	Schedule uuid.UUID `json:"schedule"` // uuid.Nil for one-off jobs and merged messages
	Job      int64     `json:"job,omitempty"`
	Failures int       `json:"failures,omitempty"` // in a row
	// To are the receivers as lists show them, without credentials: at most MaxReceivers.
	To []string `json:"to"`
	// Left is how many e-mails the limit of the account has left out.
	Left int `json:"left,omitempty"`
}

// ReadNotices returns the notices in the Data of an alert, the latest first: at most
// MaxNotices.
func ReadNotices(data rawjson.Value) []Notice {
	var d alertData
	decode(data, &d)
	slices.Reverse(d.Notices)
	return d.Notices
}

// note adds a message to the notices of an alert and forgets the oldest ones.
func (d *alertData) note(m *notify.Message, at time.Time, to []string, left int) {
	d.Notices = append(d.Notices, Notice{
		At: at.UTC(), Type: m.Type, Schedule: m.Schedule, Job: m.Job, Failures: m.Failures, To: to, Left: left,
	})
	if n := len(d.Notices) - MaxNotices; n > 0 {
		d.Notices = slices.Delete(d.Notices, 0, n)
	}
}

// shown returns what a notice keeps of a receiver.
func (r *Receiver) shown() string {
	text := notify.ChannelOf(r.Channel).Shown(r.Target)
	return text[:min(maxShown, len(text))]
}

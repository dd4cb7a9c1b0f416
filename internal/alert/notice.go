package alert

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// MaxNotices is how many of its latest messages an alert keeps at most.
	MaxNotices = 20
	// MaxNoticeBytes is the maximum size of what an alert keeps of its messages, in bytes
	// of JSON. It is read and written whenever the account is tracked.
	MaxNoticeBytes = 2 << 10
	// maxNamed is how many receivers a notice names, maxShown how many bytes of a name it
	// keeps.
	maxNamed = 3
	maxShown = 80
)

// Notice is a message that an alert has put in the queue for its receivers.
type Notice struct {
	At       time.Time `json:"at"`
	Type     string    `json:"type"`              // as in notify.Message
	Schedule uuid.UUID `json:"schedule,omitzero"` // uuid.Nil for one-off jobs and merged messages
	Job      int64     `json:"job,omitempty"`
	Failures int       `json:"failures,omitempty"` // in a row
	// To are the first receivers as lists show them, without credentials: at most maxNamed.
	To []string `json:"to"`
	// Messages is how many receivers it was for, and ID stands for the ids of these
	// deliveries: see MessageID. It is uuid.Nil if they are not known.
	Messages int       `json:"messages,omitempty"`
	ID       uuid.UUID `json:"id,omitzero"`
	// Left is how many e-mails the limit of the account has left out.
	Left int `json:"left,omitempty"`
	// Results are those of the receivers that have answered or were given up: at most one
	// of each message.
	Results []Result `json:"results,omitempty"`
}

// Result is what became of the message to one receiver.
type Result struct {
	Place  int      `json:"p"`           // as in MessageID
	Status int      `json:"s,omitempty"` // of the last response; 0 for none
	Error  job.Kind `json:"e,omitempty"` // why there was none
	// GivenUp is after how many attempts the message was given up; 0 if it was accepted.
	GivenUp int `json:"n,omitempty"`
}

// ReadNotices returns the notices in the Data of an alert, the latest first: at most
// MaxNotices in MaxNoticeBytes. It leaves out those from before since, and the names of
// receivers that the definition doesn't have any more.
func ReadNotices(data rawjson.Value, definition *Definition, since time.Time) []Notice {
	var d alertData
	decode(data, &d)
	d.pruneNotices(definition, since)
	slices.Reverse(d.Notices)
	return d.Notices
}

// MessageID returns the MessageID of one of the deliveries that an id stands for, counted
// from 0.
func MessageID(id uuid.UUID, place int) string {
	return "msg_" + uuid.NewSHA1(id, []byte{byte(place)}).String()
}

// answered keeps what became of a message, with the notice that it belongs to. Notices
// that are no longer kept are passed over.
func (t *tracker) answered(e *store.AlertOutcome) {
	var a store.AlertAnswer
	decode(e.Detail, &a)
	for _, w := range t.alerts {
		for i := range w.data.Notices {
			n := &w.data.Notices[i]
			if n.Job != e.Job || n.ID == uuid.Nil {
				continue
			}
			for place := range min(n.Messages, MaxReceivers) {
				if MessageID(n.ID, place) == a.ID {
					n.keep(place, &a)
					w.changed = true
					return
				}
			}
		}
	}
}

// keep sets the result of a message.
func (n *Notice) keep(place int, a *store.AlertAnswer) {
	n.Results = slices.DeleteFunc(n.Results, func(r Result) bool { return r.Place == place })
	r := Result{Place: place, Status: a.Status, Error: a.Error}
	if a.GivenUp {
		r.GivenUp = max(1, a.Attempts)
	}
	n.Results = append(n.Results, r)
}

// note adds a message to the notices of an alert.
func (d *alertData) note(n *Notice, m *notify.Message, at time.Time) {
	n.At, n.Type, n.Schedule, n.Job, n.Failures = at.UTC(), m.Type, m.Schedule, m.Job, m.Failures
	d.Notices = append(d.Notices, *n)
}

// pruneNotices forgets the notices from before since, the names of receivers that the
// definition doesn't have any more, and the oldest notices over the limits.
func (d *alertData) pruneNotices(definition *Definition, since time.Time) {
	d.Notices = slices.DeleteFunc(d.Notices, func(n Notice) bool { return n.At.Before(since) })
	known := map[string]bool{}
	for i := range definition.To {
		known[definition.To[i].shown()] = true
	}
	first, size := len(d.Notices), len("[]")
	for first > max(0, len(d.Notices)-MaxNotices) {
		n := &d.Notices[first-1]
		n.To = slices.DeleteFunc(n.To, func(name string) bool { return !known[name] })
		n.To = n.To[:min(maxNamed, len(n.To))]
		if size += len(encode(n)) + len(","); size > MaxNoticeBytes {
			break
		}
		first--
	}
	d.Notices = slices.Delete(d.Notices, 0, first)
}

// shown returns what a notice keeps of a receiver.
func (r *Receiver) shown() string {
	return notify.Cut(notify.ChannelOf(r.Channel).Shown(r.Target), maxShown)
}

// add adds a receiver and returns the MessageID of its delivery.
func (n *Notice) add(r *Receiver) string {
	if len(n.To) < maxNamed {
		n.To = append(n.To, r.shown())
	}
	n.Messages++
	return MessageID(n.ID, n.Messages-1)
}

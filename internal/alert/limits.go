package alert

import (
	"encoding/json"
	"time"

	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

const (
	// maxMessages is how many messages an alert sends in a minute. The others of
	// that minute become one.
	maxMessages = 20
	// maxDeliveries is how many deliveries the alerts of an account cause in a
	// minute before their messages are merged.
	maxDeliveries = 1000
	minute        = time.Minute
	hour          = time.Hour
)

// alertData is what the tracker keeps of an alert. Times are in microseconds.
type alertData struct {
	Since  int64          `json:"since,omitempty"` // when the minute of Sent began
	Sent   int            `json:"sent,omitempty"`  // messages in that minute
	Merged map[string]int `json:"merged,omitempty"`
	Job    int64          `json:"job,omitempty"` // the latest of those merged

	// The last queue item looked at for lateness.
	LateDue    int64 `json:"late_due,omitempty"`
	LateNumber int64 `json:"late_number,omitempty"`

	Notices []Notice `json:"notices,omitempty"` // the latest, oldest first
}

// accountData is what the tracker keeps of an account. Times are in microseconds.
type accountData struct {
	Minute int64 `json:"minute,omitempty"`
	Sent   int   `json:"sent,omitempty"` // deliveries in that minute
	Hour   int64 `json:"hour,omitempty"`
	Mails  int   `json:"mails,omitempty"`  // e-mails in that hour
	Held   int   `json:"held,omitempty"`   // e-mails of that hour that were not sent
	Unsent int   `json:"unsent,omitempty"` // those of the hour before, until an e-mail tells
}

// roll begins a new minute or hour when the old one is over.
func (a *accountData) roll(now int64) {
	if now-a.Minute >= minute.Microseconds() {
		a.Minute, a.Sent = now, 0
	}
	if now-a.Hour >= hour.Microseconds() {
		a.Unsent += a.Held
		a.Hour, a.Mails, a.Held = now, 0, 0
	}
}

// takeMail reports whether one more e-mail may be sent, and counts it.
func (a *accountData) takeMail() bool {
	if a.Mails >= notify.MaxMails {
		a.Held++
		return false
	}
	a.Mails++
	return true
}

// TakeMails adds to changes n e-mails that are sent outside the queue, and returns
// how many of them may be sent.
func TakeMails(c *store.AlertChanges, n int) int {
	var a accountData
	decode(c.Data, &a)
	taken := max(0, min(n, notify.MaxMails-a.Mails))
	a.Mails += taken
	c.Data = encode(&a)
	return taken
}

// decode reads what encode wrote. What can't be read is as good as nothing.
func decode(v rawjson.Value, to any) {
	if v != nil {
		_ = json.Unmarshal(v, to)
	}
}

func encode(v any) rawjson.Value {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // can't happen: only strings and numbers
	}
	return b
}

package alert

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/store"
)

// send sends a message to the receivers of an alert, or adds it to those that
// will be sent as one. It returns what it has sent.
func (t *tracker) send(w *watched, kind string, m *notify.Message) []store.AlertMessage {
	t.flush(w)
	m.Type = kind
	w.changed = true
	if w.data.Sent >= maxMessages || t.account.Sent+len(w.def.To) > maxDeliveries {
		if w.data.Merged == nil {
			w.data.Merged = map[string]int{}
		}
		w.data.Merged[kind]++
		w.data.Job = m.Job
		return nil
	}
	w.data.Sent++
	return t.deliver(w, m)
}

// flush begins a new minute of an alert when the old one is over: what was merged
// in the old one is sent.
func (t *tracker) flush(w *watched) {
	if t.now-w.data.Since < minute.Microseconds() {
		return
	}
	merged, last := w.data.Merged, w.data.Job
	w.data.Since, w.data.Sent, w.data.Merged, w.data.Job = t.now, 0, nil, 0
	if len(merged) > 0 {
		w.changed = true
		w.data.Sent = 1
		t.deliver(w, &notify.Message{Type: notify.Merged, At: t.m.Now, Job: last, Merged: merged})
	}
}

// deliver adds a delivery for each receiver. E-mails over the account's limit are
// left out; a later one says how many.
func (t *tracker) deliver(w *watched, m *notify.Message) (sent []store.AlertMessage) {
	m.Alert, m.Account, m.At = w.Name, t.m.Owner.ID, m.At.UTC().Truncate(time.Microsecond)
	if t.Link != nil && m.Job != 0 {
		m.Link = t.Link(m.Job)
	}
	notice := Notice{ID: uuid.New()}
	for _, r := range w.def.To {
		m.Unsent = 0
		if r.Channel == job.AlertMail {
			if !t.account.takeMail() {
				notice.Left++
				continue
			}
			m.Unsent, t.account.Unsent = t.account.Unsent, 0
		}
		t.account.Sent++
		d := Delivery(t.m.Owner, r, m, t.m.Now)
		d.MessageID = notice.add(&r)
		t.changes.Deliveries = append(t.changes.Deliveries, d)
		sent = append(sent, store.AlertMessage{Job: d.Job, ID: d.MessageID})
	}
	w.data.note(&notice, m, t.m.Now)
	return sent
}

package alert

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/notify"
	"github.com/punctual-dev/punctual/internal/store"
)

// LateRun is a queue item that may be late.
type LateRun struct {
	store.QueueKey
	Schedule uuid.UUID // uuid.Nil for a one-off job
	Tags     []string
	Detail   notify.Detail
}

// Input is what the tracker gets beside the Snapshot.
type Input struct {
	// Late are the queue items given to AlertTrack, in order of due time and number.
	Late []LateRun
	// Link returns where a job is shown; nil if that is not known.
	Link func(job int64) string
	// HeldBack reports whether a limit holds a queue item back, so that it doesn't
	// count as late. Nil: none does.
	HeldBack func(store.QueueKey) bool
	// Retention is how long notices are kept; 0: until others take their place.
	Retention time.Duration
}

// tracker turns one Snapshot into changes.
type tracker struct {
	Input
	m       *store.AlertSnapshot
	now     int64 // microseconds
	account accountData
	alerts  []*watched
	states  map[store.AlertStateKey]*state
	order   []*state
	changes store.AlertChanges
}

// watched is an alert with what the tracker keeps.
type watched struct {
	*store.Alert
	def     *Definition
	data    alertData
	changed bool
}

// state is a state with its history.
type state struct {
	store.AlertState
	history History
	stored  bool // in the Snapshot
	changed bool
	ended   bool
}

// Track decides what the alerts of an account send.
func Track(m *store.AlertSnapshot, in Input) *store.AlertChanges {
	t := &tracker{Input: in, m: m, now: m.Now.UnixMicro(), states: make(map[store.AlertStateKey]*state, len(m.States))}
	decode(m.Data, &t.account)
	t.account.roll(t.now)
	for _, a := range m.Alerts {
		w := &watched{Alert: a, def: Parse(a.Definition)}
		decode(a.Data, &w.data)
		t.alerts = append(t.alerts, w)
		t.flush(w)
	}
	for i := range m.States {
		s := &state{AlertState: m.States[i], stored: true}
		decode(s.Data, &s.history)
		t.states[s.AlertStateKey] = s
		t.order = append(t.order, s)
	}
	for i := range m.Events {
		t.event(i)
	}
	t.late()
	t.remind()
	return t.finish()
}

// event tells the outcome at a place among the events to every alert that matches.
func (t *tracker) event(place int) {
	e := &t.m.Events[place]
	if e.Kind == store.AlertAnswered {
		t.answered(e)
		return
	}
	tags := strings.Fields(e.Tags)
	var detail notify.Detail
	decode(e.Detail, &detail)
	for _, w := range t.alerts {
		if !w.def.Matches(e.Schedule, tags) {
			continue
		}
		message := notify.Message{At: e.At, Schedule: e.Schedule, Job: e.Job, Detail: detail}
		switch {
		case e.Kind == store.AlertSkipped && w.def.Skipped:
			t.send(w, notify.Skipped, &message)
		case e.Kind == store.AlertEnded && w.def.Ended:
			t.send(w, notify.Ended, &message)
		case e.Kind == store.AlertSucceeded || e.Kind == store.AlertFailed:
			t.observe(w, place, &message)
		}
	}
}

// observe adds the outcome at a place to the history of an alert.
func (t *tracker) observe(w *watched, place int, message *notify.Message) {
	e := &t.m.Events[place]
	key := store.AlertStateKey{Schedule: e.Schedule, Alert: w.Name, Kind: store.AlertFailing}
	s := t.states[key]
	if e.Kind == store.AlertSucceeded {
		if s == nil || s.ended {
			return
		}
		signal := s.history.Success(w.def)
		s.ended = true
		t.changes.Withdrawn = append(t.changes.Withdrawn, s.history.Messages...)
		if signal != "" {
			t.send(w, string(signal), message)
		}
		return
	}
	s = t.state(key)
	history, signal := s.history.Failure(w.def, message.Detail, t.m.Muted[e.Schedule], func() bool { return t.overtaken(w, place) })
	s.history, s.Job = history, e.Job
	if signal != "" {
		message.Failures = history.Failures
		s.history.keep(t.send(w, string(signal), message))
	}
	if history.Sent && s.WakeAt.IsZero() && w.def.RemindEvery > 0 {
		s.WakeAt = t.m.Now.Add(w.def.RemindEvery)
	}
}

// overtaken reports whether a success follows the failure at a place.
func (t *tracker) overtaken(w *watched, place int) bool {
	schedule := t.m.Events[place].Schedule
	return slices.ContainsFunc(t.m.Events[place+1:], func(e store.AlertOutcome) bool {
		return e.Kind == store.AlertSucceeded && e.Schedule == schedule && w.def.Matches(schedule, strings.Fields(e.Tags))
	})
}

// state returns a state to be changed. One that has ended begins anew.
func (t *tracker) state(key store.AlertStateKey) *state {
	s := t.states[key]
	if s == nil {
		s = &state{AlertState: store.AlertState{AlertStateKey: key}}
		t.states[key] = s
		t.order = append(t.order, s)
	}
	if s.ended {
		s.AlertState = store.AlertState{AlertStateKey: key}
		s.history, s.ended = History{}, false
	}
	s.changed = true
	return s
}

// late reports the runs that are late and haven't been looked at.
func (t *tracker) late() {
	for _, w := range t.alerts {
		if !w.def.Late {
			continue
		}
		for i := range t.Late {
			run := &t.Late[i]
			due := run.Due.UnixMicro()
			if due > t.now-w.def.LateBy.Microseconds() {
				break
			}
			if due < w.data.LateDue || due == w.data.LateDue && run.Number <= w.data.LateNumber {
				continue
			}
			w.data.LateDue, w.data.LateNumber, w.changed = due, run.Number, true
			if t.m.Late[i] && w.def.Matches(run.Schedule, run.Tags) && (t.HeldBack == nil || !t.HeldBack(run.QueueKey)) {
				t.lateRun(w, run)
			}
		}
	}
}

func (t *tracker) lateRun(w *watched, run *LateRun) {
	t.send(w, notify.Late, &notify.Message{At: t.m.Now, Schedule: run.Schedule, Job: run.Number, Detail: run.Detail})
	if w.def.RemindEvery > 0 {
		s := t.state(store.AlertStateKey{Schedule: run.Schedule, Alert: w.Name, Kind: store.AlertLate})
		s.Job, s.history, s.WakeAt = run.Number, History{Last: run.Detail}, t.m.Now.Add(w.def.RemindEvery)
	}
}

// remind sends the reminders that are due, for what still lasts.
func (t *tracker) remind() {
	byName := make(map[string]*watched, len(t.alerts))
	for _, w := range t.alerts {
		byName[w.Name] = w
	}
	for _, s := range t.order {
		if s.ended || s.WakeAt.IsZero() || s.WakeAt.After(t.m.Now) {
			continue
		}
		w := byName[s.Alert]
		s.changed = true
		switch {
		case w == nil:
			s.ended = true
		case s.Lasts && w.def.RemindEvery > 0 && t.reminds(w, s):
			t.reminder(w, s)
		case s.Kind == store.AlertLate:
			s.ended = true
		default:
			s.WakeAt = time.Time{}
		}
	}
}

// reminds reports whether the alert still watches what a state is about.
func (t *tracker) reminds(w *watched, s *state) bool {
	return s.Kind == store.AlertFailing && w.def.Failed && s.history.Sent || s.Kind == store.AlertLate && w.def.Late
}

// reminder sends a reminder, unless it is about failures of a muted schedule, and sets when
// the next one is due.
func (t *tracker) reminder(w *watched, s *state) {
	message := &notify.Message{At: t.m.Now, Schedule: s.Schedule, Job: s.Job, Failures: s.history.Failures, Detail: s.history.Last}
	switch {
	case s.Kind == store.AlertLate:
		t.send(w, notify.Late, message)
	case !t.m.Muted[s.Schedule]:
		s.history.keep(t.send(w, notify.Failed, message))
	}
	s.WakeAt = s.WakeAt.Add(w.def.RemindEvery)
	if !s.WakeAt.After(t.m.Now) {
		s.WakeAt = t.m.Now.Add(w.def.RemindEvery)
	}
}

// finish encodes what has changed.
func (t *tracker) finish() *store.AlertChanges {
	for _, w := range t.alerts {
		if !w.changed {
			continue
		}
		w.data.pruneNotices(w.def, Since(t.m.Now, t.Retention))
		w.Data, w.WakeAt = encode(&w.data), time.Time{}
		if len(w.data.Merged) > 0 {
			w.WakeAt = time.UnixMicro(w.data.Since).Add(minute).UTC()
		}
		t.changes.Alerts = append(t.changes.Alerts, w.Alert)
	}
	for _, s := range t.order {
		switch {
		case s.ended && s.stored:
			t.changes.Ended = append(t.changes.Ended, s.AlertStateKey)
		case s.changed && !s.ended:
			s.Data = encode(&s.history)
			t.changes.States = append(t.changes.States, s.AlertState)
		}
	}
	t.changes.Data = encode(&t.account)
	return &t.changes
}

// Since returns from when on notices are kept; zero with a retention of 0.
func Since(now time.Time, retention time.Duration) time.Time {
	if retention <= 0 {
		return time.Time{}
	}
	return now.Add(-retention)
}

// Delivery returns a message to a receiver.
func Delivery(owner job.Owner, r Receiver, m *notify.Message, due time.Time) job.Delivery {
	channel := notify.ChannelOf(r.Channel)
	return job.Delivery{
		MessageID: "msg_" + uuid.NewString(), Owner: owner, Job: m.Job, Channel: r.Channel, URL: channel.EndpointOf(r.Target),
		Event: m.Type, DueAt: due,
		Body: channel.Body(m, r.Target),
	}
}

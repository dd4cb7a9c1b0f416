package storetest

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var alertTests = group{
	"PutGetListDelete":       alertRecords,
	"NoMoreThan100":          alertsFull,
	"Accounts":               alertAccounts,
	"OutcomesAreTrackedOnce": alertOutcomes,
	"OutcomeWithItsFinish":   alertOutcomeWithFinish,
	"Answers":                alertAnswers,
	"TrackAppliesChanges":    alertChanges,
	"AnotherMatchBeginsAnew": alertMatchChanged,
	"DueStatesLast":          alertStatesLast,
	"LateItems":              alertLateItems,
	"TakesTurns":             alertTurns,
	"DeletedWithTheAccount":  alertsPurged,
	"OnlyNew":                alertOnlyNew,
	"EndedStatesOfAccounts":  alertEndedStates,
	"WithdrawsMessages":      alertWithdrawn,
}

func (w *world) putAlert(owner job.Owner, name, definition string, late time.Duration) bool {
	w.Helper()
	a := &store.Alert{Owner: owner, Name: name, Definition: rawjson.Value(definition), Match: rawjson.Value(`{}`), LateBy: late}
	created, err := w.s.AlertPut(w.ctx, a, store.PutAlways)
	w.ok("AlertPut", err)
	return created
}

func alertRecords(w *world) {
	_, err := w.s.AlertGet(w.ctx, w.owner, "a")
	w.wantCode("reading what is not there", err, fault.NotFound)
	w.wantCode("deleting what is not there", w.s.AlertDelete(w.ctx, w.owner, "a"), fault.NotFound)
	for _, name := range []string{"b", "a", "B"} {
		if !w.putAlert(w.owner, name, `{"on":["late"]}`, 90*time.Second) {
			w.Errorf("%s was not created", name)
		}
	}
	w.putAlert(w.other, "a", `{"other":1}`, 0)
	if w.putAlert(w.owner, "a", `{"on":["failed"]}`, 0) {
		w.Error("a was created twice")
	}
	a, err := w.s.AlertGet(w.ctx, w.owner, "a")
	w.ok("AlertGet", err)
	if string(a.Definition) != `{"on":["failed"]}` || a.LateBy != 0 || a.InsertedAt.IsZero() || a.UpdatedAt.Before(a.InsertedAt) ||
		a.Owner != w.owner {
		w.Errorf("read %+v", a)
	}
	again := *a
	_, err = w.s.AlertPut(w.ctx, &again, store.PutAlways)
	w.ok("AlertPut", err)
	if !again.UpdatedAt.Equal(a.UpdatedAt) || !again.InsertedAt.Equal(a.InsertedAt) {
		w.Errorf("an equal definition was updated at %v, not %v", again.UpdatedAt, a.UpdatedAt)
	}
	w.wantAlerts("B a b")
	w.ok("AlertDelete", w.s.AlertDelete(w.ctx, w.owner, "a"))
	w.wantAlerts("B b")
}

// waiting stores a job that is due soon.
func (w *world) waiting(owner job.Owner) *job.Job {
	w.Helper()
	return w.insertOne(w.oneOff(owner, w.ahead()))
}

func (w *world) wantAlerts(want string) {
	w.Helper()
	alerts, err := w.s.AlertList(w.ctx, w.owner)
	w.ok("AlertList", err)
	var names []string
	for _, a := range alerts {
		names = append(names, a.Name)
	}
	w.same("the alerts", strings.Join(names, " "), want)
}

func alertsFull(w *world) {
	for i := range store.MaxAlerts {
		w.putAlert(w.owner, fmt.Sprint("a", i), `{}`, 0)
	}
	_, err := w.s.AlertPut(w.ctx, &store.Alert{Owner: w.owner, Name: "more", Definition: rawjson.Value(`{}`), Match: rawjson.Value(`{}`)},
		store.PutAlways)
	w.wantCode("one more", err, fault.Invalid)
	w.putAlert(w.owner, "a7", `{"a":1}`, 0)
	w.putAlert(w.other, "more", `{}`, 0)
	large := rawjson.Quote(strings.Repeat("x", store.MaxAlertBytes-3))
	for _, name := range []string{"large", "more"} {
		_, err = w.s.AlertPut(w.ctx, &store.Alert{Owner: w.other, Name: name, Definition: large, Match: rawjson.Value(`{}`)},
			store.PutAlways)
		if name == "large" {
			w.wantCode("more bytes", err, fault.Invalid)
		} else {
			w.ok("AlertPut of what replaces the only one", err)
		}
	}
}

func alertAccounts(w *world) {
	read := func(known int64, want map[int64]store.LateRange) int64 {
		w.Helper()
		revision, accounts, err := w.s.AlertAccounts(w.ctx, known)
		w.ok("AlertAccounts", err)
		w.same("the accounts", fmt.Sprint(accounts), fmt.Sprint(want))
		return revision
	}
	revision := read(0, map[int64]store.LateRange{})
	read(revision, nil)
	w.putAlert(w.owner, "a", `{}`, time.Minute)
	w.putAlert(w.owner, "b", `{}`, time.Hour)
	w.putAlert(w.owner, "c", `{}`, 0)
	w.putAlert(w.other, "a", `{}`, 0)
	revision = read(revision, map[int64]store.LateRange{w.owner.Number: {Min: time.Minute, Max: time.Hour}, w.other.Number: {}})
	read(revision, nil)
	w.ok("AlertDelete", w.s.AlertDelete(w.ctx, w.other, "a"))
	w.ok("AlertDelete", w.s.AlertDelete(w.ctx, w.owner, "a"))
	read(revision, map[int64]store.LateRange{w.owner.Number: {Min: time.Hour, Max: time.Hour}})
}

// record stores outcomes of a job, as the end of it would.
func (w *world) record(j *job.Job, outcomes ...store.AlertOutcome) {
	w.Helper()
	for i := range outcomes {
		o := &outcomes[i]
		o.Owner, o.Job, o.Schedule = j.Owner, j.Number, j.ScheduleID
		if o.Detail == nil {
			o.Detail = rawjson.Value(`{}`)
		}
	}
	_, err := w.s.JobChange(w.ctx, j.Owner, job.Ref{Number: j.Number},
		func(*store.Snapshot) *store.Changes { return &store.Changes{Outcomes: outcomes} })
	w.ok("JobChange", err)
}

// trackAlerts calls AlertTrack and returns the Snapshot.
func (w *world) trackAlerts(owner job.Owner, late []store.QueueKey, c *store.AlertChanges) (m store.AlertSnapshot) {
	w.Helper()
	_, err := w.s.AlertTrack(w.ctx, owner.Number, late, func(s *store.AlertSnapshot) *store.AlertChanges {
		m = *s
		return c
	})
	w.ok("AlertTrack", err)
	return m
}

func (w *world) wantPending(want ...int64) time.Time {
	w.Helper()
	accounts, next, err := w.s.AlertsPending(w.ctx, 10)
	w.ok("AlertsPending", err)
	w.same("the accounts", fmt.Sprint(accounts), fmt.Sprint(want))
	return next
}

func alertOutcomes(w *world) {
	w.putAlert(w.owner, "a", `{"a":1}`, time.Minute)
	w.wantPending()
	mine, theirs := w.waiting(w.owner), w.waiting(w.other)
	at := w.now.Add(time.Second)
	w.record(mine, store.AlertOutcome{Kind: store.AlertFailed, At: at, Tags: "x y", Detail: rawjson.Value(`{"a":"é\u0000"}`)},
		store.AlertOutcome{Kind: store.AlertSucceeded, At: at})
	w.record(theirs, store.AlertOutcome{Kind: store.AlertFailed, At: at})
	w.wantPending(w.owner.Number, w.other.Number)
	if m := w.trackAlerts(w.other, nil, nil); len(m.Alerts) != 0 || len(m.Events) != 0 {
		w.Errorf("an account without alerts was tracked: %+v", m)
	}
	w.wantPending(w.owner.Number)
	m := w.trackAlerts(w.owner, nil, nil)
	if len(m.Events) != 2 || len(m.Alerts) != 1 || m.Alerts[0].Name != "a" || m.Alerts[0].LateBy != time.Minute || m.Owner != w.owner ||
		m.Now.Before(w.now) {
		w.Fatalf("tracked %+v", m)
	}
	e := m.Events[0]
	if e.Job != mine.Number || e.Schedule != uuid.Nil || e.Kind != store.AlertFailed || !e.At.Equal(at) || e.Tags != "x y" ||
		string(e.Detail) != `{"a":"é\u0000"}` || e.Owner != w.owner {
		w.Errorf("read %+v", e)
	}
	if m.Events[1].Kind != store.AlertSucceeded {
		w.Errorf("the second event is %+v", m.Events[1])
	}
	w.wantPending()
	if m := w.trackAlerts(w.owner, nil, nil); len(m.Events) != 0 {
		w.Errorf("events were tracked twice: %+v", m.Events)
	}
}

// alertAnswers: what became of a message of an alert is stored with the end of its
// delivery, and only then.
func alertAnswers(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a")
	answer := &store.AlertOutcome{Owner: j.Owner, Job: j.Number, Kind: store.AlertAnswered, At: w.now,
		Detail: rawjson.Value(`{"id":"msg_1","attempts":1}`)}
	w.tryNamed("a", store.DeliveryEnd{Attempt: 1, Outcome: answer})
	m := w.trackAlerts(w.owner, nil, nil)
	if len(m.Events) != 1 || m.Events[0].Kind != store.AlertAnswered || m.Events[0].Job != j.Number || m.Events[0].Schedule != uuid.Nil ||
		string(m.Events[0].Detail) != string(answer.Detail) {
		w.Errorf("tracked %+v", m.Events)
	}
}

// alertOutcomeWithFinish: an outcome is stored if and only if the end of the job is.
func alertOutcomeWithFinish(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.waiting(w.owner)
	w.begin(j)
	finish := store.Finish{QueueKey: refOf(j), Node: w.node, Attempt: 1, Job: j, Decide: func(*store.Snapshot) *store.Changes {
		done := *j
		done.Discard(w.now)
		return &store.Changes{Job: &done, Outcomes: []store.AlertOutcome{{Owner: j.Owner, Job: j.Number, Kind: store.AlertFailed, At: w.now,
			Detail: rawjson.Value(`{}`)}}}
	}}
	for i, want := range []bool{true, false} {
		held, err := w.s.QueueFinish(w.ctx, []store.Finish{finish})
		w.ok("QueueFinish", err)
		if held[0] != want {
			w.Errorf("end %d: held %t", i, held[0])
		}
	}
	if m := w.trackAlerts(w.owner, nil, nil); len(m.Events) != 1 {
		w.Errorf("%d events, want 1", len(m.Events))
	}
}

func alertChanges(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.insertOne(w.recurring(w.owner, w.ahead()))
	key := store.AlertStateKey{Schedule: j.ScheduleID, Alert: "a", Kind: store.AlertFailing}
	soon, later := w.s.Now().Add(time.Hour), w.s.Now().Add(2*time.Hour)
	w.trackAlerts(w.owner, nil, &store.AlertChanges{
		Data:   rawjson.Value(`{"n":1}`),
		Alerts: []*store.Alert{{Name: "a", Data: rawjson.Value(`{"m":2}`), WakeAt: later}},
		States: []store.AlertState{{AlertStateKey: key, Job: 7, WakeAt: soon, Data: rawjson.Value(`{"f":3}`)},
			{AlertStateKey: store.AlertStateKey{Alert: "a", Kind: store.AlertFailing}}},
		Deliveries: []job.Delivery{{
			MessageID: "msg_1", Owner: w.owner, Job: j.Number, Channel: job.AlertWebhook, URL: "https://receiver.example/",
			Event: "alert.failed", DueAt: w.now, Body: rawjson.Value(`{"a":1}`),
		}},
	})
	if next := w.wantPending(); !next.Equal(soon.Truncate(time.Microsecond)) {
		w.Errorf("wakes at %v, want %v", next, soon)
	}
	messages, err := w.s.JobMessages(w.ctx, w.owner, j.Number, 10)
	w.ok("JobMessages", err)
	if len(messages) != 0 {
		w.Errorf("the job's own messages have %+v", messages[0])
	}
	for _, limit := range []int{1, 10} {
		states, err := w.s.AlertStates(w.ctx, w.owner, limit)
		w.ok("AlertStates", err)
		if len(states) != min(limit, 2) || states[0].Schedule != uuid.Nil || len(states) == 2 &&
			(states[1].AlertStateKey != key || string(states[1].Data) != `{"f":3}`) {
			w.Errorf("%d states: %+v", limit, states)
		}
	}
	w.record(j, store.AlertOutcome{Kind: store.AlertFailed, At: w.now})
	m := w.trackAlerts(w.owner, nil, &store.AlertChanges{Data: rawjson.Value(`{"n":2}`), Ended: []store.AlertStateKey{key},
		Alerts: []*store.Alert{{Name: "a"}}})
	if string(m.Data) != `{"n":1}` || string(m.Alerts[0].Data) != `{"m":2}` ||
		!m.Alerts[0].WakeAt.Equal(later.Truncate(time.Microsecond)) || len(m.States) != 1 {
		w.Fatalf("kept %+v", m)
	}
	if s := m.States[0]; s.AlertStateKey != key || s.Job != 7 || string(s.Data) != `{"f":3}` ||
		!s.WakeAt.Equal(soon.Truncate(time.Microsecond)) {
		w.Errorf("state %+v", s)
	}
	if next := w.wantPending(); !next.IsZero() {
		w.Errorf("wakes at %v, want never", next)
	}
	queued := w.peekKind(store.KindDelivery)
	if len(queued) != 1 {
		w.Fatalf("%d deliveries in the queue, want 1", len(queued))
	}
	loaded, err := w.s.QueueLoad(w.ctx, queued)
	w.ok("QueueLoad", err)
	if d := loaded[0].Delivery; d.Channel != job.AlertWebhook || d.Event != "alert.failed" || string(d.Body) != `{"a":1}` ||
		d.URL != "https://receiver.example/" {
		w.Errorf("delivery %+v", d)
	}
	w.alertMessages(j, "msg_1")
}

func alertMatchChanged(w *world) {
	w.putAlert(w.owner, "a", `{"n":1}`, 0)
	w.putAlert(w.owner, "b", `{}`, 0)
	j := w.insertOne(w.recurring(w.owner, w.ahead()))
	states := func() int {
		w.record(j, store.AlertOutcome{Kind: store.AlertFailed, At: w.now})
		return len(w.trackAlerts(w.owner, nil, nil).States)
	}
	w.trackAlerts(w.owner, nil, &store.AlertChanges{States: []store.AlertState{
		{AlertStateKey: store.AlertStateKey{Schedule: j.ScheduleID, Alert: "a", Kind: store.AlertFailing}},
		{AlertStateKey: store.AlertStateKey{Schedule: j.ScheduleID, Alert: "b", Kind: store.AlertFailing}},
	}})
	w.putAlert(w.owner, "a", `{"n":2}`, 0)
	if n := states(); n != 2 {
		w.Errorf("%d states after another definition, want 2", n)
	}
	_, err := w.s.AlertPut(w.ctx, &store.Alert{Owner: w.owner, Name: "a", Definition: rawjson.Value(`{"n":3}`),
		Match: rawjson.Value(`{"tags":["x"]}`)}, store.PutAlways)
	w.ok("AlertPut", err)
	if n := states(); n != 1 {
		w.Errorf("%d states after another match, want 1", n)
	}
	w.ok("AlertDelete", w.s.AlertDelete(w.ctx, w.owner, "b"))
	if n := states(); n != 0 {
		w.Errorf("%d states after a delete, want 0", n)
	}
}

// alertStatesLast: a due state says whether what it is about still lasts.
func alertStatesLast(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.insertOne(w.recurring(w.owner, w.ahead()))
	past := w.s.Now().Add(-time.Second)
	w.trackAlerts(w.owner, nil, &store.AlertChanges{States: []store.AlertState{
		{AlertStateKey: store.AlertStateKey{Schedule: j.ScheduleID, Alert: "a", Kind: store.AlertFailing}, WakeAt: past},
		{AlertStateKey: store.AlertStateKey{Schedule: j.ScheduleID, Alert: "a", Kind: store.AlertLate}, Job: j.Number, WakeAt: past},
		{AlertStateKey: store.AlertStateKey{Alert: "a", Kind: store.AlertFailing}, WakeAt: past},
		{AlertStateKey: store.AlertStateKey{Schedule: uuid.New(), Alert: "a", Kind: store.AlertFailing}, WakeAt: past},
	}})
	w.wantPending(w.owner.Number)
	count := func(want int) {
		w.Helper()
		n := 0
		m := w.trackAlerts(w.owner, nil, nil)
		for _, s := range m.States {
			if s.Lasts {
				n++
			}
		}
		if n != want || len(m.States) != 4 {
			w.Errorf("%d of %d states last, want %d of 4", n, len(m.States), want)
		}
	}
	count(3)
	w.begin(j)
	count(2)
	_, err := w.s.ScheduleChange(w.ctx, w.owner, j.ScheduleID, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		s.DisabledAt = w.now
		return &store.Changes{Schedule: &s}
	})
	w.ok("ScheduleChange", err)
	count(1)
	n, err := w.s.AlertStatePrune(w.ctx, 10)
	w.ok("AlertStatePrune", err)
	if n != 1 {
		w.Errorf("deleted %d states of deleted schedules, want 1", n)
	}
}

func alertLateItems(w *world) {
	w.putAlert(w.owner, "a", `{}`, time.Minute)
	waiting, claimed := w.waiting(w.owner), w.waiting(w.owner)
	w.begin(claimed)
	gone := refOf(waiting)
	gone.Number = 1 << 40
	m := w.trackAlerts(w.owner, []store.QueueKey{refOf(waiting), refOf(claimed), gone}, nil)
	w.same("what still waits", fmt.Sprint(m.Late), "[true false false]")
}

// alertTurns: concurrent trackers of an account don't overlap, and each event is
// tracked once.
func alertTurns(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.waiting(w.owner)
	const events = 40
	var all sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for i := range 4 {
		all.Go(func() {
			for range events / 4 {
				if i%2 == 0 {
					w.record(j, store.AlertOutcome{Kind: store.AlertFailed, At: w.now},
						store.AlertOutcome{Kind: store.AlertFailed, At: w.now})
				}
				n := 0
				_, err := w.s.AlertTrack(w.ctx, w.owner.Number, nil, func(m *store.AlertSnapshot) *store.AlertChanges {
					n = len(m.Events)
					return &store.AlertChanges{Data: rawjson.Value(`{}`)}
				})
				if err != nil {
					w.Errorf("AlertTrack: %v", err)
				}
				mu.Lock()
				total += n
				mu.Unlock()
			}
		})
	}
	all.Wait()
	total += len(w.trackAlerts(w.owner, nil, nil).Events)
	if total != events {
		w.Errorf("tracked %d events, want %d", total, events)
	}
}

func alertsPurged(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	j := w.waiting(w.owner)
	w.record(j, store.AlertOutcome{Kind: store.AlertFailed, At: w.now})
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.wantPending()
	w.wantAlerts("")
}

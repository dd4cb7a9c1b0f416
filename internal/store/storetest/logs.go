package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var logTests = group{
	"HiddenUntilTheirTime": logsHidden,
	"ReadBackAsStored":     logsReadBack,
	"OthersFindNothing":    logsOfOthers,
	"ByJob":                logsByJob,
	"OutliveTheirJob":      logsOutliveJob,
	"WalkByCursor":         logsWalk,
	"SortedByEvent":        logsSorted,
	"ShownAtOnce":          logsShownAtOnce,
}

// logsHidden: the request log of an attempt is stored with its claim and
// invisible until the attempt starts.
func logsHidden(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	held, begun := w.hold(jobs[0]), w.begin(jobs[1])
	_, err := w.s.LogGet(w.ctx, w.owner, held.Log.ID)
	w.wantCode("a log from ahead", err, fault.NotFound)
	got, err := w.s.LogGet(w.ctx, w.owner, begun.Log.ID)
	w.ok("LogGet", err)
	w.same("a log", showLog(got), showLog(begun.Log))
	for _, q := range []job.LogQuery{
		{}, {Event: job.EventRequest}, {ListQuery: job.ListQuery{Order: job.Order{Field: "inserted_at", Desc: true}}},
		{ListQuery: job.ListQuery{Order: job.Order{Field: "event"}}},
	} {
		q.Limit = 10
		if logs := w.listLogs(w.owner, q); len(logs) != 1 || logs[0].ID != begun.Log.ID {
			w.Errorf("LogList(%+v) shows %s, want the one begun", q, show(logs, showLog))
		}
	}
	for _, id := range []job.Ref{{Number: jobs[0].Number}, {UUID: jobs[0].ID}} {
		if logs := w.listLogs(w.owner, job.LogQuery{ListQuery: top, Job: &id}); len(logs) != 0 {
			w.Errorf("the logs of a held job are %s", show(logs, showLog))
		}
	}
}

// logsShownAtOnce: a log with the current time is visible.
func logsShownAtOnce(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for range 50 {
		var log job.Log
		w.change(j, func(m *store.Snapshot) *store.Changes {
			log = w.log(j, job.EventError, m.Now)
			return &store.Changes{Logs: []job.Log{log}}
		})
		if logs := w.listLogs(w.owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 1}}); len(logs) != 1 || logs[0].ID != log.ID {
			w.Fatalf("the log of this moment, %s, is not shown, but %s", showLog(&log), show(logs, showLog))
		}
		_, err := w.s.LogGet(w.ctx, w.owner, log.ID)
		w.ok("LogGet", err)
	}
}

func logsReadBack(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	at := w.past()
	for _, event := range events {
		for _, s := range awkward {
			log := w.log(j, event, at)
			log.Payload = append(rawjson.AppendText([]byte(`{"n":12345678901234567890,"d":1.10,"nul":"\u0000","b":1,"a":`), s), '}')
			w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{log}} })
			got, err := w.s.LogGet(w.ctx, w.owner, log.ID)
			w.ok("LogGet", err)
			w.same("a log", showLog(got), showLog(&log))
			at = at.Add(time.Microsecond)
		}
	}
}

// logsSorted: every event is sorted by its name.
func logsSorted(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for i, event := range events {
		log := w.log(j, event, w.past().Add(time.Duration(i)*time.Microsecond))
		w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{log}} })
	}
	want := slices.Sorted(slices.Values(events))
	for _, desc := range []bool{false, true} {
		q := job.LogQuery{ListQuery: job.ListQuery{Limit: 100, Order: job.Order{Field: "event", Desc: desc}}}
		var got []string
		for _, log := range w.listLogs(w.owner, q) {
			got = append(got, log.Event)
		}
		w.same("the events in order", strings.Join(got, " "), strings.Join(want, " "))
		slices.Reverse(want)
	}
}

func logsOfOthers(w *world) {
	c := w.begin(w.insertOne(w.oneOff(w.owner, w.past())))
	_, err := w.s.LogGet(w.ctx, w.other, c.Log.ID)
	w.wantCode("another's log", err, fault.NotFound)
	_, err = w.s.LogGet(w.ctx, w.owner, uuid.New())
	w.wantCode("no log", err, fault.NotFound)
}

func logsByJob(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	for _, j := range jobs {
		w.settle(j, w.completes)
	}
	for _, id := range []job.Ref{{Number: jobs[0].Number}, {UUID: jobs[0].ID}} {
		logs := w.listLogs(w.owner, job.LogQuery{ListQuery: top, Job: &id})
		if len(logs) != 2 || logs[0].Event != job.EventResponse || logs[1].Event != job.EventRequest || logs[0].Job != jobs[0].Number {
			w.Errorf("the logs of %+v are %s", id, show(logs, showLog))
		}
	}
	for _, id := range []job.Ref{{Number: jobs[1].Number + 1}, {UUID: uuid.New()}} {
		if logs := w.listLogs(w.owner, job.LogQuery{ListQuery: top, Job: &id}); len(logs) != 0 {
			w.Errorf("the logs of no job are %s", show(logs, showLog))
		}
	}
}

func logsOutliveJob(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.settle(j, w.completes)
	if n, err := w.s.JobPrune(w.ctx, w.s.Now().Add(time.Minute), store.PruneCursor{}, 10); err != nil || n.Removed != 1 {
		w.Fatalf("JobPrune = %+v, %v", n, err)
	}
	if names := w.events(j); names != "http.request http.response" {
		w.Errorf("after its job was removed the logs are %q", names)
	}
}

func logsWalk(w *world) {
	m := w.populate(60)
	for _, event := range []string{"", job.EventRequest, job.EventError} {
		var walked []*job.Log
		for q := (job.LogQuery{ListQuery: job.ListQuery{Limit: 2}, Event: event}); ; {
			page := w.listLogs(w.owner, q)
			walked = append(walked, page...)
			if len(page) < q.Limit {
				break
			}
			q.AfterID = page[len(page)-1].ID
		}
		want := m.logList(w.owner, job.LogQuery{ListQuery: job.ListQuery{Limit: 1000}, Event: event})
		w.same("the walk", show(walked, showLog), show(want, showLog))
	}
}

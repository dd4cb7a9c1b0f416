package storetest

import (
	"errors"
	"fmt"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var refusalTests = group{
	"ARecordThatIsRefused":      refusalsRecord,
	"ADecisionThatPanics":       refusalsPanic,
	"LogsWithPartsOutlivePrune": refusalsPinned,
}

// wantUnstorable verifies the error of a write that can't be stored.
func (w *world) wantUnstorable(what string, err error) {
	w.Helper()
	if !errors.Is(err, store.ErrUnstorable) || fault.CodeOf(err) != fault.Invalid {
		w.Errorf("%s: %v, want an Invalid fault that is ErrUnstorable", what, err)
	}
}

func refusalsRecord(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	_, err := w.s.JobInsertMany(w.ctx, []store.NewJob{w.oneOff(w.owner, w.ahead()), w.twin(j)})
	w.wantUnstorable("an insert with a twin", err)
	c, twin := w.begin(j), w.twin(j)
	_, err = w.s.QueueFinish(w.ctx, []store.Finish{w.end(j, c, func(j *job.Job, c *store.Changes) {
		w.completes(j, c)
		c.Next = &twin
	})})
	w.wantUnstorable("a finish with a twin", err)
	w.finish(w.end(j, c, w.completes))
}

func refusalsPanic(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	first, second := w.begin(jobs[0]), w.begin(jobs[1])
	before := w.everything()
	bad := w.end(jobs[0], first, func(*job.Job, *store.Changes) { panic("a decision went off") })
	_, err := w.s.QueueFinish(w.ctx, []store.Finish{w.end(jobs[1], second, w.completes), bad})
	w.wantUnstorable("a finish that panics", err)
	w.wantNothing("a finish that panics", err, before)
	_, err = w.s.JobChange(w.ctx, w.owner, job.Ref{Number: jobs[0].Number}, func(*store.Snapshot) *store.Changes { panic("another one") })
	w.wantUnstorable("a change that panics", err)
	w.finish(w.end(jobs[0], first, w.completes), w.end(jobs[1], second, w.completes))
}

// refusalsPinned: a log that a delivery refers to, or that belongs to an attempt
// under way, is not pruned.
func refusalsPinned(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.begin(j) // has a request log
	log, old := w.log(j, job.EventResponse, w.past()), w.log(j, job.EventError, w.past())
	log.Payload = rawjson.Value(`{"status":200}`)
	d := w.callback(j, 1, w.past())
	d.Body, d.Parts = rawjson.Value(`{"response":{}}`), []job.Part{{At: 13, Log: log.ID, From: 1, To: 13}}
	w.change(j, func(*store.Snapshot) *store.Changes {
		return &store.Changes{Logs: []job.Log{log, old}, Deliveries: []job.Delivery{d}}
	})
	prune := func(when string, want int) {
		w.Helper()
		if total := w.pruneRound(w.s.LogPrune, w.now, 1); total != want {
			w.Errorf("%s %d logs were removed, want %d", when, total, want)
		}
	}
	prune("while the attempt and the message wait", 1)
	ref := w.peekKind(store.KindDelivery)[0]
	w.same("the parts", fmt.Sprint(w.load(ref).Delivery.Parts), fmt.Sprint(d.Parts))
	w.finish(w.end(j, c, w.completes))
	prune("while the message waits", 1)
	kept, err := w.s.LogGet(w.ctx, w.owner, log.ID)
	w.ok("LogGet", err)
	w.same("the log", jsonText(kept.Payload), jsonText(log.Payload))
	w.try(ref, w.delivered())
	prune("when nothing waits", 1)
}

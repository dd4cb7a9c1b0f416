package storetest

import (
	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var claimRollbackTests = group{
	"ByAJobChange":           rollbackByJobChange,
	"ByAScheduleChange":      rollbackByScheduleChange,
	"OnlyThisAttempt":        rollbackOnlyThisAttempt,
	"NotOfAnInterruptedOne":  rollbackNotOfInterrupted,
	"NothingWithoutAClaim":   rollbackWithoutClaim,
	"ChainGoesOn":            rollbackChainGoesOn,
	"ClaimedEventIsLost":     rollbackClaimedEvent,
	"ByReleaseOnlyOwnEvents": rollbackByReleaseOnlyOwn,
}

// holdWithEvents claims the next attempt of a job, to start later, with its
// events.
func (w *world) holdWithEvents(j *job.Job) store.Claim {
	w.Helper()
	c := w.claimOf(j, w.ahead())
	c.Deliveries = []job.Delivery{w.webhook(j, c.Attempt, "started", c.StartAt), w.webhook(j, c.Attempt, "request", c.StartAt)}
	w.claim(c)
	return c
}

// wantRolledBack verifies that nothing is left of a claim.
func (w *world) wantRolledBack(c store.Claim) {
	w.Helper()
	_, err := w.s.LogGet(w.ctx, w.owner, c.Log.ID)
	w.wantCode("the request log taken back", err, fault.NotFound)
	if item := w.load(c.QueueKey); item != nil {
		w.Errorf("the rolled back item is %+v", item)
	}
}

// cancelUnstarted cancels a job whose claimed attempt has not started.
func (w *world) cancelUnstarted(m *store.Snapshot) *store.Changes {
	j := *m.Job
	j.Cancel(m.Now)
	return &store.Changes{
		Job: &j, RollbackClaim: true, Deliveries: []job.Delivery{w.webhook(&j, m.Claim.Attempt-1, "finished", w.past())},
	}
}

func rollbackByJobChange(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.holdWithEvents(j)
	w.change(j, w.cancelUnstarted)
	w.wantRolledBack(c)
	if sent := w.deliverAll(); sent != "finished" {
		w.Errorf("%q went out, want only the end", sent)
	}
	if names := w.events(j); names != "" {
		w.Errorf("the logs are %q", names)
	}
}

func rollbackByScheduleChange(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	c := w.holdWithEvents(j)
	_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
		if m.Job == nil || m.Claim == nil {
			w.Errorf("the snapshot has %s, claim %+v", showJob(m.Job), m.Claim)
			return nil
		}
		return w.cancelUnstarted(m)
	})
	w.ok("ScheduleChange", err)
	w.wantRolledBack(c)
	if sent := w.deliverAll(); sent != "finished" {
		w.Errorf("%q went out, want only the end", sent)
	}
}

// rollbackOnlyThisAttempt: the logs and deliveries of earlier attempts stay.
func rollbackOnlyThisAttempt(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.claimOf(j, w.past())
	c.Deliveries = []job.Delivery{w.webhook(j, 1, "started 1", w.past()), w.webhook(j, 1, "request 1", w.past())}
	w.claim(c)
	w.finish(w.end(j, c, func(j *job.Job, changes *store.Changes) {
		w.retries(w.past())(j, changes)
		changes.Deliveries = []job.Delivery{w.webhook(j, 1, "error 1", w.past())}
	}))
	j = w.get(j)
	w.holdWithEvents(j)
	w.change(j, w.cancelUnstarted)
	if names := w.events(j); names != "http.request http.error" {
		w.Errorf("the logs are %q, want the first attempt's", names)
	}
	if sent := w.deliverAll(); sent != "started 1 request 1 error 1 finished" {
		w.Errorf("%q went out", sent)
	}
}

// rollbackNotOfInterrupted: the records of an interrupted attempt stay, although
// the retry has the same number.
func rollbackNotOfInterrupted(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.claimOf(j, w.past())
	c.Deliveries = []job.Delivery{w.webhook(j, 1, "started 1", w.past()), w.webhook(j, 1, "request 1", w.past())}
	w.claim(c)
	w.finish(w.end(j, c, func(j *job.Job, changes *store.Changes) {
		w.retries(w.past())(j, changes)
		j.Attempt--
		changes.Deliveries = []job.Delivery{w.webhook(j, 1, "error 1", w.past())}
	}))
	j = w.get(j)
	w.holdWithEvents(j)
	w.change(j, w.cancelUnstarted)
	if names := w.events(j); names != "http.request http.error" {
		w.Errorf("the logs are %q, want those of the interrupted attempt", names)
	}
	if sent := w.deliverAll(); sent != "started 1 request 1 error 1 finished" {
		w.Errorf("%q was delivered, want the events of the interrupted attempt, and the end", sent)
	}
}

func rollbackByReleaseOnlyOwn(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.claimOf(j, w.past())
	c.Deliveries = []job.Delivery{w.webhook(j, 1, "started 1", w.past())}
	w.claim(c)
	w.finish(w.end(j, c, func(j *job.Job, changes *store.Changes) {
		w.retries(w.past())(j, changes)
		j.Attempt--
	}))
	j = w.get(j)
	held := w.holdWithEvents(j)
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{held}))
	if sent := w.deliverAll(); sent != "started 1" {
		w.Errorf("%q was delivered, want the events of the interrupted attempt", sent)
	}
	if names := w.events(j); names != "http.request http.error" {
		w.Errorf("the logs are %q, want those of the interrupted attempt", names)
	}
}

func rollbackWithoutClaim(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.sendEvents(j, "a", "b")
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Cancel(m.Now)
		return &store.Changes{Job: &after, RollbackClaim: true}
	})
	if sent := w.deliverAll(); sent != "a b" {
		w.Errorf("%q went out", sent)
	}
}

// rollbackChainGoesOn: events added after a rollback don't wait for deleted ones.
func rollbackChainGoesOn(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	for range 3 {
		c := w.holdWithEvents(j)
		w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
		w.wantReleased("after a release", "")
	}
	w.sendEvents(j, "a", "b")
	if sent := w.deliverAll(); sent != "a b" {
		w.Errorf("%q went out", sent)
	}
}

// rollbackClaimedEvent: a node may have claimed the first event of an attempt
// that is rolled back; finishing it has no effect.
func rollbackClaimedEvent(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.holdWithEvents(j)
	ref := w.peekKind(store.KindDelivery)[0]
	w.claim(store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.ahead()})
	w.change(j, w.cancelUnstarted)
	end := w.failed()
	if held := w.tryFinish(store.Finish{QueueKey: ref, Node: w.node, Attempt: 1, Delivery: &end}); held[0] {
		w.Error("an event taken back was finished")
	}
	if sent := w.deliverAll(); sent != "finished" {
		w.Errorf("%q went out, want only the end", sent)
	}
}

package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func alertOnlyNew(w *world) {
	put := func(definition string, putIf store.PutIf) (bool, error) {
		a := &store.Alert{Owner: w.owner, Name: "a", Definition: rawjson.Value(definition), Match: rawjson.Value(`{}`)}
		return w.s.AlertPut(w.ctx, a, putIf)
	}
	w.putAlert(w.other, "a", `{}`, 0)
	_, err := put(`{"n":0}`, store.PutIfThere)
	w.wantCode("if it is there", err, fault.Stale)
	created, err := put(`{"n":1}`, store.PutIfNew)
	w.ok("AlertPut", err)
	if !created {
		w.Error("the first was not created")
	}
	for _, definition := range []string{`{"n":1}`, `{"n":2}`} {
		_, err = put(definition, store.PutIfNew)
		w.wantCode("another", err, fault.Stale)
	}
	if created, err = put(`{"n":1}`, store.PutIfThere); err != nil || created {
		w.Errorf("if it is there: created %v, %v", created, err)
	}
	if a, err := w.s.AlertGet(w.ctx, w.owner, "a"); err != nil || string(a.Definition) != `{"n":1}` {
		w.Errorf("afterwards it is %+v, %v", a, err)
	}
}

// alertEndedStates: accounts have states with the same schedule, alert and kind, those
// of their one-off jobs. One ends its own only.
func alertEndedStates(w *world) {
	key := store.AlertStateKey{Alert: "a", Kind: store.AlertFailing}
	owners := []job.Owner{w.owner, w.other}
	for _, ends := range owners {
		for _, owner := range owners {
			w.putAlert(owner, "a", `{}`, 0)
			w.trackAlerts(owner, nil, &store.AlertChanges{States: []store.AlertState{{AlertStateKey: key, Job: owner.Number}}})
		}
		w.trackAlerts(ends, nil, &store.AlertChanges{Ended: []store.AlertStateKey{key}})
		for _, owner := range owners {
			states, err := w.s.AlertStates(w.ctx, owner, 10)
			w.ok("AlertStates", err)
			if want := owner != ends; (len(states) == 1) != want {
				w.Errorf("account %d has %d states after account %d has ended its own", owner.Number, len(states), ends.Number)
			}
		}
	}
}

// alertWithdrawn: pending messages are deleted with their queue items, also one that is
// under way or waits for a retry, and no others.
func alertWithdrawn(w *world) {
	w.putAlert(w.owner, "a", `{}`, 0)
	w.putAlert(w.other, "a", `{}`, 0)
	mine, theirs := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.other, w.ahead()))
	message := func(j *job.Job, id string) job.Delivery {
		return job.Delivery{
			MessageID: id, Owner: j.Owner, Job: j.Number, Channel: job.AlertWebhook, URL: "https://receiver.example/",
			Event: "alert.failed", DueAt: w.now, Body: rawjson.Value(`{}`),
		}
	}
	w.trackAlerts(w.owner, nil, &store.AlertChanges{Deliveries: []job.Delivery{message(mine, "msg_kept"), message(mine, "msg_waits"),
		message(mine, "msg_retried"), message(mine, "msg_sent")}})
	w.trackAlerts(w.other, nil, &store.AlertChanges{Deliveries: []job.Delivery{message(theirs, "msg_waits")}})
	named := map[string]store.QueueKey{}
	queued := func() (shown string) {
		w.Helper()
		refs := w.peekKind(store.KindDelivery)
		items, err := w.s.QueueLoad(w.ctx, refs)
		w.ok("QueueLoad", err)
		for i, item := range items {
			if item == nil {
				w.Fatalf("a queue item without a delivery: %+v", refs[i])
			}
			name := fmt.Sprintf("%s of %d", item.Delivery.MessageID, item.Account)
			named[name] = refs[i]
			shown += name + "; "
		}
		return shown
	}
	queued()
	claim := func(name string) store.Finish {
		w.Helper()
		ref := named[fmt.Sprintf("%s of %d", name, w.owner.Number)]
		held, err := w.s.QueueClaim(w.ctx, w.node, []store.Claim{{QueueKey: ref, Attempt: 1, StartAt: w.now}})
		if err != nil || !held[0] {
			w.Fatalf("claiming %s: %v, %v", name, held, err)
		}
		return store.Finish{QueueKey: ref, Node: w.node, Attempt: 1, Delivery: &store.DeliveryEnd{Attempt: 1, Again: w.ahead()}}
	}
	w.finish(claim("msg_retried"))
	underWay := claim("msg_sent")
	w.trackAlerts(w.owner, nil, &store.AlertChanges{Withdrawn: []store.AlertMessage{
		{Job: mine.Number, ID: "msg_waits"}, {Job: mine.Number, ID: "msg_retried"}, {Job: mine.Number, ID: "msg_sent"},
		{Job: mine.Number, ID: "msg_none"}, {Job: theirs.Number, ID: "msg_waits"}, {Job: theirs.Number, ID: uuid.NewString()},
	}})
	w.trackAlerts(w.other, nil, &store.AlertChanges{Withdrawn: []store.AlertMessage{{Job: mine.Number, ID: "msg_kept"}}})
	held, err := w.s.QueueFinish(w.ctx, []store.Finish{underWay})
	w.ok("QueueFinish", err)
	if held[0] {
		w.Error("the attempt of a withdrawn message was finished")
	}
	w.same("the queue", queued(), fmt.Sprintf("msg_kept of %d; msg_waits of %d; ", w.owner.Number, w.other.Number))
	for _, j := range []*job.Job{mine, theirs} {
		trail, err := w.s.JobTrail(w.ctx, j.Owner, j.Number, 10)
		w.ok("JobTrail", err)
		if trail.Pending != 1 {
			w.Errorf("job %d has %d pending messages, want 1", j.Number, trail.Pending)
		}
	}
}

// alertMessages: AlertMessages returns the pending messages of alerts about jobs of the
// owner, and says if there may be more.
func (w *world) alertMessages(j *job.Job, want string) {
	w.Helper()
	quiet, another := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.other, w.ahead()))
	w.sendEvents(quiet, "an event of the job")
	for _, test := range []struct {
		owner job.Owner
		jobs  []int64
		limit int
		want  string
		cut   bool
	}{
		{w.owner, nil, 10, "", false},
		{w.owner, []int64{quiet.Number, j.Number, another.Number}, 10, want, false},
		{w.owner, []int64{j.Number}, 1, want, true},
		{w.owner, []int64{quiet.Number}, 1, "", true},
		{w.other, []int64{quiet.Number, j.Number, another.Number}, 10, "", false},
	} {
		found, cut, err := w.s.AlertMessages(w.ctx, test.owner, test.jobs, test.limit)
		w.ok("AlertMessages", err)
		var ids []string
		for _, d := range found {
			ids = append(ids, d.MessageID)
			if d.Job != j.Number || d.Channel != job.AlertWebhook || d.Event != "alert.failed" || d.Attempt != 0 ||
				!d.DueAt.Equal(w.now.Truncate(time.Microsecond)) {
				w.Errorf("listed as %+v", d)
			}
		}
		w.same(fmt.Sprint("messages of alerts about ", test.jobs), strings.Join(ids, " "), test.want)
		if cut != test.cut {
			w.Errorf("messages of alerts about %v with the limit %d are cut: %t", test.jobs, test.limit, cut)
		}
	}
}

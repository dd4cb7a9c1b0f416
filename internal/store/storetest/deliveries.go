package storetest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var deliveryTests = group{
	"OneEventAtATime":          deliveriesOneAtATime,
	"NextAfterFirstTry":        deliveriesNextAfterFirstTry,
	"InterruptedHoldsTheNext":  deliveriesInterrupted,
	"RedeliveryLater":          deliveriesRedeliveryLater,
	"RedeliveryReleasesOnce":   deliveriesRedeliveryReleasesOnce,
	"CallbackIndependent":      deliveriesCallback,
	"JobsIndependent":          deliveriesJobsIndependent,
	"OrderAcrossTransactions":  deliveriesAcrossTransactions,
	"GivenUpWithLog":           deliveriesGivenUp,
	"AddedToAnEmptyChain":      deliveriesAddedLater,
	"AddedBehindARedelivery":   deliveriesBehindRedelivery,
	"NumbersAreNeverReused":    deliveriesNumbersNeverReused,
	"ListedByJob":              deliveriesListed,
	"ReadBackAsStored":         deliveriesReadBack,
	"NotBeforeTheirTime":       deliveriesNotBeforeTheirTime,
	"OutliveTheirJob":          deliveriesOutliveJob,
	"ClaimedHeadHoldsTheChain": deliveriesClaimedHead,
}

// send stores deliveries of a job and nothing else.
func (w *world) send(j *job.Job, deliveries ...job.Delivery) {
	w.Helper()
	w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Deliveries: deliveries} })
}

// sendEvents stores events of a job with the given names.
func (w *world) sendEvents(j *job.Job, names ...string) {
	w.Helper()
	var deliveries []job.Delivery
	for _, name := range names {
		deliveries = append(deliveries, w.webhook(j, 1, name, w.past()))
	}
	w.send(j, deliveries...)
}

// nameOf returns the name of the event that a queue item delivers.
func (w *world) nameOf(ref store.QueueKey) string {
	w.Helper()
	run := w.load(ref)
	if run == nil || run.Delivery == nil {
		w.Fatalf("%s is not a delivery: %+v", showRef(ref), run)
	}
	if run.Delivery.Channel == job.Callback {
		return "callback"
	}
	return run.Delivery.Event
}

// released returns the names of the events in the queue, in order.
func (w *world) released() string {
	w.Helper()
	var names []string
	for _, ref := range w.peekKind(store.KindDelivery) {
		names = append(names, w.nameOf(ref))
	}
	return strings.Join(names, " ")
}

func (w *world) wantReleased(when, want string) {
	w.Helper()
	if got := w.released(); got != want {
		w.Errorf("%s the queue has %q, want %q", when, got, want)
	}
}

// try claims a delivery and ends the attempt.
func (w *world) try(ref store.QueueKey, end store.DeliveryEnd) {
	w.Helper()
	run := w.load(ref)
	if run == nil {
		w.Fatalf("%s is gone", showRef(ref))
	}
	c := store.Claim{QueueKey: ref, Attempt: run.Attempt + 1, StartAt: w.past()}
	w.claim(c)
	w.finish(store.Finish{QueueKey: ref, Node: w.node, Attempt: c.Attempt, Delivery: &end})
}

// tryNamed attempts the event with a name.
func (w *world) tryNamed(name string, end store.DeliveryEnd) {
	w.Helper()
	for _, ref := range w.peekKind(store.KindDelivery) {
		if w.nameOf(ref) == name {
			w.try(ref, end)
			return
		}
	}
	w.Fatalf("%q is not in the queue, only %q", name, w.released())
}

// deliverAll delivers until the queue is empty, and returns the names of the
// events in the order of delivery.
func (w *world) deliverAll() string {
	w.Helper()
	var names []string
	for {
		refs := w.peekKind(store.KindDelivery)
		if len(refs) == 0 {
			return strings.Join(names, " ")
		}
		names = append(names, w.nameOf(refs[0]))
		w.try(refs[0], store.DeliveryEnd{Attempt: 1})
	}
}

// The outcomes of an attempt.
func (w *world) delivered() store.DeliveryEnd { return store.DeliveryEnd{Attempt: 1} }
func (w *world) failed() store.DeliveryEnd    { return store.DeliveryEnd{Attempt: 1, Again: w.ahead()} }

func deliveriesOneAtATime(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a", "b", "c")
	for _, name := range []string{"a", "b", "c"} {
		w.wantReleased("in turn", name)
		w.tryNamed(name, w.delivered())
	}
	w.wantReleased("in the end", "")
}

func deliveriesNextAfterFirstTry(w *world) {
	for name, end := range map[string]store.DeliveryEnd{"delivered": w.delivered(), "failed": w.failed(), "given up": {Attempt: 8}} {
		j := w.insertOne(w.oneOff(w.owner, w.ahead()))
		w.sendEvents(j, name+" first", name+" next", name+" last")
		w.tryNamed(name+" first", end)
		w.tryNamed(name+" next", w.delivered())
		w.tryNamed(name+" last", w.delivered())
		if end.Again.IsZero() {
			w.wantReleased("after "+name, "")
		} else {
			w.tryNamed(name+" first", w.delivered())
		}
	}
}

// deliveriesInterrupted: an interrupted attempt does not count, so the next event
// keeps waiting.
func deliveriesInterrupted(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a", "b")
	for range 3 {
		w.tryNamed("a", store.DeliveryEnd{Attempt: 0, Again: w.past()})
		w.wantReleased("after an interrupted try", "a")
		if run := w.load(w.peekKind(store.KindDelivery)[0]); run.Attempt != 0 || run.Delivery.Attempt != 0 {
			w.Errorf("an interrupted try counts: %d, %d", run.Attempt, run.Delivery.Attempt)
		}
	}
	w.tryNamed("a", w.failed())
	w.wantReleased("after a failed try", "b a")
}

func deliveriesRedeliveryLater(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a", "b", "c")
	w.tryNamed("a", w.failed())
	w.tryNamed("b", w.failed())
	w.tryNamed("c", w.delivered())
	w.wantReleased("with two to be redelivered", "a b")
	run := w.load(w.peekKind(store.KindDelivery)[0])
	if run.Attempt != 1 || run.Delivery.Attempt != 1 || !run.Due.Equal(w.ahead()) || !run.Delivery.DueAt.Equal(w.ahead()) {
		w.Errorf("a redelivery is %s, attempt %d", showDelivery(run.Delivery), run.Attempt)
	}
	w.tryNamed("b", w.delivered())
	w.tryNamed("a", store.DeliveryEnd{Attempt: 2, Again: w.ahead()})
	w.tryNamed("a", store.DeliveryEnd{Attempt: 3})
	w.wantReleased("in the end", "")
}

// deliveriesRedeliveryReleasesOnce: only the first attempt at an event releases
// the next one; otherwise events could overtake each other.
func deliveriesRedeliveryReleasesOnce(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a", "b", "c")
	w.tryNamed("a", w.failed())
	w.tryNamed("a", store.DeliveryEnd{Attempt: 2, Again: w.ahead()})
	w.wantReleased("after a redelivery", "b a")
	w.tryNamed("a", store.DeliveryEnd{Attempt: 3})
	w.wantReleased("after the last redelivery", "b")
	w.tryNamed("b", store.DeliveryEnd{Attempt: 0, Again: w.past()})
	w.wantReleased("after an interrupted try", "b")
}

func deliveriesCallback(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.send(j, w.webhook(j, 1, "a", w.past()), w.webhook(j, 1, "b", w.past()), w.callback(j, 1, w.past().Add(1)))
	w.wantReleased("at first", "a callback")
	w.tryNamed("callback", w.delivered())
	w.wantReleased("after the callback", "a")
	w.send(j, w.callback(j, 1, w.past().Add(1)))
	w.tryNamed("callback", w.failed())
	w.wantReleased("after a failed callback", "a callback")
	w.tryNamed("a", w.delivered())
	w.wantReleased("after an event", "b callback")
}

func deliveriesJobsIndependent(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.ahead()), w.oneOff(w.other, w.ahead()))
	w.sendEvents(jobs[0], "a1", "a2")
	w.sendEvents(jobs[1], "b1", "b2")
	w.wantReleased("at first", "a1 b1")
	w.tryNamed("a1", w.delivered())
	w.wantReleased("after one of the first", "b1 a2")
}

// deliveriesAcrossTransactions: the events of claim, finish and change are
// delivered in one order.
func deliveriesAcrossTransactions(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.claimOf(j, w.past())
	c.Deliveries = []job.Delivery{w.webhook(j, 1, "started", w.past()), w.webhook(j, 1, "request", w.past())}
	w.claim(c)
	w.wantReleased("after the claim", "started")
	w.finish(w.end(j, c, func(j *job.Job, changes *store.Changes) {
		w.completes(j, changes)
		changes.Deliveries = []job.Delivery{w.webhook(j, 1, "response", w.past()), w.callback(j, 1, w.past()),
			w.webhook(j, 1, "finished", w.past())}
	}))
	w.wantReleased("after the finish", "started callback")
	w.sendEvents(j, "more")
	if sent := w.deliverAll(); strings.ReplaceAll(sent, " callback", "") != "started request response finished more" {
		w.Errorf("the events were delivered as %q", sent)
	}
}

func deliveriesGivenUp(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a")
	log := w.log(j, job.EventWebhookFailed, w.past())
	w.tryNamed("a", store.DeliveryEnd{Attempt: 8, Log: &log})
	if logs := w.logs(j); len(logs) != 1 || showLog(logs[0]) != showLog(&log) {
		w.Errorf("the logs are %s, want %s", show(logs, showLog), showLog(&log))
	}
	w.wantReleased("after giving up", "")
}

func deliveriesAddedLater(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for _, name := range []string{"a", "b"} {
		w.sendEvents(j, name)
		w.wantReleased("with nothing before it", name)
		w.tryNamed(name, w.delivered())
	}
}

func deliveriesBehindRedelivery(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a")
	w.tryNamed("a", w.failed())
	w.sendEvents(j, "b", "c")
	w.wantReleased("behind one that has been tried", "b a")
	w.tryNamed("b", w.failed())
	w.wantReleased("in turn", "c a b")
}

// deliveriesNumbersNeverReused: numbers are not reused, because nodes may still
// use the key of a deleted delivery.
func deliveriesNumbersNeverReused(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	seen := map[int64]bool{}
	for i := range 5 {
		w.send(j, w.callback(j, 1, w.past()))
		ref := w.peekKind(store.KindDelivery)[0]
		if seen[ref.Number] {
			w.Fatalf("message %d has number %d, which was given before", i, ref.Number)
		}
		seen[ref.Number] = true
		w.try(ref, w.delivered())
	}
}

func deliveriesReadBack(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for i, s := range awkward {
		d := w.callback(j, i+1, w.past())
		d.URL += s
		d.Body = []byte(fmt.Sprintf(`{"n":1.10,"nul":"\u0000","text":%q}`, "ä👩‍👧"))
		d.MessageID = "msg_" + uuid.NewString()
		w.send(j, d)
		ref := w.peekKind(store.KindDelivery)[0]
		d.Number = ref.Number
		if ref.Lane != job.Lane(d.URL) || ref.Account != w.owner.Number {
			w.Errorf("the item of a delivery to %q is %s", d.URL, showRef(ref))
		}
		read := w.load(ref).Delivery
		w.same("a delivery", showDelivery(read), showDelivery(&d))
		if read.Hops != j.Hops {
			w.Errorf("a delivery has %d hops, its job %d", read.Hops, j.Hops)
		}
		if !bytes.Equal(read.Trace, j.Trace) {
			w.Errorf("a delivery has the trace %x, its job %x", read.Trace, j.Trace)
		}
		w.try(ref, w.delivered())
	}
}

// deliveriesNotBeforeTheirTime: a released event is not due before its own time,
// even if the previous one was early.
func deliveriesNotBeforeTheirTime(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.send(j, w.webhook(j, 1, "a", w.past()), w.webhook(j, 1, "b", w.ahead()), w.webhook(j, 1, "c", w.past()))
	w.tryNamed("a", w.delivered())
	if refs := w.peekKind(store.KindDelivery); len(refs) != 1 || !refs[0].Due.Equal(w.ahead()) {
		w.Errorf("released %s, want the one of %s", show(refs, showRef), w.ahead())
	}
	w.tryNamed("b", w.delivered())
	if refs := w.peekKind(store.KindDelivery); len(refs) != 1 || refs[0].Due.After(w.s.Now()) {
		w.Errorf("released %s, want one that is due", show(refs, showRef))
	}
	run := w.load(w.peekKind(store.KindDelivery)[0])
	if !run.Delivery.DueAt.Equal(run.Due) {
		w.Errorf("a released event is due %s, its item %s", run.Delivery.DueAt, run.Due)
	}
}

func deliveriesOutliveJob(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.sendEvents(j, "a", "b")
	w.change(j, cancel)
	if n, err := w.s.JobPrune(w.ctx, w.s.Now().Add(1<<40), store.PruneCursor{}, 10); err != nil || n.Removed != 1 {
		w.Fatalf("JobPrune = %+v, %v", n, err)
	}
	if sent := w.deliverAll(); sent != "a b" {
		w.Errorf("after the job was removed %q went out", sent)
	}
}

// deliveriesClaimedHead: later events wait while an attempt at the first is under
// way.
func deliveriesClaimedHead(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "a")
	ref := w.peekKind(store.KindDelivery)[0]
	w.claim(store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.past()})
	w.sendEvents(j, "b")
	w.wantReleased("while the first is under way", "")
	end := w.delivered()
	w.finish(store.Finish{QueueKey: ref, Node: w.node, Attempt: 1, Delivery: &end})
	w.wantReleased("after the first", "b")
}

// deliveriesListed: JobMessages returns waiting events, too, but no delivered
// ones and none of an attempt that has not started.
func deliveriesListed(w *world) {
	j, quiet := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.sendEvents(j, "first", "second", "third")
	w.send(j, w.webhook(j, 1, "later", w.ahead()))
	w.sendEvents(quiet, "of another job")
	list := func(owner job.Owner, limit int) string {
		found, err := w.s.JobMessages(w.ctx, owner, j.Number, limit)
		w.ok("JobMessages", err)
		var shown []string
		for _, d := range found {
			if d.Job != j.Number || d.Channel != job.Webhook || d.JobAttempt != 1 || d.URL == "" || d.Body != nil || d.Number == 0 ||
				d.MessageID == "" {
				w.Errorf("listed as %+v", d)
			}
			text := fmt.Sprintf("%s:%d", d.Event, d.Attempt)
			if d.DueAt.IsZero() {
				text += ":waits"
			}
			shown = append(shown, text)
		}
		return strings.Join(shown, " ")
	}
	w.same("all", list(w.owner, 10), "first:0 second:0:waits third:0:waits")
	w.same("one", list(w.owner, 1), "first:0")
	w.same("to others", list(w.other, 10), "")
	w.tryNamed("first", w.failed())
	w.tryNamed("second", w.delivered())
	w.same("after two tries", list(w.owner, 10), "first:1 third:0")
}

package storetest

import (
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var fencingTests = group{
	"ClaimTwice":              fencingClaimTwice,
	"ClaimByAttempt":          fencingClaimByAttempt,
	"ClaimTwiceInABatch":      fencingClaimTwiceInABatch,
	"LostClaimStoresNothing":  fencingLostClaim,
	"FinishByNodeAndAttempt":  fencingFinish,
	"FinishTwice":             fencingFinishTwice,
	"LostFinishStoresNothing": fencingLostFinish,
	"MixedBatch":              fencingMixedBatch,
	"FinishUnclaimed":         fencingFinishUnclaimed,
	"ZombieAfterTakingUp":     fencingZombie,
	"ReleaseOfALostClaim":     fencingLostRelease,
	"DeliveryFinish":          fencingDelivery,
	"FinishByGoneNode":        fencingGoneNode,
}

func fencingClaimTwice(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.begin(j)
	if w.tryClaim(w.claimOf(j, w.past()))[0] {
		w.Error("a claimed item was claimed")
	}
	again, err := w.s.QueueClaim(w.ctx, w.node+1, []store.Claim{w.claimOf(j, w.past())})
	if err != nil || again[0] {
		w.Errorf("a claimed item was claimed by another node: %v, %v", again, err)
	}
}

func fencingClaimByAttempt(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.finish(w.end(j, w.begin(j), w.retries(w.past())))
	j = w.get(j)
	for _, attempt := range []int{0, 1, 3, 4} {
		c := w.claimOf(j, w.past())
		if c.Attempt = attempt; w.tryClaim(c)[0] {
			w.Errorf("an item that stands at attempt 1 was claimed for attempt %d", attempt)
		}
	}
	w.begin(j)
}

func fencingClaimTwiceInABatch(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	got := w.tryClaim(w.claimOf(j, w.past()), w.claimOf(j, w.past()))
	if got[0] == got[1] {
		w.Errorf("an item claimed twice in a batch: %v, want one", got)
	}
	if names := w.events(j); names != "http.request" {
		w.Errorf("the logs are %q, want one request", names)
	}
}

func fencingLostClaim(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.begin(j)
	before := show(w.peek(), showRef)
	lost := w.claimOf(j, w.past())
	lost.Deliveries = []job.Delivery{w.webhook(j, 1, "job.started", w.past()), w.callback(j, 1, w.past())}
	if w.tryClaim(lost)[0] {
		w.Fatalf("a claimed item was claimed")
	}
	w.same("the queue after a lost claim", show(w.peek(), showRef), before)
	if names := w.events(j); names != "http.request" {
		w.Errorf("the logs are %q, want the first claim's", names)
	}
}

// wantLost finishes a queue item and verifies that this has no effect.
func (w *world) wantLost(what string, j *job.Job, f store.Finish) {
	w.Helper()
	before, logs, queue := showJob(w.get(j)), w.events(j), show(w.peek(), showRef)
	schedules := show(w.listSchedules(w.owner, top), showSchedule)
	if w.tryFinish(f)[0] {
		w.Errorf("%s: it was finished", what)
	}
	w.same(what+": the job", showJob(w.get(j)), before)
	w.same(what+": the logs", w.events(j), logs)
	w.same(what+": the queue", show(w.peek(), showRef), queue)
	w.same(what+": the schedules", show(w.listSchedules(w.owner, top), showSchedule), schedules)
}

func fencingFinish(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.begin(j)
	for name, spoil := range map[string]func(*store.Finish){
		"another node":    func(f *store.Finish) { f.Node++ },
		"no node":         func(f *store.Finish) { f.Node = 0 },
		"attempt before":  func(f *store.Finish) { f.Attempt-- },
		"attempt after":   func(f *store.Finish) { f.Attempt++ },
		"another due":     func(f *store.Finish) { f.Due = w.ahead() },
		"another's run":   func(f *store.Finish) { f.Number += 1000 },
		"a delivery's":    func(f *store.Finish) { f.Kind, f.Delivery = store.KindDelivery, &store.DeliveryEnd{Attempt: 1} },
		"far later tries": func(f *store.Finish) { f.Attempt = 1 << 20 },
	} {
		f := w.end(j, c, w.completes)
		spoil(&f)
		w.wantLost(name, j, f)
	}
	w.finish(w.end(j, c, w.completes))
}

func fencingFinishTwice(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.begin(j)
	w.finish(w.end(j, c, w.completes))
	w.wantLost("a second time", j, w.end(j, c, w.discards))
	k := w.insertOne(w.oneOff(w.owner, w.past()))
	c = w.begin(k)
	held := w.tryFinish(w.end(k, c, w.completes), w.end(k, c, w.discards))
	if !held[0] || held[1] || w.get(k).State != job.Completed {
		w.Errorf("finished twice in a batch: %v, %s, want the first", held, showJob(w.get(k)))
	}
}

func fencingLostFinish(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	c := w.begin(j)
	w.change(j, cancel)
	f := w.end(j, c, func(j *job.Job, c *store.Changes) {
		w.completes(j, c)
		s := *n.Schedule
		s.Epoch = 99
		c.Schedule, c.Next = &s, w.nextOf(n.Schedule, w.ahead())
		c.Deliveries = []job.Delivery{w.webhook(j, 1, "job.finished", w.past()), w.callback(j, 1, w.past())}
	})
	w.wantLost("a cancelled job", j, f)
}

// fencingMixedBatch: a lost item does not affect the others of its batch.
func fencingMixedBatch(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()))
	var ends []store.Finish
	for _, j := range jobs {
		ends = append(ends, w.end(j, w.begin(j), w.completes))
	}
	w.change(jobs[1], cancel)
	if held := w.tryFinish(ends...); !held[0] || held[1] || !held[2] {
		w.Errorf("held %v, want all but the cancelled one", held)
	}
	for i, want := range []job.State{job.Completed, job.Cancelled, job.Completed} {
		if got := w.get(jobs[i]); got.State != want {
			w.Errorf("job %d is %s, want %s", i, got.State, want)
		}
	}
	again := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	w.begin(again[0])
	if got := w.tryClaim(w.claimOf(again[0], w.past()), w.claimOf(again[1], w.past())); got[0] || !got[1] {
		w.Errorf("claimed %v, want the free one", got)
	}
}

func fencingFinishUnclaimed(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	for _, attempt := range []int{0, 1} {
		w.wantLost("an unclaimed run", j, w.end(j, store.Claim{QueueKey: refOf(j), Attempt: attempt, StartAt: w.past()}, w.completes))
	}
}

// fencingZombie: a node whose lease expired can't overwrite an item that another
// one has reclaimed, even though the attempt has the same number.
func fencingZombie(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	zombie := w.begin(j)
	node := w.replace()
	runs := w.abandoned()
	if len(runs) != 1 {
		w.Fatalf("RunAbandoned gave %d", len(runs))
	}
	w.reclaim(runs)
	w.wantLost("a zombie", j, w.end(j, zombie, w.completes))
	taken := w.get(j)
	if taken.Attempt != 0 || taken.State != job.Retryable {
		w.Errorf("a job reclaimed is %s", showJob(taken))
	}
	got, err := w.s.QueueClaim(w.ctx, node, []store.Claim{w.claimOf(taken, w.past())})
	if err != nil || !got[0] {
		w.Fatalf("an item reclaimed could not be claimed: %v, %v", got, err)
	}
	w.wantLost("a zombie after the next claim", j, w.end(j, zombie, w.completes))
}

// fencingGoneNode: the items of a gone node can't be claimed; only a finish with
// that node's number ends them.
func fencingGoneNode(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.begin(j)
	node := w.replace()
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("an abandoned item is peeked: %s", show(refs, showRef))
	}
	if got, err := w.s.QueueClaim(w.ctx, node, []store.Claim{w.claimOf(j, w.past())}); err != nil || got[0] {
		w.Errorf("an abandoned item was claimed: %v, %v", got, err)
	}
	f := w.end(j, store.Claim{QueueKey: refOf(j), Attempt: 1, StartAt: w.past()}, w.completes)
	f.Node = 1 << 40
	w.wantLost("by a node that has nothing to do with it", j, f)
}

// fencingLostRelease: releasing an item that the node no longer holds does not
// affect the current holder.
func fencingLostRelease(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	held := w.claimOf(j, w.past())
	held.Deliveries = []job.Delivery{w.webhook(j, 1, "job.started", w.past())}
	w.claim(held)
	before, logs, queue := showJob(w.get(j)), w.events(j), show(w.peek(), showRef)
	stale := held
	stale.Attempt = 0
	w.ok("RunRelease of another attempt", w.s.QueueRelease(w.ctx, w.node, []store.Claim{stale}))
	w.ok("RunRelease by another node", w.s.QueueRelease(w.ctx, w.node+1, []store.Claim{held}))
	w.same("the job", showJob(w.get(j)), before)
	w.same("the logs", w.events(j), logs)
	w.same("the queue", show(w.peek(), showRef), queue)
	w.change(j, func(m *store.Snapshot) *store.Changes {
		c := cancel(m)
		c.Deliveries = []job.Delivery{w.webhook(j, 1, "job.finished", w.past())}
		return c
	})
	queue = show(w.peek(), showRef)
	w.ok("RunRelease of a cancelled job", w.s.QueueRelease(w.ctx, w.node, []store.Claim{held}))
	w.same("the queue after a late release", show(w.peek(), showRef), queue)
	w.same("the logs after a late release", w.events(j), logs)
	if sent := w.deliverAll(); sent != "job.started job.finished" {
		w.Errorf("the events after a late release are %q", sent)
	}
}

func fencingDelivery(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.change(j, func(*store.Snapshot) *store.Changes {
		return &store.Changes{Deliveries: []job.Delivery{w.callback(j, 1, w.past())}}
	})
	ref := w.peekKind(store.KindDelivery)[0]
	w.claim(store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.past()})
	log := w.log(j, job.EventCallbackFailed, w.past())
	for _, f := range []store.Finish{
		{QueueKey: ref, Node: w.node + 1, Attempt: 1}, {QueueKey: ref, Node: w.node, Attempt: 2}, {QueueKey: ref, Node: w.node, Attempt: 0},
		{QueueKey: ref, Attempt: 1},
	} {
		f.Delivery = &store.DeliveryEnd{Attempt: 1, Log: &log}
		w.wantLost("a delivery", j, f)
	}
	f := store.Finish{QueueKey: ref, Node: w.node, Attempt: 1, Delivery: &store.DeliveryEnd{Attempt: 1}}
	w.finish(f)
	f.Delivery.Log = &log
	w.wantLost("a delivery that was delivered", j, f)
}

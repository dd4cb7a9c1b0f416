package storetest

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var queueTests = group{
	"PeekInOrder":        queuePeekInOrder,
	"PeekSkipsClaimed":   queuePeekSkipsClaimed,
	"PeekUntil":          queuePeekUntil,
	"PeekBehindAGoneRun": queuePeekBehindGone,
	"PeekLimit":          queuePeekLimit,
	"LoadInOrder":        queueLoadInOrder,
	"LoadOfAnOldRef":     queueLoadOldRef,
	"EmptyBatches":       queueEmptyBatches,
	"LargeBatches":       queueLargeBatches,
	"Counts":             queueCounts,
	"ClockGoesOn":        queueClock,
	"KindsShareNumbers":  queueKinds,
	"ReleaseRestores":    queueRelease,
	"ReleaseADelivery":   queueReleaseDelivery,
}

// shuffled stores jobs and callbacks due at a few different times, in random
// order.
func (w *world) shuffled(n int) {
	w.Helper()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	w.Logf("seed %d", seed)
	for range n {
		owner := w.owner
		if r.IntN(2) == 0 {
			owner = w.other
		}
		j := w.insertOne(w.oneOff(owner, w.tied(r)))
		w.change(j, func(*store.Snapshot) *store.Changes {
			return &store.Changes{Deliveries: []job.Delivery{w.callback(j, 1, w.tied(r))}}
		})
	}
}

func inOrder(a, b store.QueueKey) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Number, b.Number))
}

func queuePeekInOrder(w *world) {
	w.shuffled(50)
	refs := w.peek() // by pages that split ties
	if len(refs) != 100 {
		w.Fatalf("%d items, want 100", len(refs))
	}
	for i := 1; i < len(refs); i++ {
		if inOrder(refs[i-1], refs[i]) >= 0 {
			w.Fatalf("%s stands before %s", showRef(refs[i-1]), showRef(refs[i]))
		}
	}
	for i, ref := range refs {
		rest, err := w.s.QueuePeek(w.ctx, ref, time.Time{}, 1000)
		w.ok("QueuePeek", err)
		w.same("the runs behind one", show(rest, showRef), show(refs[i+1:], showRef))
	}
}

// queuePeekUntil: the first item due later is returned, too, so that the caller
// knows when to scan again.
func queuePeekUntil(w *world) {
	w.shuffled(20)
	all := w.peek()
	for _, bound := range all {
		for _, until := range []time.Time{bound.Due, bound.Due.Add(-time.Microsecond)} {
			want := all
			for i, ref := range all {
				if ref.Due.After(until) {
					want = all[:i+1]
					break
				}
			}
			for _, limit := range []int{3, len(want), 1000} {
				refs, err := w.s.QueuePeek(w.ctx, store.QueueKey{}, until, limit)
				w.ok("QueuePeek", err)
				w.same("the runs until one's due time", show(refs, showRef), show(want[:min(limit, len(want))], showRef))
			}
		}
	}
}

func queuePeekSkipsClaimed(w *world) {
	w.shuffled(20)
	var want []store.QueueKey
	for i, ref := range w.peek() {
		if i%3 > 0 {
			want = append(want, ref)
			continue
		}
		w.claim(store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.ahead()})
	}
	w.same("the unclaimed runs", show(w.peek(), showRef), show(want, showRef))
}

// queuePeekBehindGone: the key of a deleted item is a valid position.
func queuePeekBehindGone(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	w.settle(jobs[1], w.completes)
	refs, err := w.s.QueuePeek(w.ctx, refOf(jobs[1]), time.Time{}, 10)
	if err != nil || len(refs) != 1 || refs[0].Number != jobs[2].Number {
		w.Errorf("behind an item that is gone there are %s (%v), want job %d", show(refs, showRef), err, jobs[2].Number)
	}
}

func queuePeekLimit(w *world) {
	w.shuffled(5)
	all := w.peek()
	for limit := 1; limit <= 12; limit++ {
		refs, err := w.s.QueuePeek(w.ctx, store.QueueKey{}, time.Time{}, limit)
		w.ok("QueuePeek", err)
		w.same("the first runs", show(refs, showRef), show(all[:min(limit, len(all))], showRef))
	}
}

func queueLoadInOrder(w *world) {
	w.shuffled(20)
	refs := w.peek()
	rand.Shuffle(len(refs), func(i, k int) { refs[i], refs[k] = refs[k], refs[i] })
	w.claim(store.Claim{QueueKey: refs[0], Attempt: 1, StartAt: w.past()})
	missing := store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: 1 << 40}, Due: w.now, Account: w.owner.Number}
	refs = append(refs, missing, refs[1])
	refs = append(refs, store.QueueKey{ItemID: store.ItemID{Kind: store.KindDelivery, Number: 1 << 40}, Due: w.now,
		Account: w.owner.Number})
	runs, err := w.s.QueueLoad(w.ctx, refs)
	w.ok("QueueLoad", err)
	if len(runs) != len(refs) {
		w.Fatalf("%d items for %d", len(runs), len(refs))
	}
	for i, run := range runs {
		w.checkLoaded(refs[i], run, i == 0, refs[i].Number == 1<<40)
	}
}

func (w *world) checkLoaded(ref store.QueueKey, run *store.QueueItem, claimed, gone bool) {
	w.Helper()
	switch {
	case gone || run == nil:
		if run != nil || !gone {
			w.Errorf("%s returned %+v", showRef(ref), run)
		}
		return
	case showRef(run.QueueKey) != showRef(ref) || claimed != (run.Claim != nil):
		w.Errorf("%s returned %s, claim %+v", showRef(ref), showRef(run.QueueKey), run.Claim)
	case ref.Kind == store.KindJob && (run.Job == nil || run.Delivery != nil || run.Job.Number != ref.Number ||
		run.Job.Owner.Number != ref.Account):
		w.Errorf("%s returned %s, %s", showRef(ref), showJob(run.Job), showDelivery(run.Delivery))
	case ref.Kind == store.KindDelivery && (run.Delivery == nil || run.Job != nil || run.Delivery.Number != ref.Number ||
		run.Delivery.Owner.Number != ref.Account):
		w.Errorf("%s returned %s, %s", showRef(ref), showJob(run.Job), showDelivery(run.Delivery))
	}
	if claimed && (run.Claim.Node != w.node || run.Claim.Attempt != 1 || run.Attempt != 1) {
		w.Errorf("a claimed item has claim %+v and attempt %d, want attempt 1 in both", run.Claim, run.Attempt)
	}
}

// queueLoadOldRef: a rescheduled job has a different queue item.
func queueLoadOldRef(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	old := refOf(j)
	w.finish(w.end(j, w.begin(j), w.retries(w.ahead())))
	if run := w.load(old); run != nil {
		w.Errorf("the item before a retry was loaded: %+v", run)
	}
	if w.tryClaim(store.Claim{QueueKey: old, Attempt: 1, StartAt: w.past()}, store.Claim{QueueKey: old, Attempt: 2, StartAt: w.past()})[0] {
		w.Error("the item before a retry was claimed")
	}
	w.settle(w.get(j), w.completes)
	if run := w.load(refOf(j)); run != nil {
		w.Errorf("the item of a final job was loaded: %+v", run)
	}
}

func queueEmptyBatches(w *world) {
	if runs, err := w.s.QueueLoad(w.ctx, nil); err != nil || len(runs) != 0 {
		w.Errorf("QueueLoad of none: %v, %v", runs, err)
	}
	if got, err := w.s.QueueClaim(w.ctx, w.node, nil); err != nil || len(got) != 0 {
		w.Errorf("QueueClaim of none: %v, %v", got, err)
	}
	if held, err := w.s.QueueFinish(w.ctx, nil); err != nil || len(held) != 0 {
		w.Errorf("QueueFinish of none: %v, %v", held, err)
	}
	w.ok("RunRelease of none", w.s.QueueRelease(w.ctx, w.node, nil))
	w.ok("KeyUsed of none", w.s.KeyUsed(w.ctx, nil))
}

func queueLargeBatches(w *world) {
	jobs := make([]store.NewJob, largest)
	for i := range jobs {
		jobs[i] = w.oneOff(w.owner, w.past())
	}
	stored := w.insert(jobs...)
	claims, ends := make([]store.Claim, largest), make([]store.Finish, largest)
	for i, j := range stored {
		claims[i] = w.claimOf(j, w.past())
		claims[i].Deliveries = []job.Delivery{w.webhook(j, 1, "job.started", w.past()), w.webhook(j, 1, "job.request", w.past())}
		ends[i] = w.end(j, claims[i], func(j *job.Job, c *store.Changes) {
			w.completes(j, c)
			c.Deliveries = []job.Delivery{w.webhook(j, 1, "job.finished", w.now), w.callback(j, 1, w.now)}
		})
	}
	w.claim(claims...)
	w.finish(ends...)
	counts, err := w.s.JobCounts(w.ctx)
	if err != nil || counts[job.Completed] != largest {
		w.Errorf("%v completed (%v), want %d", counts, err, largest)
	}
	if n := len(w.peek()); n != 2*largest {
		w.Errorf("%d items, want each job's first event and its callback", n)
	}
}

func queueCounts(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.other, w.past()), w.oneOff(w.owner, w.ahead()), w.oneOff(w.owner, w.past()))
	w.begin(jobs[3])
	w.change(jobs[0], func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Deliveries: []job.Delivery{w.callback(m.Job, 1, w.past()), w.callback(m.Job, 1, w.ahead())}}
	})
	counts, err := w.s.QueueCounts(w.ctx)
	if err != nil || counts[store.KindJob] != 2 || counts[store.KindDelivery] != 1 {
		w.Errorf("%v due (%v), want 2 jobs and 1 delivery", counts, err)
	}
}

func queueClock(w *world) {
	for before := w.s.Now(); ; {
		now := w.s.Now()
		if now.Before(before) {
			w.Fatalf("the clock went from %s back to %s", before, now)
		}
		if _, offset := now.Zone(); offset != 0 || !now.Truncate(time.Microsecond).Equal(now) {
			w.Fatalf("%s is not UTC to the microsecond", now)
		}
		if now.After(before) {
			return
		}
	}
}

// queueKinds: a job and a delivery with the same number are two items.
func queueKinds(w *world) {
	w.shuffled(5)
	refs := w.peek()
	slices.SortFunc(refs, func(a, b store.QueueKey) int { return cmp.Or(cmp.Compare(a.Number, b.Number), inOrder(a, b)) })
	for _, ref := range refs {
		w.claim(store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.past()})
		if run := w.load(ref); run == nil || run.Claim == nil {
			w.Errorf("%s is %+v after its claim", showRef(ref), run)
		}
	}
	if left := w.peek(); len(left) != 0 {
		w.Errorf("left over: %s", show(left, showRef))
	}
}

func queueRelease(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	for range 2 { // as if it had never been made, so that it can be made again
		before := showJob(w.get(j))
		c := w.claimOf(j, w.ahead())
		c.Deliveries = []job.Delivery{w.webhook(j, 1, "job.started", w.ahead()), w.webhook(j, 1, "job.request", w.ahead())}
		w.claim(c)
		if len(w.peek()) != 1 {
			w.Fatalf("the queue of a claimed job is %s, want its first event", show(w.peek(), showRef))
		}
		w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
		w.same("the queue", show(w.peek(), showRef), show([]store.QueueKey{refOf(j)}, showRef))
		w.same("the job", showJob(w.get(j)), before)
		if run := w.load(refOf(j)); run == nil || run.Claim != nil || run.Attempt != 0 {
			w.Errorf("the released item is %+v", run)
		}
		if _, err := w.s.LogGet(w.ctx, w.owner, c.Log.ID); err == nil {
			w.Error("the log of an attempt that was not made is there")
		}
	}
	w.settle(j, w.completes)
	if names := w.events(j); names != "http.request http.response" {
		w.Errorf("the logs are %q, want one attempt's", names)
	}
}

func queueReleaseDelivery(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.change(j, func(*store.Snapshot) *store.Changes {
		return &store.Changes{Deliveries: []job.Delivery{w.callback(j, 1, w.past())}}
	})
	ref := w.peekKind(store.KindDelivery)[0]
	c := store.Claim{QueueKey: ref, Attempt: 1, StartAt: w.ahead()}
	w.claim(c)
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
	if run := w.load(ref); run == nil || run.Claim != nil || run.Attempt != 0 || run.Delivery.Attempt != 0 {
		w.Errorf("a delivery given back is %+v", run)
	}
	w.claim(c)
}

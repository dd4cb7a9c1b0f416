package storetest

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
	"github.com/punctual-dev/punctual/test/pace"
)

// page is how many items tests read at once: few, so that there are several pages.
const page = 7

// peek returns all unclaimed items, read page by page.
func (w *world) peek() []store.QueueKey {
	w.Helper()
	var all []store.QueueKey
	var last store.QueueKey
	for {
		refs, err := w.s.QueuePeek(w.ctx, last, time.Time{}, page)
		w.ok("QueuePeek", err)
		all = append(all, refs...)
		if len(refs) < page {
			return all
		}
		last = refs[len(refs)-1]
	}
}

// peekKind returns the unclaimed items of a kind.
func (w *world) peekKind(kind store.Kind) []store.QueueKey {
	w.Helper()
	var refs []store.QueueKey
	for _, ref := range w.peek() {
		if ref.Kind == kind {
			refs = append(refs, ref)
		}
	}
	return refs
}

// queued returns the unclaimed item of a job; nil if there is none.
func (w *world) queued(j *job.Job) *store.QueueKey {
	w.Helper()
	for _, ref := range w.peekKind(store.KindJob) {
		if ref.Number == j.Number {
			return &ref
		}
	}
	return nil
}

// refOf returns the key that a pending job's item must have.
func refOf(j *job.Job) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number,
		Lane: job.Lane(target), Revision: j.Revision}
}

// load reads one item; nil if it is gone.
func (w *world) load(ref store.QueueKey) *store.QueueItem {
	w.Helper()
	runs, err := w.s.QueueLoad(w.ctx, []store.QueueKey{ref})
	w.ok("QueueLoad", err)
	if len(runs) != 1 {
		w.Fatalf("QueueLoad returned %d items for one", len(runs))
	}
	return runs[0]
}

// claimOf returns a claim for the next attempt of a job, with its request log.
func (w *world) claimOf(j *job.Job, startAt time.Time) store.Claim {
	log := w.log(j, job.EventRequest, startAt)
	return store.Claim{QueueKey: refOf(j), Attempt: j.Attempt + 1, StartAt: startAt, Log: &log}
}

// tryClaim claims items and returns which were claimed.
func (w *world) tryClaim(claims ...store.Claim) []bool {
	w.Helper()
	got, err := w.s.QueueClaim(w.ctx, w.node, claims)
	w.ok("QueueClaim", err)
	if len(got) != len(claims) {
		w.Fatalf("QueueClaim returned %d results for %d claims", len(got), len(claims))
	}
	return got
}

// claim claims items, all of which must be unclaimed.
func (w *world) claim(claims ...store.Claim) {
	w.Helper()
	for i, got := range w.tryClaim(claims...) {
		if !got {
			w.Fatalf("QueueClaim: claim %d (%s) was refused", i, showRef(claims[i].QueueKey))
		}
	}
}

// begin claims the next attempt of a job, which has started.
func (w *world) begin(j *job.Job) store.Claim {
	w.Helper()
	c := w.claimOf(j, w.past())
	w.claim(c)
	return c
}

// hold claims the next attempt of a job, which starts later.
func (w *world) hold(j *job.Job) store.Claim {
	w.Helper()
	c := w.claimOf(j, w.ahead())
	w.claim(c)
	return c
}

// ending sets the outcome of an attempt in its executing job.
type ending func(j *job.Job, c *store.Changes)

// end returns the finish of a claimed attempt.
func (w *world) end(j *job.Job, c store.Claim, how ending) store.Finish {
	read := *j
	return store.Finish{QueueKey: c.QueueKey, Node: w.node, Attempt: c.Attempt, Job: &read, Decide: func(*store.Snapshot) *store.Changes {
		after := read
		after.Attempt = c.Attempt - 1
		after.Begin(c.StartAt)
		changes := &store.Changes{Job: &after}
		how(&after, changes)
		return changes
	}}
}

// completes ends an attempt with success.
func (w *world) completes(j *job.Job, c *store.Changes) {
	j.Complete(w.now)
	c.Logs = append(c.Logs, w.log(j, job.EventResponse, w.now))
}

// retries schedules a retry at a time.
func (w *world) retries(at time.Time) ending {
	return func(j *job.Job, c *store.Changes) {
		j.Retry(at)
		c.Logs = append(c.Logs, w.log(j, job.EventError, w.now))
	}
}

// discards ends an attempt without success.
func (w *world) discards(j *job.Job, c *store.Changes) {
	j.Discard(w.now)
	c.Logs = append(c.Logs, w.log(j, job.EventError, w.now))
}

// tryFinish finishes items and returns which were still held.
func (w *world) tryFinish(runs ...store.Finish) []bool {
	w.Helper()
	held, err := w.s.QueueFinish(w.ctx, runs)
	w.ok("QueueFinish", err)
	if len(held) != len(runs) {
		w.Fatalf("QueueFinish returned %d results for %d items", len(held), len(runs))
	}
	return held
}

// finish finishes items, all of which must be held.
func (w *world) finish(runs ...store.Finish) {
	w.Helper()
	for i, held := range w.tryFinish(runs...) {
		if !held {
			w.Fatalf("QueueFinish: item %d (%s) was not held", i, showRef(runs[i].QueueKey))
		}
	}
}

// settle runs one attempt of a new job, which makes it final.
func (w *world) settle(j *job.Job, how ending) *job.Job {
	w.Helper()
	w.finish(w.end(j, w.begin(j), how))
	return w.get(j)
}

// replace stops the node, which abandons its claims, and starts another.
func (w *world) replace() int64 {
	w.Helper()
	w.ok("NodeStop", w.s.NodeStop(w.ctx, w.node))
	node, err := w.s.NodeStart(w.ctx)
	w.ok("NodeStart", err)
	return node
}

// within is the deadline for asynchronous results: far longer than they take.
const within = 30 * time.Second

// receive waits for a value, up to the deadline.
func receive[T any](w *world, what string, from <-chan T) T {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, pace.Guard(within))
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		w.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

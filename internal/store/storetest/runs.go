package storetest

import (
	"context"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

// page is how many runs tests read at once: few, so that pages are turned.
const page = 7

// peek reads all unclaimed runs, page by page.
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

// peekKind reads the unclaimed runs of a kind.
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

// queued gives the run of a job as it stands in the queue unclaimed; nil when
// it does not.
func (w *world) queued(j *job.Job) *store.QueueKey {
	w.Helper()
	for _, ref := range w.peekKind(store.KindJob) {
		if ref.Number == j.Number {
			return &ref
		}
	}
	return nil
}

// refOf gives the run that follows from a pending job.
func refOf(j *job.Job) store.QueueKey {
	return store.QueueKey{ItemID: store.ItemID{Kind: store.KindJob, Number: j.Number}, Due: j.DueAt, Account: j.Owner.Number, Lane: job.Lane(target)}
}

// load reads one run; nil when it is gone.
func (w *world) load(ref store.QueueKey) *store.QueueItem {
	w.Helper()
	runs, err := w.s.QueueLoad(w.ctx, []store.QueueKey{ref})
	w.ok("QueueLoad", err)
	if len(runs) != 1 {
		w.Fatalf("RunLoad gave %d runs for one", len(runs))
	}
	return runs[0]
}

// claimOf makes the claim for the next attempt of a job, with its request log.
func (w *world) claimOf(j *job.Job, beginAt time.Time) store.Claim {
	log := w.log(j, job.EventRequest, beginAt)
	return store.Claim{QueueKey: refOf(j), Attempt: j.Attempt + 1, StartAt: beginAt, Log: &log}
}

// tryClaim claims runs and tells which it got.
func (w *world) tryClaim(claims ...store.Claim) []bool {
	w.Helper()
	got, err := w.s.QueueClaim(w.ctx, w.node, claims)
	w.ok("QueueClaim", err)
	if len(got) != len(claims) {
		w.Fatalf("RunClaim gave %d results for %d claims", len(got), len(claims))
	}
	return got
}

// claim claims runs, all of which must be free.
func (w *world) claim(claims ...store.Claim) {
	w.Helper()
	for i, got := range w.tryClaim(claims...) {
		if !got {
			w.Fatalf("RunClaim: claim %d (%s) was refused", i, showRef(claims[i].QueueKey))
		}
	}
}

// begin claims the next attempt of a job as one that has begun.
func (w *world) begin(j *job.Job) store.Claim {
	w.Helper()
	c := w.claimOf(j, w.past())
	w.claim(c)
	return c
}

// hold claims the next attempt of a job as one that is yet to begin.
func (w *world) hold(j *job.Job) store.Claim {
	w.Helper()
	c := w.claimOf(j, w.ahead())
	w.claim(c)
	return c
}

// ending changes what an attempt came to; the job it is given is executing.
type ending func(j *job.Job, c *store.Changes)

// end makes the finish of a claimed attempt.
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

// retries has the attempt made again at a time.
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

// tryFinish finishes runs and tells which were still held.
func (w *world) tryFinish(runs ...store.Finish) []bool {
	w.Helper()
	held, err := w.s.QueueFinish(w.ctx, runs)
	w.ok("QueueFinish", err)
	if len(held) != len(runs) {
		w.Fatalf("RunFinish gave %d results for %d runs", len(held), len(runs))
	}
	return held
}

// finish finishes runs, all of which must be held.
func (w *world) finish(runs ...store.Finish) {
	w.Helper()
	for i, held := range w.tryFinish(runs...) {
		if !held {
			w.Fatalf("RunFinish: run %d (%s) was not held", i, showRef(runs[i].QueueKey))
		}
	}
}

// settle takes a new job through one attempt to its end.
func (w *world) settle(j *job.Job, how ending) *job.Job {
	w.Helper()
	w.finish(w.end(j, w.begin(j), how))
	return w.get(j)
}

// replace ends the node, so that its claims are abandoned, and starts another.
func (w *world) replace() int64 {
	w.Helper()
	w.ok("NodeStop", w.s.NodeStop(w.ctx, w.node))
	node, err := w.s.NodeStart(w.ctx)
	w.ok("NodeStart", err)
	return node
}

// within is the deadline of what must come soon: far longer than it takes.
const within = 30 * time.Second

// receive waits for a value, which a working store sends soon.
func receive[T any](w *world, what string, from <-chan T) T {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, within)
	defer cancel()
	select {
	case v := <-from:
		return v
	case <-ctx.Done():
		w.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var waitTests = group{
	"AreRead":             waitsRead,
	"EndsAreNoted":        waitsNoted,
	"EndsOfBatches":       waitsOfBatches,
	"OfFinalAndRemoved":   waitsOfFinal,
	"StepsAreBounded":     waitsBounded,
	"FailuresChangeNone":  waitsFail,
	"ArePostponed":        waitsPostponed,
	"OfJobsThatStopThat":  waitsStopped,
	"SweepFindsWhatsOpen": waitsSwept,
}

// waiter returns a new job that waits for others.
func (w *world) waiter(owner job.Owner, others ...*job.Job) store.NewJob {
	n := w.oneOff(owner, job.WaitingDue)
	n.Job.ScheduledAt = w.past()
	n.Await = &store.Await{}
	for _, j := range others {
		n.Await.Jobs = append(n.Await.Jobs, job.AwaitedJob{Number: j.Number, State: j.State})
	}
	return n
}

// ends makes a job final.
func (w *world) ends(j *job.Job, state job.State, at time.Time) {
	w.Helper()
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		switch after.State = state; state {
		case job.Completed:
			after.CompletedAt = at
		case job.Discarded:
			after.DiscardedAt = at
		default:
			after.CancelledAt = at
		}
		return &store.Changes{Job: &after}
	})
}

// release makes a step. Jobs become due in the past once nothing is open. It returns what
// the decisions saw.
func (w *world) release(owner job.Owner, limit int) (seen []store.Released, considered int) {
	w.Helper()
	considered, err := w.s.WaitApply(w.ctx, store.WaitStep{
		Account: owner.Number, Limit: limit, Begin: func() { seen = nil },
		Decide: func(r *store.Released, m *store.Snapshot) *store.Changes {
			seen = append(seen, *r)
			if m.Job.Number != r.Job || m.Job.Owner != owner || m.Now.IsZero() {
				w.Errorf("the decision about job %d sees %+v of %v", r.Job, m.Job, m.Job.Owner)
			}
			if r.Open {
				return nil
			}
			after := *m.Job
			after.DueAt, after.ScheduledAt = w.past(), r.LastAt
			return &store.Changes{Job: &after, UpdateDefinition: true}
		},
	})
	w.ok("WaitApply", err)
	return seen, considered
}

func (w *world) wantTurn(after, want int64) {
	w.Helper()
	got, err := w.s.WaitTurn(w.ctx, after)
	w.ok("WaitTurn", err)
	if got != want {
		w.Errorf("the turn after account %d is that of %d, want %d", after, got, want)
	}
}

func (w *world) wantWaits(j *job.Job, limit int, others ...*job.Job) {
	w.Helper()
	got, err := w.s.WaitsOf(w.ctx, j.Owner, j.Number, limit)
	w.ok("WaitsOf", err)
	var want []int64
	for _, other := range others {
		want = append(want, other.Number)
	}
	if !slices.Equal(got, want) {
		w.Errorf("job %d waits for %v, want %v", j.Number, got, want)
	}
	if len(want) > 0 && !store.Waits(w.get(j)) {
		w.Errorf("job %d does not wait: due %s", j.Number, w.get(j).DueAt)
	}
}

func waitsRead(w *world) {
	a, b := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.owner, w.ahead()))
	theirs := w.insertOne(w.oneOff(w.other, w.ahead()))
	j := w.insertOne(w.waiter(w.owner, b, a))
	other := w.insertOne(w.waiter(w.other, theirs))
	w.wantWaits(j, 10, a, b)
	w.wantWaits(j, 1, a)
	w.wantWaits(other, 10, theirs)
	if got, err := w.s.WaitsOf(w.ctx, w.other, j.Number, 10); err != nil || len(got) > 0 {
		w.Errorf("another account sees what a job waits for: %v, %v", got, err)
	}
	page, err := w.s.WaitPage(w.ctx, w.owner.Number, j.Number, a.Number, 10)
	w.ok("WaitPage", err)
	if len(page) != 1 || *page[0] != (store.Wait{Account: w.owner.Number, Job: j.Number, WaitsFor: b.Number}) {
		w.Errorf("the page behind the first row is %+v", page)
	}
	w.wantTurn(0, 0)
}

func waitsNoted(w *world) {
	a, b := w.insertOne(w.oneOff(w.owner, w.past())), w.insertOne(w.oneOff(w.owner, w.ahead()))
	theirs := w.insertOne(w.oneOff(w.other, w.ahead()))
	j, other := w.insertOne(w.waiter(w.owner, a, b)), w.insertOne(w.waiter(w.other, theirs))
	w.finish(w.end(w.get(a), w.begin(w.get(a)), w.completes))
	w.wantTurn(0, w.owner.Number)
	w.wantTurn(w.owner.Number, 0)
	seen, n := w.release(w.owner, 100)
	if want := []store.Released{{Job: j.Number, Open: true}}; n != 1 || fmt.Sprint(seen) != fmt.Sprint(want) {
		w.Errorf("the first end: %d considered, %+v, want %+v", n, seen, want)
	}
	w.wantWaits(j, 10, b)
	w.wantTurn(0, 0)
	at := w.s.Now().Add(-time.Second).Truncate(time.Microsecond)
	w.ends(b, job.Discarded, at)
	w.ends(theirs, job.Cancelled, at)
	if _, n := w.release(job.Owner{ID: w.owner.ID, Number: w.owner.Number + 1000}, 100); n != 0 {
		w.Errorf("a step of an account without jobs considers %d", n)
	}
	seen, _ = w.release(w.owner, 100)
	if len(seen) != 1 || seen[0].Open || seen[0].Unfinished != b.Number || seen[0].State != job.Discarded || seen[0].LastAt.Before(at) {
		w.Errorf("the last end: %+v", seen)
	}
	w.wantWaits(j, 10)
	if got := w.get(j); got.State != job.Available || !got.DueAt.Equal(w.past()) || got.Revision != 1 {
		w.Errorf("the released job: %s, revision %d", showJob(got), got.Revision)
	}
	w.wantDue("after a release", j)
	w.wantTurn(0, w.other.Number)
	seen, _ = w.release(w.other, 100)
	if len(seen) != 1 || seen[0].Job != other.Number || seen[0].Unfinished != theirs.Number || seen[0].State != job.Cancelled {
		w.Errorf("the end of the other account's job: %+v", seen)
	}
	w.wantTurn(0, 0)
}

func waitsOfBatches(w *world) {
	held := w.insertOne(w.keyed(w.owner, "k"))
	jobs := []store.NewJob{w.oneOff(w.owner, w.ahead()), w.keyed(w.owner, "k"), w.oneOff(w.owner, w.ahead()), w.keyed(w.owner, "k"),
		w.waiter(w.owner)}
	jobs[4].Await.Batch = true
	results := w.insertEach(true, jobs...)
	j := results[4].Job
	w.wantWaits(j, 10, held, results[0].Job, results[2].Job)
	w.ends(held, job.Discarded, w.past())
	w.ends(results[2].Job, job.Completed, w.past())
	w.ends(results[0].Job, job.Discarded, w.past())
	seen, _ := w.release(w.owner, 1000)
	want := job.BatchSummary{Completed: 1, Discarded: 2, Failed: []int64{held.Number, results[0].Job.Number}}
	if len(seen) != 1 || !seen[0].Batch || fmt.Sprint(seen[0].Summary) != fmt.Sprint(want) {
		w.Errorf("the end of the batch: %+v, want %+v", seen, want)
	}
	w.wantTurn(0, 0)
	// What is not stored, because its key is held, waits for nothing.
	again := w.waiter(w.owner, results[0].Job)
	key := "held"
	w.insertOne(w.keyed(w.owner, key))
	again.Job.Key = &key
	if r := w.create(again); !r.Conflict {
		w.Error("a second job with the key was stored")
	}
	w.wantTurn(0, 0)
}

func waitsOfFinal(w *world) {
	done := w.endedAt(w.oneOff(w.owner, w.past()), job.Completed, w.past())
	j := w.insertOne(w.waiter(w.owner, done, &job.Job{Number: done.Number + 1000, State: job.Discarded}))
	w.wantTurn(0, w.owner.Number)
	seen, n := w.release(w.owner, 100)
	if n != 2 || len(seen) != 1 || seen[0].Open || seen[0].Unfinished != done.Number+1000 || seen[0].State != job.Discarded {
		w.Errorf("the ends of final jobs: %d considered, %+v", n, seen)
	}
	w.wantDue("after a release", j)
	w.wantTurn(0, 0)
}

func waitsBounded(w *world) {
	a := w.insertOne(w.oneOff(w.owner, w.ahead()))
	many := make([]store.NewJob, 25)
	for i := range many {
		many[i] = w.waiter(w.owner, a)
	}
	jobs := w.insert(many...)
	w.ends(a, job.Completed, w.past())
	steps, released := 0, 0
	for range 10 {
		seen, n := w.release(w.owner, 10)
		if n == 0 {
			break
		}
		if len(seen) > 10 {
			w.Errorf("a step of 10 releases %d", len(seen))
		}
		steps, released = steps+1, released+len(seen)
	}
	if released != len(jobs) || steps != 3 {
		w.Errorf("%d jobs were released in %d steps, want %d in 3", released, steps, len(jobs))
	}
	w.wantTurn(0, 0)
}

func waitsFail(w *world) {
	a := w.insertOne(w.oneOff(w.owner, w.ahead()))
	j := w.insertOne(w.waiter(w.owner, a))
	w.ends(a, job.Completed, w.past())
	_, err := w.s.WaitApply(w.ctx, store.WaitStep{
		Account: w.owner.Number, Limit: 10, Decide: func(*store.Released, *store.Snapshot) *store.Changes { panic("a defect") },
	})
	if !store.IsUnstorable(err) {
		w.Errorf("a step whose decision panics: %v", err)
	}
	w.wantWaits(j, 10, a)
	w.wantTurn(0, w.owner.Number)
	if seen, _ := w.release(w.owner, 10); len(seen) != 1 {
		w.Errorf("the next step sees %+v", seen)
	}
}

func waitsPostponed(w *world) {
	a := w.insertOne(w.oneOff(w.owner, w.ahead()))
	first, second := w.insertOne(w.waiter(w.owner, a)), w.insertOne(w.waiter(w.owner, a))
	w.ends(a, job.Completed, w.past())
	_, err := w.s.WaitApply(w.ctx, store.WaitStep{Account: w.owner.Number, Limit: 1, Postpone: time.Hour,
		Decide: func(*store.Released, *store.Snapshot) *store.Changes {
			w.Error("what is postponed is decided")
			return nil
		}})
	w.ok("WaitApply", err)
	if seen, _ := w.release(w.owner, 10); len(seen) != 1 || seen[0].Job != second.Number {
		w.Errorf("the step after one job was postponed sees %+v", seen)
	}
	w.wantWaits(first, 10, a)
	if seen, n := w.release(w.owner, 10); len(seen) != 0 || n != 1 {
		w.Errorf("the step after that considers %d and sees %+v", n, seen)
	}
	w.wantTurn(0, 0) // until the end is considered again
}

func waitsStopped(w *world) {
	a := w.insertOne(w.oneOff(w.owner, w.ahead()))
	cancelled, run := w.insertOne(w.waiter(w.owner, a)), w.insertOne(w.waiter(w.owner, a))
	w.ends(cancelled, job.Cancelled, w.past())
	w.change(run, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.DueAt = w.past()
		return &store.Changes{Job: &after}
	})
	w.wantDue("after a run-now", run)
	w.ends(a, job.Completed, w.past())
	if seen, n := w.release(w.owner, 10); len(seen) != 0 || n != 1 {
		w.Errorf("the end of a job for which none waits any more: %d considered, %+v", n, seen)
	}
	w.wantDue("afterwards", run)
	w.wantWaits(cancelled, 10)
	w.wantTurn(0, 0)
}

func waitsSwept(w *world) {
	a, b := w.insertOne(w.oneOff(w.owner, w.ahead())), w.insertOne(w.oneOff(w.other, w.ahead()))
	w.insertOne(w.waiter(w.owner, a))
	w.insertOne(w.waiter(w.other, b))
	w.ends(a, job.Completed, w.past())
	var after store.WaitCursor
	for pages := 0; ; pages++ {
		next, stored, err := w.s.WaitSweep(w.ctx, after, 1)
		w.ok("WaitSweep", err)
		if stored != 0 {
			w.Errorf("the sweep stores %d ends, which are stored already", stored)
		}
		if after = next; after == (store.WaitCursor{}) {
			if pages < 2 {
				w.Errorf("the sweep ends after %d pages", pages)
			}
			break
		}
	}
	if seen, n := w.release(w.owner, 10); len(seen) != 1 || n != 1 {
		w.Errorf("after the sweep: %d considered, %+v", n, seen)
	}
}

package storetest

import (
	"bytes"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var idempotencyTests = group{
	"HeldUntilFinal":         keyHeldUntilFinal,
	"PerOwner":               keyPerOwner,
	"WithinABatch":           keyWithinABatch,
	"Exact":                  keyExact,
	"HeldBySchedule":         keyHeldBySchedule,
	"FreeAfterSchedule":      keyFreeAfterSchedule,
	"ConflictStoresNothing":  keyConflictStoresNothing,
	"OnlyTheHolderOfMany":    keyOnlyTheHolderOfMany,
	"HeldByDisabledSchedule": keyHeldByDisabledSchedule,
	"RequestIsKept":          keyRequestKept,
}

// wantHeld inserts a job and verifies that it is a duplicate of another.
func (w *world) wantHeld(n store.NewJob, holder *job.Job) *job.Job {
	w.Helper()
	results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
	w.ok("JobInsertMany", err)
	if r := results[0]; !r.Conflict || r.Job == nil || r.Job.Number != holder.Number {
		w.Fatalf("a duplicate returned %+v (%s), want job %d as its holder", r, showJob(r.Job), holder.Number)
	}
	return results[0].Job
}

func keyHeldUntilFinal(w *world) {
	ends := map[string]func(*job.Job){
		"completed": func(j *job.Job) { w.settle(j, w.completes) },
		"discarded": func(j *job.Job) { w.settle(j, w.discards) },
		"cancelled": func(j *job.Job) { w.change(j, cancel) },
	}
	for name, end := range ends {
		first := w.insertOne(w.keyed(w.owner, name))
		held := w.wantHeld(w.keyed(w.owner, name), first)
		w.same("the holder while available", showJob(held), showJob(w.get(first)))
		w.finish(w.end(first, w.begin(first), w.retries(w.ahead())))
		first = w.get(first)
		w.same("the holder while retryable", showJob(w.wantHeld(w.keyed(w.owner, name), first)), showJob(first))
		w.hold(first)
		w.wantHeld(w.keyed(w.owner, name), first)
		w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{{QueueKey: refOf(first), Attempt: 2}}))
		end(first)
		second := w.insertOne(w.keyed(w.owner, name))
		w.wantHeld(w.keyed(w.owner, name), second)
	}
	executing := w.insertOne(w.keyed(w.owner, "executing"))
	w.begin(executing)
	if held := w.wantHeld(w.keyed(w.owner, "executing"), executing); held.State != job.Executing {
		w.Errorf("the holder under way is shown as %s", held.State)
	}
}

func keyPerOwner(w *world) {
	mine := w.insertOne(w.keyed(w.owner, "key"))
	theirs := w.insertOne(w.keyed(w.other, "key"))
	w.wantHeld(w.keyed(w.owner, "key"), mine)
	w.wantHeld(w.keyed(w.other, "key"), theirs)
}

func keyWithinABatch(w *world) {
	batch := []store.NewJob{
		w.keyed(w.owner, "a"), w.keyed(w.owner, "b"), w.keyed(w.owner, "a"), w.oneOff(w.owner, w.ahead()),
		w.keyed(w.other, "a"), w.keyed(w.owner, "a"), w.keyed(w.other, "a"), w.oneOff(w.owner, w.ahead()),
	}
	first := []int{0, 1, 0, 3, 4, 0, 4, 7} // where the job stands that each result carries
	results, err := w.s.JobInsertMany(w.ctx, batch)
	w.ok("JobInsertMany", err)
	for i, r := range results {
		if r.Conflict != (first[i] != i) || r.Job.ID != batch[first[i]].Job.ID || r.Job.Number != results[first[i]].Job.Number {
			w.Errorf("result %d is %v with %s, want the job at %d", i, r.Conflict, showJob(r.Job), first[i])
		}
	}
	if n := len(w.peek()); n != 5 {
		w.Errorf("%d items stored, want 5", n)
	}
}

func keyExact(w *world) {
	for _, key := range append(awkward, "a", "A", "a ", " a", "ａ", "e\u0301", "\u00e9", strings.Repeat("k", 255),
		strings.Repeat("é", 255)) {
		first := w.insertOne(w.keyed(w.owner, key))
		w.wantHeld(w.keyed(w.owner, key), first)
		jobs, err := w.s.JobList(w.ctx, w.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}, Key: &key})
		if err != nil || len(jobs) != 1 || jobs[0].Number != first.Number {
			w.Errorf("the list for key %q has %d jobs (%v), want the one", key, len(jobs), err)
		}
	}
}

// keyedSchedule stores a schedule with a key and returns it with its first job.
func (w *world) keyedSchedule(key string) (*job.Schedule, *job.Job) {
	w.Helper()
	n := w.recurring(w.owner, w.past())
	n.Job.Key, n.Schedule.Key = &key, &key
	return n.Schedule, w.insertOne(n)
}

func keyHeldBySchedule(w *world) {
	s, first := w.keyedSchedule("key")
	w.wantHeld(w.keyed(w.owner, "key"), first)
	c := w.begin(first)
	w.wantHeld(w.keyed(w.owner, "key"), first)
	next := w.nextOf(s, w.ahead())
	w.finish(w.end(first, c, func(j *job.Job, changes *store.Changes) {
		w.completes(j, changes)
		changes.Next = next
	}))
	w.wantHeld(w.keyed(w.owner, "key"), next.Job) // the unfinished one, not the first
	w.wantHeld(w.recurringWithKey("key"), next.Job)
	w.change(next.Job, cancel)
	w.wantHeld(w.keyed(w.owner, "key"), next.Job) // the latest, there being no unfinished one
}

func (w *world) recurringWithKey(key string) store.NewJob {
	n := w.recurring(w.owner, w.ahead())
	n.Job.Key, n.Schedule.Key = &key, &key
	return n
}

func keyHeldByDisabledSchedule(w *world) {
	s, first := w.keyedSchedule("key")
	_, err := w.s.ScheduleChange(w.ctx, w.owner, s.ID, func(m *store.Snapshot) *store.Changes {
		c := cancel(m)
		disabled := *m.Schedule
		disabled.DisabledAt = m.Now
		c.Schedule = &disabled
		return c
	})
	w.ok("ScheduleChange", err)
	w.wantHeld(w.keyed(w.owner, "key"), first)
	if _, err := w.s.JobPrune(w.ctx, w.s.Now().Add(time.Minute), store.PruneCursor{}, 10); err != nil {
		w.Fatalf("JobPrune: %v", err)
	}
	w.wantHeld(w.keyed(w.owner, "key"), first)
}

func keyFreeAfterSchedule(w *world) {
	s, first := w.keyedSchedule("key")
	c := w.begin(first)
	w.drop(s)
	w.wantHeld(w.keyed(w.owner, "key"), first) // the run under way still holds it
	w.finish(w.end(first, c, w.completes))
	second := w.insertOne(w.keyed(w.owner, "key"))
	w.wantHeld(w.keyed(w.owner, "key"), second)
}

// drop deletes a schedule and keeps its job.
func (w *world) drop(s *job.Schedule) {
	w.Helper()
	_, err := w.s.ScheduleChange(w.ctx, s.Owner, s.ID, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Schedule: m.Schedule, DropSchedule: true}
	})
	w.ok("ScheduleChange", err)
}

func keyConflictStoresNothing(w *world) {
	first := w.insertOne(w.keyed(w.owner, "key"))
	duplicate := w.recurringWithKey("key")
	w.wantHeld(duplicate, first)
	if list := w.listSchedules(w.owner, job.ListQuery{Limit: 10}); len(list) != 0 {
		w.Errorf("a duplicate stored %s", showSchedule(list[0]))
	}
	if refs := w.peek(); len(refs) != 1 {
		w.Errorf("%d items in the queue, want the first one's", len(refs))
	}
	if jobs := w.listJobs(w.owner, job.Query{ListQuery: job.ListQuery{Limit: 10}}); len(jobs) != 1 {
		w.Errorf("%d jobs are listed, want the first", len(jobs))
	}
}

// keyOnlyTheHolderOfMany: of many jobs with one key, the unfinished one holds it.
func keyOnlyTheHolderOfMany(w *world) {
	for range 5 {
		w.settle(w.insertOne(w.keyed(w.owner, "key")), w.completes)
	}
	holder := w.insertOne(w.keyed(w.owner, "key"))
	w.wantHeld(w.keyed(w.owner, "key"), holder)
}

// keyRequestKept: the digest of the call that sent a key is read with the job, also
// when it holds the key.
func keyRequestKept(w *world) {
	for name, request := range map[string][]byte{"with": []byte("\x00\xff and 14 more"), "without": nil} {
		n := w.keyed(w.owner, name)
		n.Job.KeyRequest = request
		j := w.insertOne(n)
		for _, brief := range []bool{false, true} {
			again := w.keyed(w.owner, name)
			again.Brief = brief
			held := w.wantHeld(again, j)
			for what, read := range map[string]*job.Job{"read": w.get(j), "the holder": held} {
				if !bytes.Equal(read.KeyRequest, request) || (read.KeyRequest == nil) != (request == nil) {
					w.Errorf("%s: %s has %q, want %q", name, what, read.KeyRequest, request)
				}
			}
		}
	}
}

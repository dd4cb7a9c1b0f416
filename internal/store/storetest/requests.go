package storetest

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var requestTests = group{
	"AnsweredOnce":        requestAnsweredOnce,
	"OutlivesItsJob":      requestOutlivesItsJob,
	"Conflicts":           requestConflicts,
	"RefusalsForgotten":   requestRefusalsForgotten,
	"WithinABatch":        requestWithinABatch,
	"KeyOfAnAnsweredOne":  requestKeyOfAnAnsweredOne,
	"Exact":               requestExact,
	"Expires":             requestExpires,
	"BesideFullAccount":   requestBesideFullAccount,
	"RolledBackWithBatch": requestRolledBack,
	"Counted":             requestCounted,
}

// requested returns a job with a request_id.
func (w *world) requested(owner job.Owner, id string) store.NewJob {
	return w.identified(w.oneOff(owner, w.ahead()), id)
}

func (w *world) identified(n store.NewJob, id string) store.NewJob {
	n.Request = &store.NewRequest{ID: job.RequestKey(id), Digest: []byte("16 bytes of " + id), Until: w.now.Add(time.Hour)}
	return n
}

// insertEach inserts jobs by JobInsertMany, or by JobInsertBatch.
func (w *world) insertEach(batch bool, jobs ...store.NewJob) []store.Inserted {
	w.Helper()
	var results []store.Inserted
	var err error
	if batch {
		results, err = w.s.JobInsertBatch(w.ctx, jobs, func([]store.Inserted) error { return nil })
	} else {
		results, err = w.s.JobInsertMany(w.ctx, jobs)
	}
	w.ok("inserting", err)
	return results
}

// wantRepeated verifies that a result is an answer that was given before.
func (w *world) wantRepeated(what string, got store.Inserted, id string, j *job.Job) {
	w.Helper()
	if !got.Repeated || !got.Conflict || got.Changed || !bytes.Equal(got.Digest, []byte("16 bytes of "+id)) ||
		(got.Job == nil) != (j == nil) || j != nil && got.Job.Number != j.Number {
		w.Errorf("%s: %+v (%s), want a repeat with job %s", what, got, showJob(got.Job), showJob(j))
	}
}

func requestAnsweredOnce(w *world) {
	for _, batch := range []bool{false, true} {
		id := map[bool]string{false: "id", true: uuid.NewString()}[batch]
		first := w.insertEach(batch, w.requested(w.owner, id))[0]
		if first.Conflict || first.Repeated {
			w.Fatalf("the first is %+v", first)
		}
		theirs := w.insertEach(batch, w.requested(w.other, id))[0]
		if theirs.Conflict || theirs.Job.Number == first.Job.Number {
			w.Errorf("another account's is %+v", theirs)
		}
		again := w.insertEach(batch, w.requested(w.owner, id))[0]
		w.wantRepeated("available", again, id, first.Job)
		w.same("the job of the repeat", showJob(again.Job), showJob(w.get(first.Job)))
		w.begin(first.Job)
		if again = w.insertEach(!batch, w.requested(w.owner, id))[0]; again.Job.State != job.Executing {
			w.Errorf("the job under way is shown as %s", again.Job.State)
		}
		w.change(first.Job, cancel)
		w.wantRepeated("final", w.insertEach(batch, w.requested(w.owner, id))[0], id, first.Job)
		known, err := w.s.JobRequested(w.ctx, w.owner, []uuid.UUID{job.RequestKey("unknown"), job.RequestKey(id)})
		w.ok("JobRequested", err)
		if known[0].Repeated || known[0].Job != nil {
			w.Errorf("an unknown request: %+v", known[0])
		}
		w.wantRepeated("JobRequested", known[1], id, first.Job)
	}
}

func requestOutlivesItsJob(w *world) {
	first := w.insertEach(false, w.requested(w.owner, "a"))[0].Job
	w.change(first, cancel)
	if _, err := w.s.JobPrune(w.ctx, w.ahead().Add(time.Hour), store.PruneCursor{}, 10); err != nil {
		w.Fatal(err)
	}
	w.wantRepeated("removed", w.insertEach(true, w.requested(w.owner, "a"))[0], "a", nil)
	known, err := w.s.JobRequested(w.ctx, w.owner, []uuid.UUID{job.RequestKey("a")})
	w.ok("JobRequested", err)
	w.wantRepeated("JobRequested", known[0], "a", nil)
}

// requestConflicts: a request that was answered with the holder of its key is answered
// with that job again, although the key is free by then.
func requestConflicts(w *world) {
	for _, batch := range []bool{false, true} {
		key := map[bool]string{true: "k", false: "l"}[batch]
		holder := w.insertOne(w.keyed(w.owner, key))
		conflict := w.insertEach(batch, w.identified(w.keyed(w.owner, key), key))[0]
		if !conflict.Conflict || conflict.Repeated || conflict.Job.Number != holder.Number {
			w.Fatalf("the first is %+v", conflict)
		}
		w.change(holder, cancel)
		w.wantRepeated("with a free key", w.insertEach(batch, w.identified(w.keyed(w.owner, key), key))[0], key, holder)
	}
}

func requestRefusalsForgotten(w *world) {
	for _, batch := range []bool{false, true} {
		key := map[bool]string{true: "k", false: "l"}[batch]
		holder := w.insertOne(w.keyed(w.owner, key))
		refused := func() store.NewJob {
			n := w.identified(w.keyed(w.owner, key), key)
			n.Request.Answered = func(i *store.Inserted) bool { return !i.Conflict }
			return n
		}
		if r := w.insertEach(batch, refused())[0]; r.Repeated || r.Job.Number != holder.Number {
			w.Errorf("refused: %+v", r)
		}
		w.change(holder, cancel)
		if r := w.insertEach(batch, refused())[0]; r.Conflict {
			w.Errorf("once the key is free: %+v", r)
		}
	}
}

func requestWithinABatch(w *world) {
	for _, batch := range []bool{false, true} {
		id := map[bool]string{true: "x", false: "y"}[batch]
		keyed := func() store.NewJob { return w.identified(w.keyed(w.owner, id), id+"keyed") }
		results := w.insertEach(batch, w.requested(w.owner, id), w.oneOff(w.owner, w.ahead()), w.requested(w.owner, id),
			w.requested(w.other, id), keyed(), keyed())
		for i, r := range results {
			if want := i == 2 || i == 5; r.Conflict != want || r.Repeated != want {
				w.Errorf("result %d: %+v", i, r)
			}
		}
		w.wantRepeated("the third", results[2], id, results[0].Job)
		w.wantRepeated("the sixth", results[5], id+"keyed", results[4].Job)
		w.wantRepeated("later", w.insertEach(batch, w.requested(w.owner, id))[0], id, results[0].Job)
	}
}

// requestKeyOfAnAnsweredOne: a repeated request doesn't hold its key for others.
func requestKeyOfAnAnsweredOne(w *world) {
	first := w.insertEach(false, w.identified(w.keyed(w.owner, "k"), "a"))[0].Job
	w.change(first, cancel)
	results := w.insertEach(true, w.identified(w.keyed(w.owner, "k"), "a"), w.identified(w.keyed(w.owner, "k"), "b"))
	w.wantRepeated("the repeat", results[0], "a", first)
	if results[1].Conflict || results[1].Job.Number == first.Number {
		w.Errorf("the other with the key: %+v", results[1])
	}
}

// requestExact: of many calls at once, with the requests in different orders, one
// creates each job.
func requestExact(w *world) {
	ids := []string{"a", "b", "c", uuid.NewString(), uuid.NewString()}
	var wg sync.WaitGroup
	created := make([]atomic.Int64, len(ids))
	numbers := make([]sync.Map, len(ids))
	for caller := range 8 {
		wg.Go(func() {
			var jobs []store.NewJob
			order := make([]int, len(ids))
			for k := range ids {
				order[k] = (k + caller) % len(ids)
				jobs = append(jobs, w.requested(w.owner, ids[order[k]]))
			}
			for k, r := range w.insertEach(caller%2 == 0, jobs...) {
				if !r.Conflict {
					created[order[k]].Add(1)
				}
				numbers[order[k]].Store(r.Job.Number, true)
			}
		})
	}
	wg.Wait()
	for i := range ids {
		different := 0
		numbers[i].Range(func(any, any) bool { different++; return true })
		if n := created[i].Load(); n != 1 || different != 1 {
			w.Errorf("request %s created %d jobs, and was answered with %d", ids[i], n, different)
		}
	}
}

func requestExpires(w *world) {
	expired := w.requested(w.owner, "a")
	expired.Request.Until = w.now.Add(-time.Second)
	first := w.insertEach(false, expired)[0].Job
	second := w.insertEach(false, w.requested(w.owner, "a"))[0]
	if second.Conflict || second.Job.Number == first.Number {
		w.Errorf("after it has expired: %+v", second)
	}
	w.wantRepeated("the second", w.insertEach(true, w.requested(w.owner, "a"))[0], "a", second.Job)
	for range 3 {
		w.insertEach(false, func() store.NewJob { n := w.requested(w.owner, uuid.NewString()); n.Request.Until = w.now; return n }())
	}
	for i, want := range []int{2, 1, 0} {
		if n, err := w.s.RequestPrune(w.ctx, w.now, 2); n != want || err != nil {
			w.Errorf("RequestPrune %d: %d, %v, want %d", i, n, err, want)
		}
	}
	w.wantRepeated("after pruning", w.insertEach(true, w.requested(w.owner, "a"))[0], "a", second.Job)
}

// requestBesideFullAccount: a repeat is answered at the limits of an account too.
func requestBesideFullAccount(w *world) {
	first := w.insertEach(false, w.requested(w.owner, "a"))[0].Job
	full := func(id string) store.NewJob {
		n := w.requested(w.owner, id)
		n.Caps.Full = true
		return n
	}
	for _, batch := range []bool{false, true} {
		results := w.insertEach(batch, full("b"), full("a"), full("b"))
		w.wantRepeated("the repeat", results[1], "a", first)
		if results[0].Over != store.QuotaStored || results[2].Over != store.QuotaStored {
			w.Errorf("beyond the limit: %+v, %+v", results[0], results[2])
		}
	}
	if r := w.insertEach(false, w.requested(w.owner, "b"))[0]; r.Conflict || r.Job == nil {
		w.Errorf("once there is room: %+v", r)
	}
}

func requestRolledBack(w *world) {
	_, err := w.s.JobInsertBatch(w.ctx, []store.NewJob{w.requested(w.owner, "a")},
		func([]store.Inserted) error { return errors.New("refused") })
	if err == nil {
		w.Fatal("the batch was stored")
	}
	if r := w.insertEach(false, w.requested(w.owner, "a"))[0]; r.Conflict {
		w.Errorf("after a batch that was not stored: %+v", r)
	}
}

func requestCounted(w *world) {
	before := w.bytes(w.owner, 2)
	n := w.requested(w.owner, "a")
	w.insertEach(false, n, w.requested(w.owner, uuid.NewString()), w.requested(w.owner, uuid.NewString()), w.requested(w.other, "a"))
	size := int64(3 * (len(n.Job.Args) + store.RequestSize))
	for _, rows := range []int{1, 2, 100} {
		if got := w.bytes(w.owner, rows) - before; got != size {
			w.Errorf("%d rows at a time: %d bytes, want %d", rows, got, size)
		}
	}
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	w.purge(w.past(), 2)
	if got := w.bytes(w.owner, 2); got != 0 {
		w.Errorf("%d bytes are left of a deleted account", got)
	}
}

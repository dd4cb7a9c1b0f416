package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func acceptAll([]store.Inserted) error { return nil }

func conflictBatchAtomic(w *world) {
	held := w.insertOne(w.keyed(w.owner, "held"))
	batch := func() []store.NewJob {
		return []store.NewJob{w.oneOff(w.owner, w.ahead()), w.recurringWithKey("r"), w.keyed(w.owner, "held"), w.replacement("new", 1),
			w.replacement("held", 2)}
	}
	before := w.everything()
	refusal := errors.New("refused")
	_, err := w.s.JobInsertBatch(w.ctx, batch(), func(r []store.Inserted) error {
		if len(r) != 5 || r[0].Conflict || !r[2].Conflict || r[2].Job.Number != held.Number || !r[4].Changed {
			w.Errorf("accept was called with %+v", r)
		}
		return refusal
	})
	if !errors.Is(err, refusal) {
		w.Errorf("JobInsertBatch: %v, want the error of accept", err)
	}
	w.same("the records after a refused batch", w.everything(), before)
	results, err := w.s.JobInsertBatch(w.ctx, batch(), acceptAll)
	w.ok("JobInsertBatch", err)
	for i, want := range []struct{ conflict, changed bool }{{}, {}, {true, false}, {}, {true, true}} {
		if r := results[i]; r.Conflict != want.conflict || r.Changed != want.changed || r.Job.Number == 0 {
			w.Errorf("result %d is %+v", i, r)
		}
	}
	for i := range 3 {
		if i > 0 && results[i].Job.Number <= 0 {
			w.Errorf("result %d has no number", i)
		}
	}
	if n := len(w.peek()); n != 4 {
		w.Errorf("%d items in the queue, want 4", n)
	}
}

func conflictBatchOrder(w *world) {
	soon := w.replacement("soon", 1)
	soon.Job.ScheduledAt, soon.Job.DueAt = w.past(), w.now
	batch := []store.NewJob{
		w.replacement("a", 1), w.replacement("a", 2), w.keyed(w.owner, "a"), w.replacement("a", 3),
		soon, w.replacement("soon", 2), w.replacement("soon", 3), w.keyed(w.owner, "soon"),
	}
	results, err := w.s.JobInsertBatch(w.ctx, batch, acceptAll)
	w.ok("JobInsertBatch", err)
	for i, want := range []struct {
		job               int // whose job it is
		conflict, changed bool
		content           string
	}{
		{0, false, false, "1"}, {0, true, true, "2"}, {0, true, false, "2"}, {0, true, true, "3"},
		{4, false, false, "1"}, {5, false, false, "2"}, {5, true, true, "3"}, {4, true, false, "1"},
	} {
		j := w.wantResult("result "+strconv.Itoa(i), results[i], want.conflict, want.changed, want.content)
		if j.Number != results[want.job].Job.Number || j.ID != batch[want.job].Job.ID {
			w.Errorf("result %d is %s, want the job of item %d", i, showJob(j), want.job)
		}
	}
	if got := contentOf(w.get(results[0].Job)); got != "3" {
		w.Errorf("the first job has body %s", got)
	}
	if got := w.get(results[5].Job); contentOf(got) != "3" || got.Follows != results[4].Job.Number {
		w.Errorf("the follower is %s", showJob(got))
	}
	w.wantQueue("after the batch", results[0].Job, results[4].Job)
}

// conflictBatchHistory: of a job that a batch replaces many times the latest edits
// are kept.
func conflictBatchHistory(w *world) {
	var batch []store.NewJob
	for i := range job.MaxRevisions + 10 {
		batch = append(batch, w.replacement("k", i))
	}
	results, err := w.s.JobInsertBatch(w.ctx, batch, acceptAll)
	w.ok("JobInsertBatch", err)
	j := w.get(results[0].Job)
	if contentOf(j) != strconv.Itoa(len(batch)-1) || j.Revision != int64(len(batch)) {
		w.Errorf("the job is %s at revision %d, want that of the last of %d items", showJob(j), j.Revision, len(batch))
	}
	history, err := w.s.Revisions(w.ctx, w.owner, j.ID)
	w.ok("Revisions", err)
	if len(history) != job.MaxRevisions || history[0].Number != int64(len(batch)) {
		w.Errorf("%d edits are kept, want %d that end with revision %d", len(history), job.MaxRevisions, len(batch))
	}
	w.wantQueue("after the batch", j)
}

// conflictBatchHeld: keys of a few bytes do not make a batch read more than MaxHeld.
func conflictBatchHeld(w *world) {
	const size = 1 << 20
	args := rawjson.Value(`{"url":"https://example.com/hook","body":"` + strings.Repeat("x", size) + `","method":"get","headers":{}}`)
	const enough = store.MaxHeld/size - 1 // of the jobs fit
	var holders []*job.Job
	for i := range enough + 1 {
		n := w.keyed(w.owner, strconv.Itoa(i))
		n.Job.Args = args
		holders = append(holders, w.insertOne(n))
	}
	duplicates := func(n int, more ...store.NewJob) []store.NewJob {
		batch := []store.NewJob{w.keyed(w.owner, "free")}
		for i := range n {
			batch = append(batch, w.keyed(w.owner, strconv.Itoa(i)))
		}
		return append(batch, more...)
	}
	brief := duplicates(enough + 1)
	for i := range brief {
		brief[i].Brief = true
	}
	before := w.everything()
	for name, batch := range map[string][]store.NewJob{
		"duplicates": duplicates(enough + 1), "a replacement": duplicates(enough, w.replacement(strconv.Itoa(enough), 1)),
		"a brief item and one that is not": append(brief[:len(brief):len(brief)], duplicates(enough + 1)[1:]...),
	} {
		_, err := w.s.JobInsertBatch(w.ctx, batch, acceptAll)
		w.wantCode("a batch of too large "+name, err, fault.Invalid)
		w.same("the records after a batch of too large "+name, w.everything(), before)
	}
	results, err := w.s.JobInsertBatch(w.ctx, append(brief, w.keyed(w.owner, "0")), acceptAll)
	w.ok("JobInsertBatch of brief items", err)
	for i, h := range holders {
		if r := results[i+1]; !r.Conflict || r.Job.ID != h.ID || r.Job.Number != h.Number {
			w.Errorf("brief result %d is %+v, want job %d", i, r, h.Number)
		}
	}
	if got := results[len(results)-1].Job; len(got.Args) != len(args) {
		w.Errorf("a job is shown with %d bytes of args because another item with its key is brief, want %d", len(got.Args), len(args))
	}
	results, err = w.s.JobInsertBatch(w.ctx, duplicates(enough), acceptAll)
	w.ok("JobInsertBatch of fewer", err)
	for i, r := range results[1:] {
		if !r.Conflict || r.Job.ID != holders[i].ID || len(r.Job.Args) != len(args) {
			w.Errorf("result %d is %+v, want job %d", i, r, holders[i].Number)
		}
	}
}

// conflictMixed: batches with repeated keys and any conflict store what the same
// jobs store one after the other.
func conflictMixed(w *world) {
	r := w.random()
	for round := range rounds(30) {
		var together, single []store.NewJob
		for i := range 12 {
			key := strconv.Itoa(r.IntN(4))
			soon, replaces := r.IntN(3) == 0, r.IntN(3) > 0
			for _, to := range []*[]store.NewJob{&together, &single} {
				n := w.replacement(fmt.Sprintf("%d/%s/%p", round, key, to), i)
				if soon {
					n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.now
				}
				if !replaces {
					n.Resolve = nil
				}
				*to = append(*to, n)
			}
		}
		batch, err := w.s.JobInsertBatch(w.ctx, together, acceptAll)
		w.ok("JobInsertBatch", err)
		places := map[[2]uuid.UUID]bool{}
		for i := range single {
			one := w.create(single[i])
			got := batch[i]
			if got.Conflict != one.Conflict || got.Changed != one.Changed || contentOf(got.Job) != contentOf(one.Job) {
				w.Fatalf("round %d, item %d: %+v with body %s in the batch, %+v with body %s alone", round, i, got, contentOf(got.Job), one,
					contentOf(one.Job))
			}
			places[[2]uuid.UUID{got.Job.ID, one.Job.ID}] = true
			if stored := w.get(got.Job); stored.Number != got.Job.Number {
				w.Fatalf("round %d, item %d: job %d is stored as %d", round, i, got.Job.Number, stored.Number)
			}
		}
		for pair := range places {
			var jobs [2]*job.Job
			for i := range pair {
				j, err := w.s.JobGet(w.ctx, w.owner, job.Ref{UUID: pair[i]})
				w.ok("JobGet", err)
				jobs[i] = j
			}
			if contentOf(jobs[0]) != contentOf(jobs[1]) || (jobs[0].Follows == 0) != (jobs[1].Follows == 0) ||
				(w.queued(jobs[0]) == nil) != (w.queued(jobs[1]) == nil) {
				w.Fatalf("round %d: %s in the batch, %s alone", round, showJob(jobs[0]), showJob(jobs[1]))
			}
		}
	}
}

package storetest

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/lifecycle"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var conflictTests = group{
	"ReplacesThePendingJob":        conflictReplaces,
	"AFollowerWaitsForTheFirst":    conflictFollower,
	"ACancelledFollowerIsGone":     conflictCancelledFollower,
	"AFollowerStartsWhateverEnds":  conflictEnds,
	"HeldBeyondTheEnd":             conflictHeld,
	"RememberedForHeaders":         conflictRemembered,
	"NeverReplacesARun":            conflictRun,
	"ReplacedJobsKeepToLimits":     conflictReplacesLimited,
	"FollowersKeepToLimits":        conflictFollowsLimited,
	"BatchIsAllOrNothing":          conflictBatchAtomic,
	"BatchDecidesInOrder":          conflictBatchOrder,
	"BatchKeepsTheLatestEdits":     conflictBatchHistory,
	"BatchesReadLittle":            conflictBatchHeld,
	"LimitsCountFollowers":         conflictLimits,
	"RacesLoseNoCall":              conflictRaces,
	"MatchesAModel":                conflictModel,
	"BatchesOfMixedConflictsMatch": conflictMixed,
}

var replacing = &job.Spec{OnConflict: job.OnConflictReplace}

// replacement returns a new job that replaces the holder of its key.
func (w *world) replacement(key string, content int) store.NewJob {
	n := w.keyed(w.owner, key)
	n.Resolve = lifecycle.Resolve(replacing, job.Actor{Kind: "key", Name: "sk_test"})
	n.Lane = uint32(content)
	n.Job.Args = rawjson.Value(fmt.Sprintf(`{"url":"https://example.com/hook","body":%d,"method":"get","headers":{}}`, content))
	return n
}

func contentOf(j *job.Job) string { return string(rawjson.Get(j.Args, "body")) }

// create stores one job.
func (w *world) create(n store.NewJob) store.Inserted {
	w.Helper()
	results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
	w.ok("JobInsertMany", err)
	return results[0]
}

// wantResult verifies the outcome of a create.
func (w *world) wantResult(what string, r store.Inserted, conflict, changed bool, content string) *job.Job {
	w.Helper()
	if r.Job == nil || r.Conflict != conflict || r.Changed != changed || contentOf(r.Job) != content || r.Job.Number == 0 {
		w.Fatalf("%s: %+v with %s; want conflict %v, changed %v, body %s", what, r, showJob(r.Job), conflict, changed, content)
	}
	return r.Job
}

func conflictReplaces(w *world) {
	first := w.wantResult("a free key", w.create(w.replacement("k", 1)), false, false, "1")
	n := w.replacement("k", 2)
	n.Job.ScheduledAt = w.ahead().Add(time.Minute)
	n.Job.DueAt = n.Job.ScheduledAt
	name := "new"
	n.Job.Name, n.Job.Hops = &name, 5
	changed := w.wantResult("a held key", w.create(n), true, true, "2")
	if changed.Number != first.Number || changed.ID != first.ID {
		w.Errorf("the job was replaced by %s", showJob(changed))
	}
	stored := w.get(first)
	w.same("the job that is read", showJob(stored), showJob(changed))
	if text(stored.Name) != text(&name) || stored.Hops != 5 {
		w.Errorf("the job is %s, want the new name and hops", showJob(stored))
	}
	items := w.peek()
	if len(items) != 1 || !items[0].Due.Equal(n.Job.DueAt) || items[0].Lane != 2 {
		w.Errorf("the queue has %v, want the item at the new time in the new lane", items)
	}
	plain := w.keyed(w.owner, "k")
	w.wantResult("a create that returns", w.create(plain), true, false, "2")
}

// wantQueue verifies which jobs are in the queue.
func (w *world) wantQueue(when string, jobs ...*job.Job) {
	w.Helper()
	got := map[int64]bool{}
	for _, item := range w.peekKind(store.KindJob) {
		got[item.Number] = true
	}
	if len(got) != len(jobs) {
		w.Errorf("%s: %d items in the queue, want %d", when, len(got), len(jobs))
	}
	for _, j := range jobs {
		if !got[j.Number] {
			w.Errorf("%s: job %d is not in the queue", when, j.Number)
		}
	}
}

func conflictFollower(w *world) {
	first := w.wantResult("a free key", w.create(w.replacement("k", 1)), false, false, "1")
	claim := w.begin(first)
	follower := w.wantResult("behind a started job", w.create(w.replacement("k", 2)), false, false, "2")
	if follower.Follows != first.Number || follower.State != job.Available {
		w.Errorf("the follower is %s", showJob(follower))
	}
	again := w.wantResult("behind a follower", w.create(w.replacement("k", 3)), true, true, "3")
	if again.Number != follower.Number {
		w.Errorf("a later call changed %s", showJob(again))
	}
	held := w.create(w.keyed(w.owner, "k"))
	if held.Job.Number != first.Number || !held.Conflict {
		w.Errorf("a create that returns has %s, want the first", showJob(held.Job))
	}
	w.wantQueue("while the first is under way")
	w.finish(w.end(first, claim, w.retries(w.ahead())))
	w.wantQueue("while the first waits for its retry", first)
	first = w.get(first)
	claim = w.begin(first)
	notices := w.subscribe()
	w.finish(w.end(first, claim, w.completes))
	after := w.get(follower)
	w.wantQueue("once the first has ended", after)
	if notice := receive(w, "a notice", notices); len(notice) != 1 || notice[0].Number != follower.Number {
		w.Errorf("the notice is %+v, want the follower's item", notice)
	}
	if after.Follows != 0 || !after.DueAt.Equal(again.DueAt) || contentOf(after) != "3" {
		w.Errorf("the released follower is %s", showJob(after))
	}
	item := w.queued(after)
	if item.Lane != 3 || !item.Due.Equal(after.DueAt) {
		w.Errorf("its item is %s in lane %d", showRef(*item), item.Lane)
	}
	w.wantResult("when the follower is first", w.create(w.replacement("k", 4)), true, true, "4")
}

func conflictCancelledFollower(w *world) {
	first := w.create(w.replacement("k", 1)).Job
	claim := w.begin(first)
	follower := w.create(w.replacement("k", 2)).Job
	if after := w.change(follower, cancel); after.State != job.Cancelled {
		w.Errorf("the follower is %s", after.State)
	}
	if held := w.create(w.keyed(w.owner, "k")); held.Job.Number != first.Number {
		w.Errorf("the key is held by %s, want the first", showJob(held.Job))
	}
	second := w.wantResult("another follower", w.create(w.replacement("k", 3)), false, false, "3")
	w.finish(w.end(first, claim, w.completes))
	w.wantQueue("once the first has ended", second)
}

// conflictEnds: whatever ends the first job releases the follower.
func conflictEnds(w *world) {
	ends := map[string]func(j *job.Job, c store.Claim){
		"discarded": func(j *job.Job, c store.Claim) { w.finish(w.end(j, c, w.discards)) },
		"cancelled": func(j *job.Job, _ store.Claim) { w.change(j, cancel) },
		"out of the queue": func(j *job.Job, c store.Claim) {
			f := w.end(j, c, w.completes)
			f.Decide = func(*store.Snapshot) *store.Changes { return &store.Changes{} }
			w.finish(f)
		},
	}
	for name, end := range ends {
		first := w.create(w.replacement(name, 1)).Job
		claim := w.begin(first)
		n := w.replacement(name, 2)
		n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.now
		follower := w.create(n).Job
		end(first, claim)
		item := w.queued(follower)
		if item == nil {
			w.Errorf("%s: the follower is not in the queue", name)
			continue
		}
		if item.Due.Before(w.now) {
			w.Errorf("%s: the follower is due at %s, before the first one's end", name, moment(item.Due))
		}
		w.settle(w.get(follower), w.completes)
	}
}

func conflictHeld(w *world) {
	n := w.keyed(w.owner, "k")
	n.Job.HeldUntil, n.Job.RememberedUntil = w.ahead(), w.ahead()
	first := w.settle(w.create(n).Job, w.completes)
	w.same("the holder", showJob(w.wantHeld(w.keyed(w.owner, "k"), first)), showJob(first))
	w.wantResult("a create that replaces", w.create(w.replacement("k", 2)), false, false, "2")
	n = w.keyed(w.owner, "past")
	n.Job.HeldUntil, n.Job.RememberedUntil = w.past(), w.past()
	w.settle(w.create(n).Job, w.completes)
	if r := w.create(w.keyed(w.owner, "past")); r.Conflict {
		w.Errorf("the key is held by %s, whose time is over", showJob(r.Job))
	}
}

func conflictRemembered(w *world) {
	header := func() store.NewJob {
		n := w.keyed(w.owner, "k")
		n.KeyInHeader, n.Job.RememberedUntil = true, w.ahead()
		return n
	}
	first := w.settle(w.create(header()).Job, w.completes)
	w.wantHeld(header(), first)
	second := w.create(w.keyed(w.owner, "k"))
	if second.Conflict {
		w.Fatalf("a key in the body is held by %s, which is final", showJob(second.Job))
	}
	w.wantHeld(header(), second.Job) // it is unfinished
	w.settle(second.Job, w.completes)
	w.wantHeld(header(), first)
}

func conflictRun(w *world) {
	_, first := w.keyedSchedule("k")
	r := w.create(w.replacement("k", 2))
	if !r.Conflict || r.Changed || r.Job.Number != first.Number {
		w.Errorf("a replacement of a run: %+v", r)
	}
	w.change(first, cancel)
	r = w.create(w.replacement("k", 2))
	if !r.Conflict || r.Changed || r.Job.Number != first.Number {
		w.Errorf("a replacement of a schedule's final run: %+v", r)
	}
}

func conflictLimits(w *world) {
	capped := func(n store.NewJob) store.NewJob {
		n.Caps = store.Caps{Pending: 2}
		return n
	}
	first := w.create(capped(w.replacement("k", 1))).Job
	w.begin(first)
	w.create(capped(w.oneOff(w.owner, w.ahead())))
	if r := w.create(capped(w.replacement("k", 2))); r.Over != store.QuotaPending {
		w.Errorf("a follower beyond the limit: %+v with %s", r, showJob(r.Job))
	}
	second := w.insertOne(w.replacement("other", 1))
	w.wantResult("a replacement at the limit", w.create(capped(w.replacement("other", 2))), true, true, "2")
	w.change(second, cancel)
	results, err := w.s.JobInsertBatch(w.ctx, []store.NewJob{capped(w.replacement("k", 3)), capped(w.replacement("k", 4))}, acceptAll)
	w.ok("JobInsertBatch", err)
	for i, r := range results {
		if r.Over != store.QuotaPending {
			w.Errorf("follower %d in a batch beyond the limit: %+v", i, r)
		}
	}
}

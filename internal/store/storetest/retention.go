package storetest

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/store"
)

var retentionTests = group{
	"FinalJobsGo":          retentionFinalJobs,
	"ByWhenTheyEnded":      retentionByEnd,
	"PendingStay":          retentionPendingStay,
	"NewestOfASchedule":    retentionNewestOfSchedule,
	"ManyKeptAreNoObject":  retentionManyKept,
	"GoesOn":               retentionGoesOn,
	"LogsGo":               retentionLogs,
	"LogsOfManyAccounts":   retentionLogsOfMany,
	"NothingToDo":          retentionNothing,
	"KeysOfPrunedJobsFree": retentionKeysFree,
}

// pruneRound prunes in batches until a round is over, and returns how many records were
// deleted.
func (w *world) pruneRound(prune func(context.Context, time.Time, store.PruneCursor, int) (store.Pruned, error), before time.Time,
	limit int) (total int) {
	w.Helper()
	batch := store.Pruned{More: true}
	for batch.More {
		after := batch.Next
		var err error
		batch, err = prune(w.ctx, before, after, limit)
		w.ok("pruning", err)
		if batch.Examined > limit || batch.Removed > batch.Examined {
			w.Fatalf("a batch of %d examined %d and removed %d", limit, batch.Examined, batch.Removed)
		}
		if batch.More && batch.Removed == 0 && batch.Next == after {
			w.Fatalf("a batch stays at %+v", after)
		}
		total += batch.Removed
	}
	return total
}

func (w *world) pruneJobs(before time.Time, limit int) int {
	w.Helper()
	return w.pruneRound(w.s.JobPrune, before, limit)
}

// endedAt stores a job that ended at a time in a state.
func (w *world) endedAt(n store.NewJob, state job.State, at time.Time) *job.Job {
	w.Helper()
	j := w.insertOne(n)
	return w.change(j, func(m *store.Snapshot) *store.Changes {
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

var finalStates = []job.State{job.Completed, job.Cancelled, job.Discarded}

func retentionFinalJobs(w *world) {
	for i := range 25 {
		owner := w.owner
		if i%2 == 0 {
			owner = w.other
		}
		w.endedAt(w.oneOff(owner, w.past()), finalStates[i%3], w.past())
	}
	if n := w.pruneJobs(w.past().Add(time.Second), 10); n != 25 {
		w.Errorf("%d jobs removed, want 25", n)
	}
	if jobs := w.listJobs(w.owner, job.Query{ListQuery: top}); len(jobs) != 0 {
		w.Errorf("still listed: %s", show(jobs, showJob))
	}
}

func retentionByEnd(w *world) {
	border := w.past()
	var want string
	for _, state := range finalStates {
		w.endedAt(w.oneOff(w.owner, border), state, border.Add(-time.Microsecond))
		kept := w.endedAt(w.oneOff(w.owner, border.Add(-time.Hour)), state, border)
		want = "\n  " + showJob(kept) + want
	}
	if n := w.pruneJobs(border, 100); n != 3 {
		w.Errorf("%d jobs removed, want the 3 that ended before", n)
	}
	w.same("the jobs left", show(w.listJobs(w.owner, job.Query{ListQuery: top}), showJob), want)
}

func retentionPendingStay(w *world) {
	old := w.now.AddDate(-1, 0, 0)
	jobs := w.insert(w.oneOff(w.owner, old), w.oneOff(w.owner, old), w.oneOff(w.owner, old), w.oneOff(w.owner, old))
	w.begin(jobs[1])
	w.hold(jobs[2])
	w.finish(w.end(jobs[3], w.begin(jobs[3]), w.retries(old)))
	if n := w.pruneJobs(w.ahead(), 100); n != 0 {
		w.Errorf("%d pending jobs removed", n)
	}
	if left := w.listJobs(w.owner, job.Query{ListQuery: top}); len(left) != 4 {
		w.Errorf("%d jobs left, want 4", len(left))
	}
}

func retentionNewestOfSchedule(w *world) {
	kept, gone := w.recurring(w.owner, w.past()), w.recurring(w.owner, w.past())
	var newest *job.Job
	for _, n := range []store.NewJob{kept, gone} {
		w.endedAt(n, job.Completed, w.past())
		for range 3 {
			next := *w.nextOf(n.Schedule, w.past())
			j := w.endedAt(next, job.Completed, w.past())
			if n.Schedule == kept.Schedule {
				newest = j
			}
		}
	}
	w.drop(gone.Schedule)
	if n := w.pruneJobs(w.ahead(), 2); n != 7 {
		w.Errorf("%d jobs removed, want all but the newest of the schedule that exists", n)
	}
	w.same("the jobs left", show(w.listJobs(w.owner, job.Query{ListQuery: top}), showJob), "\n  "+showJob(newest))
	next := w.insertOne(*w.nextOf(kept.Schedule, w.ahead()))
	if n := w.pruneJobs(w.ahead(), 2); n != 1 {
		w.Errorf("%d jobs removed, want the one that is the newest no more", n)
	}
	w.same("the jobs left", show(w.listJobs(w.owner, job.Query{ListQuery: top}), showJob), "\n  "+showJob(next))
}

// retentionManyKept: old jobs that are kept don't stop the pruning of later ones. Those
// of two accounts, whose schedules have the same keys, became final at one time.
func retentionManyKept(w *world) {
	kept := map[job.Owner][]*job.Job{}
	for i := range 20 {
		owner := []job.Owner{w.owner, w.other}[i%2]
		n := w.recurring(owner, w.past())
		key := "k-" + strconv.Itoa(i/2)
		n.Schedule.Key, n.Job.Key = &key, &key
		kept[owner] = append(kept[owner], w.endedAt(n, job.Cancelled, w.past()))
	}
	for i := range 7 {
		w.endedAt(w.oneOff([]job.Owner{w.owner, w.other}[i%2], w.past()), job.Completed, w.past().Add(time.Second))
	}
	first, err := w.s.JobPrune(w.ctx, w.now, store.PruneCursor{}, 3)
	if w.ok("JobPrune", err); first.Removed != 0 || first.Examined != 3 || !first.More || first.Next == (store.PruneCursor{}) {
		w.Errorf("a batch of jobs that are kept returned %+v", first)
	}
	if n := w.pruneJobs(w.now, 3); n != 7 {
		w.Errorf("%d jobs removed, want the 7 one-offs behind 20 that are kept", n)
	}
	for owner, jobs := range kept {
		slices.Reverse(jobs)
		w.same("the jobs left", show(w.listJobs(owner, job.Query{ListQuery: top}), showJob), show(jobs, showJob))
	}
}

// retentionGoesOn: a round that is over goes on with what has become old since, and
// only the next one examines again what was kept.
func retentionGoesOn(w *world) {
	kept := w.recurring(w.owner, w.past())
	w.endedAt(kept, job.Completed, w.past())
	w.endedAt(w.oneOff(w.owner, w.past()), job.Completed, w.past().Add(time.Second))
	border := w.past().Add(time.Second)
	batch, err := w.s.JobPrune(w.ctx, border, store.PruneCursor{}, 10)
	if w.ok("JobPrune", err); batch.Examined != 1 || batch.Removed != 0 || batch.More {
		w.Fatalf("the first round returned %+v", batch)
	}
	w.drop(kept.Schedule)
	batch, err = w.s.JobPrune(w.ctx, border.Add(time.Second), batch.Next, 10)
	if w.ok("JobPrune", err); batch.Examined != 1 || batch.Removed != 1 || batch.More {
		w.Errorf("the round went on with %+v, want the one job that is old since", batch)
	}
	if n := w.pruneJobs(border, 10); n != 1 {
		w.Errorf("a new round removed %d jobs, want the one whose schedule was deleted", n)
	}
}

// retentionLogsOfMany: an account without old logs does not stop the pruning of others.
func retentionLogsOfMany(w *world) {
	border := w.past()
	old := 0
	for i, owner := range []job.Owner{w.owner, w.other, w.owner, w.other} {
		j := w.insertOne(w.oneOff(owner, w.ahead()))
		offsets := []time.Duration{1, 2}
		if i%2 == 1 {
			offsets = []time.Duration{1, -1, -2, -3, -4, -5}
			old += 5
		}
		for _, offset := range offsets {
			l := w.log(j, job.EventError, border.Add(offset*time.Millisecond))
			w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
		}
	}
	if n := w.pruneRound(w.s.LogPrune, border, 4); n != old {
		w.Errorf("%d logs removed, want %d", n, old)
	}
}

func retentionLogs(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	border := w.past()
	for i := range 30 {
		at := border.Add(time.Duration(i-20) * time.Microsecond)
		w.change(j, func(*store.Snapshot) *store.Changes {
			return &store.Changes{Logs: []job.Log{w.log(j, job.EventError, at)}}
		})
	}
	total := w.pruneRound(w.s.LogPrune, border, 7)
	logs := w.logs(j)
	if total != 20 || len(logs) != 10 || logs[0].InsertedAt.Before(border) {
		w.Errorf("%d logs removed, %d left, want 20 and 10", total, len(logs))
	}
}

func retentionNothing(w *world) {
	for range 2 {
		if n, err := w.s.JobPrune(w.ctx, w.ahead(), store.PruneCursor{}, 10); n != (store.Pruned{}) || err != nil {
			w.Errorf("JobPrune of nothing: %+v, %v", n, err)
		}
		if n, err := w.s.LogPrune(w.ctx, w.ahead(), store.PruneCursor{}, 10); n != (store.Pruned{}) || err != nil {
			w.Errorf("LogPrune of nothing: %+v, %v", n, err)
		}
	}
}

func retentionKeysFree(w *world) {
	w.endedAt(w.keyed(w.owner, "key"), job.Completed, w.past())
	w.pruneJobs(w.now, 10)
	w.insertOne(w.keyed(w.owner, "key"))
}

package storetest

import (
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
	"LogsGo":               retentionLogs,
	"NothingToDo":          retentionNothing,
	"KeysOfPrunedJobsFree": retentionKeysFree,
}

// pruneJobs prunes in batches until nothing is left and returns how many jobs
// were deleted.
func (w *world) pruneJobs(before time.Time, limit int) (total int) {
	w.Helper()
	for {
		n, err := w.s.JobPrune(w.ctx, before, limit)
		w.ok("JobPrune", err)
		if n > limit {
			w.Fatalf("JobPrune removed %d, more than %d", n, limit)
		}
		if total += n; n == 0 {
			return total
		}
	}
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

// retentionManyKept: old logs that are kept don't stop the pruning of later ones.
func retentionManyKept(w *world) {
	for range 10 {
		w.endedAt(w.recurring(w.owner, w.past()), job.Cancelled, w.past())
	}
	for range 5 {
		w.endedAt(w.oneOff(w.owner, w.past()), job.Completed, w.past().Add(time.Second))
	}
	if n := w.pruneJobs(w.now, 3); n != 5 {
		w.Errorf("%d jobs removed, want the 5 one-offs behind 10 that are kept", n)
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
	total := 0
	for {
		n, err := w.s.LogPrune(w.ctx, border, 7)
		w.ok("LogPrune", err)
		if n > 7 {
			w.Fatalf("LogPrune removed %d, more than 7", n)
		}
		if total += n; n == 0 {
			break
		}
	}
	logs := w.logs(j)
	if total != 20 || len(logs) != 10 || logs[0].InsertedAt.Before(border) {
		w.Errorf("%d logs removed, %d left, want 20 and 10", total, len(logs))
	}
}

func retentionNothing(w *world) {
	for range 2 {
		if n, err := w.s.JobPrune(w.ctx, w.ahead(), 10); n != 0 || err != nil {
			w.Errorf("JobPrune of nothing: %d, %v", n, err)
		}
		if n, err := w.s.LogPrune(w.ctx, w.ahead(), 10); n != 0 || err != nil {
			w.Errorf("LogPrune of nothing: %d, %v", n, err)
		}
	}
}

func retentionKeysFree(w *world) {
	w.endedAt(w.keyed(w.owner, "key"), job.Completed, w.past())
	w.pruneJobs(w.now, 10)
	w.insertOne(w.keyed(w.owner, "key"))
}

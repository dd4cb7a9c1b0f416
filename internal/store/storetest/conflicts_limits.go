package storetest

import (
	"fmt"
	"strings"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// limitedReplacement is replacement of a job that is due and names limits.
func (w *world) limitedReplacement(key string, content int, limits ...string) store.NewJob {
	n := w.replacement(key, content)
	n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.past()
	if len(limits) > 0 {
		list := `"` + strings.Join(limits, `","`) + `"`
		n.Job.Args = rawjson.Value(fmt.Sprintf(`{"url":"https://example.com/hook","limits":[%s],"body":%d,"method":"get","headers":{}}`,
			list, content))
	}
	return n
}

// conflictReplacesLimited: a job whose limits change with its request waits in the
// lines of the new ones, and can leave them.
func conflictReplacesLimited(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	w.limit("b", limit.Limit{Parallel: 1})
	for name, x := range map[string]struct {
		batch  bool
		before []string
		after  []string
	}{
		"the same":           {before: []string{"a"}, after: []string{"a"}},
		"another":            {before: []string{"a"}, after: []string{"b"}},
		"more":               {before: []string{"a"}, after: []string{"b", "a"}},
		"limited from now":   {after: []string{"b"}},
		"unlimited from now": {before: []string{"b"}},
		"in one batch":       {batch: true, before: []string{"a"}, after: []string{"b"}},
		"a batch, limited":   {batch: true, after: []string{"a"}},
		"a batch, unlimited": {batch: true, before: []string{"a"}},
	} {
		calls := []store.NewJob{w.limitedReplacement(name, 1, x.before...), w.limitedReplacement(name, 2, x.after...)}
		if len(x.before) == 0 { // else it is about to start, and isn't replaced
			calls[0].Job.ScheduledAt, calls[0].Job.DueAt = w.ahead(), w.ahead()
		}
		var results []store.Inserted
		if x.batch {
			calls = append(calls, w.limitedReplacement(name, 2, x.after...))
			if len(x.after) == 0 {
				calls = calls[:2]
			}
			var err error
			results, err = w.s.JobInsertMany(w.ctx, calls)
			w.ok("JobInsertMany", err)
			w.wantResult(name+", the last", results[len(results)-1], true, true, "2")
		} else {
			results = []store.Inserted{w.create(calls[0]), w.create(calls[1])}
		}
		j := w.wantResult(name, results[1], true, true, "2")
		if len(x.after) > 0 {
			w.wantDue(name + ", held")
			w.wantLimitUse(x.after[0], 1, 0)
			w.pass(x.after[0])
		}
		w.wantDue(name+", granted", j)
		w.settle(w.get(j), w.completes)
		w.wantLimitUse("a", 0, 0)
		w.wantLimitUse("b", 0, 0)
	}
}

// conflictFollowsLimited: a follower that names limits is due when the first job
// has ended, whether it was created so or changed. Reading it for firing holds it.
func conflictFollowsLimited(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	for name, change := range map[string]bool{"created": false, "changed": true} {
		first := w.create(w.limitedReplacement(name, 1)).Job
		claim := w.begin(first)
		var follower *job.Job
		if change {
			w.create(w.limitedReplacement(name, 2))
			follower = w.wantResult(name, w.create(w.limitedReplacement(name, 3, "a")), true, true, "3")
		} else {
			follower = w.wantResult(name, w.create(w.limitedReplacement(name, 2, "a")), false, false, "2")
		}
		w.finish(w.end(first, claim, w.completes))
		w.wantDue(name, follower)
		w.settle(w.get(follower), w.completes)
	}
}

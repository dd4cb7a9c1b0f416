package storetest

import (
	"fmt"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// useTests verify that a job counts as a user of its limits and secrets however it was
// created, until it is final.
var useTests = group{
	"OfEveryCreate":      usesOfCreates,
	"OfFollowers":        usesOfFollowers,
	"OfChangedFollowers": usesOfChangedFollowers,
	"OfReleased":         usesOfReleased,
}

// usingBoth is the arguments of a job that names the limit l and the secret s.
const usingBoth = `{"url":"https://target.example/hook","headers":{"x":"{{secret.s}}"},"limits":["l"],"repeat_every":3600,"method":"get"}`

// withUses prepares the limit l and the secret s of both accounts. The other account
// has a job with the same key and number of uses.
func (w *world) withUses() {
	w.Helper()
	for _, owner := range []job.Owner{w.owner, w.other} {
		_, err := w.s.LimitPut(w.ctx, owner, store.Limit{Key: "l", Limit: limit.Limit{Parallel: 1}}, store.PutAlways)
		w.ok("LimitPut", err)
		w.putSecret(owner, "s", "v", "target.example")
	}
}

// wantBothUses verifies how many jobs use the limit l and the secret s. Without uses,
// it deletes them.
func (w *world) wantBothUses(when string, want int) {
	w.Helper()
	named, err := w.s.LimitDelete(w.ctx, w.owner, "l")
	w.ok("LimitDelete", err)
	uses, err := w.s.SecretDelete(w.ctx, w.owner.Number, "s", 100)
	w.ok("SecretDelete", err)
	if named != want || uses != want {
		w.Errorf("%s, %d jobs name the limit and %d the secret, want %d", when, named, uses, want)
	}
	if want > 0 {
		return
	}
	for _, list := range []string{w.limitsOf(w.other), showSecrets(w.s.SecretsNamed(w.ctx, w.other.Number, []string{"s"}))} {
		if list == "" {
			w.Errorf("%s, the limit or secret of another account is gone", when)
		}
	}
}

func (w *world) limitsOf(owner job.Owner) (shown string) {
	w.Helper()
	limits, err := w.s.LimitList(w.ctx, owner, "", 10)
	w.ok("LimitList", err)
	for _, l := range limits {
		shown += l.Key + " "
	}
	return shown
}

// makers are the ways to create a job; each returns it.
var makers = map[string]func(w *world, key string) *job.Job{
	"a one-off job":          func(w *world, _ string) *job.Job { return w.insertOne(w.bothOf(w.oneOff(w.owner, w.ahead()))) },
	"a due job":              func(w *world, _ string) *job.Job { return w.insertOne(w.bothOf(w.oneOff(w.owner, w.past()))) },
	"a job with a key":       func(w *world, key string) *job.Job { return w.insertOne(w.bothOf(w.keyed(w.owner, key))) },
	"a schedule":             func(w *world, _ string) *job.Job { return w.insertOne(w.bothOf(w.recurring(w.owner, w.ahead()))) },
	"a schedule with a key":  func(w *world, key string) *job.Job { return w.insertOne(w.bothOf(w.recurringWithKey(key))) },
	"a job of a batch":       func(w *world, _ string) *job.Job { return w.inBatch(w.oneOff(w.owner, w.ahead())) },
	"a keyed job of a batch": func(w *world, key string) *job.Job { return w.inBatch(w.keyed(w.owner, key)) },
	"a schedule of a batch":  func(w *world, key string) *job.Job { return w.inBatch(w.recurringWithKey(key)) },
	"a schedule put":         func(w *world, key string) *job.Job { return w.putBoth(store.PutKeys{Keys: []string{key}}, w.ahead()) },
	"a due schedule put":     func(w *world, key string) *job.Job { return w.putBoth(store.PutKeys{Keys: []string{key}}, w.past()) },
	"a schedule applied": func(w *world, key string) *job.Job {
		return w.putBoth(store.PutKeys{Keys: []string{key}, Document: "d"}, w.ahead())
	},
	"a replacement":           (*world).replacedByBoth,
	"the next run":            (*world).nextRunOfBoth,
	"a run of an edited plan": (*world).editedToBoth,
}

func (w *world) bothOf(n store.NewJob) store.NewJob {
	n.Job.Args = rawjson.Value(usingBoth)
	if n.Schedule != nil {
		n.Schedule.Args = n.Job.Args
	}
	return n
}

func (w *world) inBatch(n store.NewJob) *job.Job {
	w.Helper()
	results, err := w.s.JobInsertBatch(w.ctx, []store.NewJob{w.bothOf(n)}, func([]store.Inserted) error { return nil })
	w.ok("JobInsertBatch", err)
	return results[0].Job
}

// putBoth creates schedules with keys.
func (w *world) putBoth(keys store.PutKeys, due time.Time) (first *job.Job) {
	w.Helper()
	_, err := w.s.SchedulePut(w.ctx, w.owner, keys, func(*store.Holders) ([]*store.Changes, error) {
		changes := make([]*store.Changes, len(keys.Keys))
		for i := range keys.Keys {
			n := w.bothOf(w.recurring(w.owner, due))
			n.Job.Key, n.Schedule.Key, n.Schedule.Document = &keys.Keys[i], &keys.Keys[i], keys.Document
			changes[i] = &store.Changes{Next: &n}
			if i == 0 {
				first = n.Job
			}
		}
		return changes, nil
	})
	w.ok("SchedulePut", err)
	return first
}

func (w *world) replacedByBoth(key string) *job.Job {
	w.Helper()
	w.create(w.replacement(key, 1))
	return w.wantResult("a replacement", w.create(w.replacementWithBoth(key)), true, true, "2")
}

func (w *world) replacementWithBoth(key string) store.NewJob {
	n := w.replacement(key, 2)
	n.Job.Args = rawjson.Value(`{"url":"https://target.example/hook","headers":{"x":"{{secret.s}}"},"limits":["l"],"body":2,"method":"get"}`)
	return n
}

func (w *world) dueWithBoth(key string) store.NewJob {
	n := w.replacementWithBoth(key)
	n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.past()
	return n
}

func (w *world) nextRunOfBoth(string) *job.Job {
	w.Helper()
	run := w.insertOne(w.bothOf(w.recurring(w.owner, w.past())))
	var next *store.NewJob
	w.change(run, func(m *store.Snapshot) *store.Changes {
		c := cancel(m)
		next = w.nextOf(m.Schedule, w.ahead())
		c.Next = next
		return c
	})
	return next.Job
}

func (w *world) editedToBoth(string) *job.Job {
	w.Helper()
	run := w.insertOne(w.recurring(w.owner, w.ahead()))
	_, err := w.s.ScheduleChange(w.ctx, w.owner, run.ScheduleID, func(m *store.Snapshot) *store.Changes {
		s, j := *m.Schedule, *m.Job
		s.Args, j.Args = rawjson.Value(usingBoth), rawjson.Value(usingBoth)
		return &store.Changes{Schedule: &s, Job: &j, UpdateDefinition: true}
	})
	w.ok("ScheduleChange", err)
	return run
}

func usesOfCreates(w *world) {
	for how, create := range makers {
		w.withUses()
		j := create(w, how)
		w.wantBothUses("with "+how, 1)
		w.pass("l")
		w.wantBothUses("with "+how+", planned", 1)
		w.change(j, cancel)
		w.wantBothUses("without "+how, 0)
	}
	w.withUses()
	w.putBoth(store.PutKeys{Keys: []string{"x", "y", "z"}, Document: "d"}, w.past())
	w.wantBothUses("with three schedules", 3)
	if passed := w.pass("l"); passed.Granted != 1 {
		w.Errorf("the limit lets %d of three runs start, want 1", passed.Granted)
	}
}

// follower creates a job with a key that has started, and one that waits for it.
func (w *world) follower(key string, follower store.NewJob) (first *job.Job, claim store.Claim, follows *job.Job) {
	w.Helper()
	n := w.replacement(key, 1)
	n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.past()
	first = w.create(n).Job
	claim = w.begin(first)
	r := w.create(follower)
	if r.Job == nil || r.Job.Follows != first.Number {
		w.Fatalf("the second job is %s, want a follower", showJob(r.Job))
	}
	return first, claim, r.Job
}

func usesOfFollowers(w *world) {
	for i, leave := range []func(first *job.Job, claim store.Claim, follower *job.Job){
		func(_ *job.Job, _ store.Claim, follower *job.Job) { w.change(follower, cancel) },
		func(first *job.Job, claim store.Claim, follower *job.Job) { // it is cancelled once it has been released
			w.finish(w.end(first, claim, w.completes))
			w.wantBothUses("with a released follower", 1)
			w.change(follower, cancel)
		},
		func(first *job.Job, claim store.Claim, follower *job.Job) { // it fires
			w.finish(w.end(first, claim, w.completes))
			w.settle(w.get(follower), w.completes)
		},
		func(first *job.Job, claim store.Claim, follower *job.Job) { // it is held, granted and fires
			w.finish(w.end(first, claim, w.completes))
			item := w.load(*w.queued(w.get(follower)))
			w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{{QueueKey: item.QueueKey, Keys: item.Limits, Named: item.Named}}))
			w.wantBothUses("with a held follower", 1)
			w.pass("l")
			w.settle(w.get(follower), w.completes)
		},
	} {
		w.withUses()
		first, claim, follower := w.follower(fmt.Sprint("k", i), w.dueWithBoth(fmt.Sprint("k", i)))
		w.wantBothUses("with a follower", 1)
		w.wantLimitUse("l", 0, 0)
		w.pass("l")
		leave(first, claim, follower)
		w.wantBothUses(fmt.Sprintf("without a follower, %d", i), 0)
	}
}

func usesOfChangedFollowers(w *world) {
	w.withUses()
	_, _, follower := w.follower("k", w.replacement("k", 2))
	w.create(w.replacementWithBoth("k"))
	w.wantBothUses("of a follower that was replaced", 1)
	w.change(follower, redefine(plain))
	w.wantBothUses("of a follower that was edited", 0)
	w.withUses()
	w.change(follower, redefine(usingBoth))
	w.wantBothUses("of a follower that was edited again", 1)
	w.create(w.replacement("k", 3))
	w.wantBothUses("of a follower that was replaced again", 0)
}

// usesOfReleased: the limit of a follower that was released restrains it.
func usesOfReleased(w *world) {
	w.withUses()
	first, claim, follower := w.follower("k", w.dueWithBoth("k"))
	w.finish(w.end(first, claim, w.completes))
	w.change(follower, redefine(usingBoth))
	w.wantDue("while the limit holds it")
	w.wantLimitUse("l", 1, 0)
	w.pass("l")
	w.wantDue("when it is granted", follower)
}

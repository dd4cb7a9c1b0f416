package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/limit"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var limitTests = group{
	"AreStored":             limitsStored,
	"AreBounded":            limitsBounded,
	"KeepTheirDialect":      limitsDialect,
	"ListJobsThatNameThem":  limitsJobs,
	"HoldItemsThatNameThem": limitsHold,
	"GrantInOrder":          limitsGrant,
	"TakeAllKeysOrNone":     limitsTogether,
	"ParallelIsFreed":       limitsParallel,
	"RetryWaitsAgain":       limitsRetry,
	"CancelLeavesTheLine":   limitsCancel,
	"EditChangesTheKeys":    limitsEdit,
	"DeleteNamedIsRefused":  limitsDelete,
	"HostLimitHoldsUnnamed": limitsHost,
	"HoldReturnsTheStart":   limitsReturned,
	"ReleasedClaimIsKept":   limitsReleased,
	"PassesAreConcurrent":   limitsConcurrent,
	"DeletedAccountIsGone":  limitsPurged,
	"ExpiredItemsAreDue":    limitsExpire,
	"ExpiryIsCheckedAgain":  limitsExpireAgain,
	"OnlyNew":               limitsOnlyNew,
	"UseOfAccountsIsApart":  limitsApart,
	"FloatingIsKept":        limitsFloating,
	"ResetForgetsStarts":    limitsReset,
	"WakesAtTheEarliest":    limitsWake,
}

func (w *world) limit(key string, l limit.Limit) {
	w.Helper()
	_, err := w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: key, Limit: l}, store.PutAlways)
	w.ok("LimitPut", err)
}

// limited returns a new job that names limits.
func (w *world) limited(due time.Time, keys ...string) store.NewJob {
	n := w.oneOff(w.owner, due)
	list := ""
	for _, key := range keys {
		list += `,"` + key + `"`
	}
	n.Job.Args = rawjson.Value(fmt.Sprintf(`{"url":"https://target.example/hook","limits":[%s]}`, list[1:]))
	return n
}

// limitsWake: a limit is planned when the first of its jobs is due, in whatever order they
// are created.
func limitsWake(w *world) {
	w.limit("l", limit.Limit{Calls: 1, Per: time.Minute})
	w.pass("l")
	if wakes, err := w.s.LimitWakes(w.ctx, w.now.Add(24*time.Hour), 10); err != nil || len(wakes) != 0 {
		w.Fatalf("without jobs: %+v, %v, want none", wakes, err)
	}
	for _, c := range []struct{ due, wake time.Duration }{
		{2 * time.Hour, 2 * time.Hour}, {time.Hour, time.Hour}, {90 * time.Minute, time.Hour}, {30 * time.Minute, 30 * time.Minute},
	} {
		w.insertOne(w.limited(w.now.Add(c.due), "l"))
		wakes, err := w.s.LimitWakes(w.ctx, w.now.Add(24*time.Hour), 10)
		if err != nil || len(wakes) != 1 || wakes[0].Account != w.owner.Number || wakes[0].Key != "l" || !wakes[0].At.Equal(w.now.Add(c.wake)) {
			w.Errorf("with a job due in %s: %+v, %v, want one in %s", c.due, wakes, err, c.wake)
		}
	}
}

// pass plans a line and returns the numbers of the items that are due then.
func (w *world) pass(key string, starts ...store.LimitStart) store.LimitPassed {
	w.Helper()
	passed, err := w.s.LimitPass(w.ctx, store.LimitPass{
		LimitKey: store.LimitKey{Account: w.owner.Number, Key: key}, Starts: starts,
		Ahead: 100 * time.Millisecond, Grace: time.Minute, Limit: 100,
	})
	w.ok("LimitPass", err)
	return passed
}

// dueNow returns the numbers of the items that are due.
func (w *world) dueNow() []int64 {
	w.Helper()
	var numbers []int64
	for _, ref := range w.peekKind(store.KindJob) {
		if !ref.Due.After(w.s.Now().Add(time.Minute)) {
			numbers = append(numbers, ref.Number)
		}
	}
	return numbers
}

func (w *world) wantDue(when string, jobs ...*job.Job) {
	w.Helper()
	want := []int64{}
	for _, j := range jobs {
		want = append(want, j.Number)
	}
	if got := w.dueNow(); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		w.Errorf("%s: due are %v, want %v", when, got, want)
	}
}

func (w *world) wantLimitUse(key string, waiting, inFlight int) {
	w.Helper()
	use, err := w.s.LimitGet(w.ctx, w.owner, key)
	w.ok("LimitGet", err)
	if use.Waiting != waiting || use.InFlight != inFlight {
		w.Errorf("%s: %d waiting and %d in flight, want %d and %d", key, use.Waiting, use.InFlight, waiting, inFlight)
	}
}

func limitsStored(w *world) {
	full := limit.Limit{Calls: 100, Per: 90 * time.Second, Parallel: 5, Paused: true}
	for i, l := range []limit.Limit{full, {Parallel: 1}} {
		created, err := w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "a", Limit: l}, store.PutAlways)
		if err != nil || created != (i == 0) {
			w.Errorf("LimitPut %d: created %v, error %v", i, created, err)
		}
		if use, err := w.s.LimitGet(w.ctx, w.owner, "a"); err != nil || use.Record != (store.Limit{Key: "a", Limit: l}) {
			w.Errorf("LimitGet: %+v, %v, want %+v", use, err, l)
		}
	}
	w.limit("B", full)
	w.limit("c", full)
	list, err := w.s.LimitList(w.ctx, w.owner, "B", 10)
	if err != nil || len(list) != 2 || list[0].Key != "a" || list[1].Key != "c" {
		w.Errorf("LimitList after B: %+v, %v, want a and c", list, err)
	}
	if defined, err := w.s.LimitsOf(w.ctx, w.owner, []string{"c", "x\x00", "a"}); err != nil || len(defined) != 2 {
		w.Errorf("LimitsOf: %v, %v, want a and c", defined, err)
	}
	_, err = w.s.LimitGet(w.ctx, w.other, "a")
	w.wantCode("LimitGet of another account", err, fault.NotFound)
	_, err = w.s.LimitDelete(w.ctx, w.other, "a")
	w.wantCode("LimitDelete of another account", err, fault.NotFound)
	if list, err := w.s.LimitList(w.ctx, w.other, "", 10); err != nil || len(list) != 0 {
		w.Errorf("LimitList of another account: %+v, %v", list, err)
	}
}

func limitsDialect(w *world) {
	first := store.Limit{Key: "a", Limit: limit.Limit{Parallel: 1}, Dialect: `{"api":"x"}`}
	put := func(l store.Limit) {
		_, err := w.s.LimitPut(w.ctx, w.owner, l, store.PutAlways)
		w.ok("LimitPut", err)
	}
	put(first)
	if got, err := w.s.LimitNamed(w.ctx, w.owner, "a"); err != nil || *got != first {
		w.Errorf("LimitNamed: %+v, %v, want %+v", got, err, first)
	}
	put(store.Limit{Key: "a", Limit: limit.Limit{Parallel: 2}})
	if got, err := w.s.LimitNamed(w.ctx, w.owner, "a"); err != nil || got.Dialect != first.Dialect || got.Parallel != 2 {
		w.Errorf("LimitNamed after a change: %+v, %v", got, err)
	}
	if _, err := w.s.LimitPut(w.ctx, w.other, store.Limit{Key: "a"}, store.PutAlways); err != nil {
		w.Fatal(err)
	}
	if got, err := w.s.LimitNamed(w.ctx, w.other, "a"); err != nil || got.Dialect != "" {
		w.Errorf("LimitNamed of another account: %+v, %v", got, err)
	}
	_, err := w.s.LimitNamed(w.ctx, w.owner, "b")
	w.wantCode("LimitNamed of none", err, fault.NotFound)
	_, err = w.s.LimitDelete(w.ctx, w.owner, "a")
	w.ok("LimitDelete", err)
	put(store.Limit{Key: "a"})
	if got, err := w.s.LimitNamed(w.ctx, w.owner, "a"); err != nil || got.Dialect != "" {
		w.Errorf("LimitNamed after a deletion: %+v, %v", got, err)
	}
}

func limitsJobs(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	var want []int64
	for i := range 5 {
		want = append(want, w.insertOne(w.limited(w.ahead().Add(time.Duration(i)*time.Second), "a")).Number)
	}
	w.insertOne(w.limited(w.ahead(), "b"))
	strange := w.limited(w.ahead(), "a")
	strange.Job.Owner = w.other
	w.insertOne(strange)
	cancelled := w.insertOne(w.limited(w.ahead(), "a"))
	_, err := w.s.JobChange(w.ctx, w.owner, job.Ref{Number: cancelled.Number}, func(m *store.Snapshot) *store.Changes {
		j := *m.Job
		if err := j.Cancel(m.Now); err != nil {
			return nil
		}
		return &store.Changes{Job: &j}
	})
	w.ok("JobChange", err)
	var got []int64
	place := limit.Position{}
	for {
		page, err := w.s.LimitJobs(w.ctx, w.owner, "a", place, 2)
		w.ok("LimitJobs", err)
		for _, p := range page {
			got, place = append(got, p.Number), p
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(got, want) {
		w.Errorf("LimitJobs: %v, want %v", got, want)
	}
}

func limitsBounded(w *world) {
	for i := range limit.MaxPerAccount {
		w.limit(fmt.Sprint("k", i), limit.Limit{})
	}
	_, err := w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "more"}, store.PutAlways)
	w.wantCode("LimitPut beyond the maximum", err, fault.TooMany)
	w.limit("k7", limit.Limit{Parallel: 1})
}

func limitsHold(w *world) {
	w.limit("a", limit.Limit{Paused: true})
	j := w.insertOne(w.limited(w.past(), "a"))
	free := w.insertOne(w.oneOff(w.owner, w.past()))
	w.wantDue("while a limit holds one", free)
	w.wantLimitUse("a", 1, 0)
	got := w.get(j)
	if own, held := store.OwnDue(got.DueAt); !held || !own.Equal(w.past()) || got.State != job.Available ||
		!got.ScheduledAt.Equal(w.past()) {
		w.Errorf("the job is due at %v (held: %v), %s", own, held, showJob(got))
	}
	if holding, err := w.s.LimitsHolding(w.ctx, w.owner, got); err != nil || !slices.Equal(holding, []string{"a"}) {
		w.Errorf("LimitsHolding: %v, %v, want a", holding, err)
	}
	lines, err := w.s.LimitsWaiting(w.ctx, w.owner, 10, 10)
	if err != nil || len(lines) != 1 || lines[0].Key != "a" || !lines[0].Paused || lines[0].Waiting != 1 ||
		!lines[0].Since.Equal(w.past()) {
		w.Errorf("LimitsWaiting: %+v, %v", lines, err)
	}
	if passed := w.pass("a"); passed.Granted != 0 {
		w.Errorf("a paused limit has granted %d", passed.Granted)
	}
	w.limit("a", limit.Limit{})
	w.pass("a")
	w.wantDue("when it is lifted", free, j)
	if holding, err := w.s.LimitsHolding(w.ctx, w.owner, w.get(j)); err != nil || len(holding) != 0 {
		w.Errorf("LimitsHolding: %v, %v, want none", holding, err)
	}
	item := w.load(*w.queued(j))
	if !item.Granted || !item.OwnDue.Equal(w.past()) || !item.StartBy.After(item.Due) || !item.HeldBack() {
		w.Errorf("the item is granted %v from %v to %v, its own due time %v", item.Granted, item.Due, item.StartBy, item.OwnDue)
	}
	later := w.insertOne(w.limited(w.ahead(), "a"))
	if passed := w.pass("a"); passed.Granted != 0 || !passed.Next.Equal(w.ahead()) {
		w.Errorf("of an item due later: %+v", passed)
	}
	if holding, err := w.s.LimitsHolding(w.ctx, w.owner, w.get(later)); err != nil || len(holding) != 0 {
		w.Errorf("LimitsHolding of one that is not due: %v, %v, want none", holding, err)
	}
}

func limitsGrant(w *world) {
	w.limit("a", limit.Limit{Calls: 2, Per: time.Minute})
	jobs := w.insert(w.limited(w.past().Add(3*time.Second), "a"), w.limited(w.past(), "a"), w.limited(w.past().Add(time.Second), "a"))
	passed := w.pass("a")
	if passed.Granted != 2 || passed.Next.Before(w.now.Add(time.Minute)) {
		w.Errorf("the pass granted %d, the next is at %v", passed.Granted, passed.Next)
	}
	w.wantDue("of 2 a minute", jobs[1], jobs[2])
	w.wantLimitUse("a", 1, 2)
	item := w.load(*w.queued(jobs[1]))
	w.pass("a", store.LimitStart{Until: item.StartBy, At: item.Due}, store.LimitStart{Until: item.StartBy, At: item.Due})
	if use, err := w.s.LimitGet(w.ctx, w.owner, "a"); err != nil || !use.NextAt.Equal(item.Due.Add(time.Minute+time.Microsecond)) {
		w.Errorf("the next start is at %v (%v), want a minute after %v", use.NextAt, err, item.Due)
	}
	wakes, err := w.s.LimitWakes(w.ctx, w.now.Add(2*time.Minute), 10)
	if err != nil || len(wakes) != 1 || wakes[0].Key != "a" || wakes[0].Account != w.owner.Number {
		w.Errorf("LimitWakes: %+v, %v", wakes, err)
	}
}

func limitsTogether(w *world) {
	w.limit("a", limit.Limit{Parallel: 5})
	w.limit("b", limit.Limit{Parallel: 1})
	jobs := w.insert(w.limited(w.past(), "a", "b"), w.limited(w.past().Add(time.Second), "a", "b"),
		w.limited(w.past().Add(2*time.Second), "a"))
	if passed := w.pass("a"); passed.Granted != 2 || len(passed.Moved) != 1 || passed.Moved[0].Key != "b" {
		w.Errorf("the pass of a: %+v", passed)
	}
	w.wantDue("with one of b", jobs[0], jobs[2])
	w.wantLimitUse("a", 0, 2)
	w.wantLimitUse("b", 1, 1)
	if holding, err := w.s.LimitsHolding(w.ctx, w.owner, w.get(jobs[1])); err != nil || !slices.Equal(holding, []string{"b"}) {
		w.Errorf("LimitsHolding: %v, %v, want b", holding, err)
	}
	w.finish(w.end(w.get(jobs[0]), w.begin(w.get(jobs[0])), w.completes))
	w.pass("b")
	w.wantDue("when b is free", jobs[2], jobs[1])
	w.wantLimitUse("a", 0, 2)
}

func limitsParallel(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	jobs := w.insert(w.limited(w.past(), "a"), w.limited(w.past().Add(time.Second), "a"))
	w.pass("a")
	first := w.get(jobs[0])
	c := w.begin(first)
	if passed := w.pass("a"); passed.Granted != 0 || !passed.Blocked {
		w.Errorf("while one is under way: %+v", passed)
	}
	w.finish(w.end(first, c, w.completes))
	w.wantLimitUse("a", 1, 0)
	if passed := w.pass("a"); passed.Granted != 1 {
		w.Errorf("when it has ended: %+v", passed)
	}
}

func limitsRetry(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	j := w.insertOne(w.limited(w.past(), "a"))
	w.pass("a")
	read := w.get(j)
	w.finish(w.end(read, w.begin(read), w.retries(w.ahead())))
	got := w.get(j)
	if own, held := store.OwnDue(got.DueAt); !held || !own.Equal(w.ahead()) || got.State != job.Retryable {
		w.Errorf("the retry is due at %v (held: %v), %s", own, held, showJob(got))
	}
	w.wantLimitUse("a", 0, 0)
}

func limitsCancel(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	jobs := w.insert(w.limited(w.past(), "a"), w.limited(w.past().Add(time.Second), "a"))
	w.pass("a")
	for _, j := range jobs {
		w.change(j, func(m *store.Snapshot) *store.Changes {
			cancelled := *m.Job
			cancelled.Cancel(m.Now)
			return &store.Changes{Job: &cancelled}
		})
	}
	w.wantDue("after both were cancelled")
	w.wantLimitUse("a", 0, 0)
}

func limitsEdit(w *world) {
	w.limit("a", limit.Limit{Paused: true})
	w.limit("b", limit.Limit{Paused: true})
	j := w.insertOne(w.limited(w.past(), "a"))
	edit := func(args rawjson.Value) {
		w.change(j, func(m *store.Snapshot) *store.Changes {
			edited := *m.Job
			edited.Args = args
			return &store.Changes{Job: &edited, UpdateDefinition: true}
		})
	}
	edit(w.limited(w.past(), "b").Job.Args)
	w.wantLimitUse("a", 0, 0)
	w.wantLimitUse("b", 1, 0)
	edit(rawjson.Value(plain))
	w.wantLimitUse("b", 0, 0)
	w.wantDue("without limits", j)
}

func limitsDelete(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	jobs := w.insert(w.limited(w.past(), "a"), w.limited(w.past(), "a"), w.limited(w.ahead(), "a"))
	w.pass("a")
	if named, err := w.s.LimitDelete(w.ctx, w.owner, "a"); err != nil || named != 3 {
		w.Errorf("LimitDelete: %d name it, %v, want 3", named, err)
	}
	for _, j := range jobs {
		w.change(j, func(m *store.Snapshot) *store.Changes {
			cancelled := *m.Job
			cancelled.Cancel(m.Now)
			return &store.Changes{Job: &cancelled}
		})
	}
	if named, err := w.s.LimitDelete(w.ctx, w.owner, "a"); err != nil || named != 0 {
		w.Errorf("LimitDelete: %d name it, %v, want none", named, err)
	}
	_, err := w.s.LimitDelete(w.ctx, w.owner, "a")
	w.wantCode("LimitDelete of a deleted limit", err, fault.NotFound)
	// What a schedule creates may still name it: nothing holds it then.
	late := w.insertOne(w.limited(w.past(), "a"))
	w.pass("a")
	w.wantDue("with a limit that is gone", late)
	w.finish(w.end(w.get(late), w.begin(w.get(late)), w.completes))
	w.pass("a")
	if wakes, err := w.s.LimitWakes(w.ctx, w.now.Add(time.Hour), 10); err != nil || len(wakes) != 0 {
		w.Errorf("LimitWakes: %+v, %v, want none", wakes, err)
	}
}

func limitsHost(w *world) {
	j := w.insertOne(w.limited(w.past(), "a"))
	w.pass("a")
	free := w.insertOne(w.oneOff(w.other, w.past()))
	w.limit("host:target.example", limit.Limit{Parallel: 1})
	item := w.load(*w.queued(j))
	if item.Granted || !slices.Equal(item.Limits, []string{"a", "host:target.example"}) || item.Named != 1 {
		w.Fatalf("the item needs %v, named %d, granted %v", item.Limits, item.Named, item.Granted)
	}
	if item := w.load(*w.queued(free)); len(item.Limits) != 0 {
		w.Errorf("the item of another account needs %v", item.Limits)
	}
	held := store.HeldItem{QueueKey: item.QueueKey, Keys: item.Limits, Named: item.Named}
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{held, held}))
	w.wantDue("when the host's limit holds it", free)
	w.pass("a")
	w.wantDue("when it is granted", free, j)
	if item := w.load(*w.queued(j)); !item.Granted || !item.OwnDue.Equal(w.past()) {
		w.Errorf("the item is granted %v, its own due time %v", item.Granted, item.OwnDue)
	}
	w.wantLimitUse("host:target.example", 0, 1)
	if named, err := w.s.LimitDelete(w.ctx, w.owner, "host:target.example"); err != nil || named != 0 {
		w.Errorf("LimitDelete: %d name it, %v", named, err)
	}
	w.finish(w.end(w.get(j), w.begin(w.get(j)), w.completes))
	w.pass("host:target.example")
}

func limitsReturned(w *world) {
	w.limit("a", limit.Limit{Calls: 1, Per: time.Hour})
	j := w.insertOne(w.limited(w.past(), "a"))
	w.pass("a")
	item := w.load(*w.queued(j))
	w.ok("LimitHold", w.s.LimitHold(w.ctx, []store.HeldItem{{QueueKey: item.QueueKey, Keys: item.Limits, Named: item.Named}}))
	w.wantLimitUse("a", 1, 0)
	w.pass("a")
	w.wantDue("when its start was returned", j)
}

func limitsReleased(w *world) {
	w.limit("a", limit.Limit{Parallel: 1})
	j := w.insertOne(w.limited(w.past(), "a"))
	w.pass("a")
	c := w.hold(w.get(j))
	w.ok("QueueRelease", w.s.QueueRelease(w.ctx, w.node, []store.Claim{c}))
	if item := w.load(*w.queued(j)); !item.Granted {
		w.Errorf("the released item is not granted any more")
	}
	w.wantLimitUse("a", 0, 1)
}

func limitsConcurrent(w *world) {
	w.limit("a", limit.Limit{Calls: 10, Per: time.Hour})
	w.limit("b", limit.Limit{Calls: 10, Per: time.Hour})
	var jobs []store.NewJob
	for i := range 60 {
		keys := [][]string{{"a"}, {"b"}, {"a", "b"}, {"b", "a"}}[i%4]
		jobs = append(jobs, w.limited(w.past().Add(time.Duration(i)*time.Microsecond), keys...))
	}
	w.insert(jobs...)
	failures := make(chan error, 8)
	for i := range 8 {
		go func() {
			var err error
			for range 5 {
				_, err = w.s.LimitPass(w.ctx, store.LimitPass{
					LimitKey: store.LimitKey{Account: w.owner.Number, Key: []string{"a", "b"}[i%2]},
					Ahead:    100 * time.Millisecond, Grace: time.Minute, Limit: 7,
				})
				if err != nil {
					break
				}
			}
			failures <- err
		}()
	}
	for range 8 {
		w.ok("LimitPass", <-failures)
	}
	for _, key := range []string{"a", "b"} {
		for range 20 {
			w.pass(key)
		}
		if use, err := w.s.LimitGet(w.ctx, w.owner, key); err != nil || use.InFlight != 10 {
			w.Errorf("%s: %d were granted (%v), want 10", key, use.InFlight, err)
		}
	}
}

func limitsPurged(w *world) {
	w.limit("a", limit.Limit{Paused: true})
	w.insert(w.limited(w.past(), "a"), w.limited(w.past(), "a"))
	w.ok("AccountDelete", w.s.AccountDelete(w.ctx, w.owner.Number, w.now))
	for range 100 {
		n, err := w.s.AccountPurge(w.ctx, w.now.Add(time.Hour), 10)
		w.ok("AccountPurge", err)
		if n == 0 {
			break
		}
	}
	if list, err := w.s.LimitList(w.ctx, w.owner, "", 10); err != nil || len(list) != 0 {
		w.Errorf("limits of a deleted account: %+v, %v", list, err)
	}
	if waiting, err := w.s.LimitWaiting(w.ctx); err != nil || waiting != 0 {
		w.Errorf("%d items of a deleted account wait, %v", waiting, err)
	}
}

func limitsOnlyNew(w *world) {
	put := func(l limit.Limit) (bool, error) {
		return w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "a", Limit: l}, store.PutIfNew)
	}
	_, err := w.s.LimitPut(w.ctx, w.other, store.Limit{Key: "a"}, store.PutAlways)
	w.ok("LimitPut", err)
	for range 2 { // the second time after a delete
		_, err = w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "a"}, store.PutIfThere)
		w.wantCode("if it is there", err, fault.Stale)
		if created, err := put(limit.Limit{Parallel: 1}); err != nil || !created {
			w.Errorf("the first: created %v, %v", created, err)
		}
		_, err = put(limit.Limit{Parallel: 2})
		w.wantCode("another", err, fault.Stale)
		created, err := w.s.LimitPut(w.ctx, w.owner, store.Limit{Key: "a", Limit: limit.Limit{Parallel: 1}}, store.PutIfThere)
		if err != nil || created {
			w.Errorf("if it is there: created %v, %v", created, err)
		}
		if use, err := w.s.LimitGet(w.ctx, w.owner, "a"); err != nil || use.Parallel != 1 {
			w.Errorf("afterwards it is %+v, %v", use, err)
		}
		_, err = w.s.LimitDelete(w.ctx, w.owner, "a")
		w.ok("LimitDelete", err)
	}
}

// limitsApart: what another account has under way for a limit with the same key
// doesn't count, whichever of them has the greater number.
func limitsApart(w *world) {
	for _, owner := range []job.Owner{w.owner, w.other} {
		_, err := w.s.LimitPut(w.ctx, owner, store.Limit{Key: "a", Limit: limit.Limit{Parallel: 3}}, store.PutAlways)
		w.ok("LimitPut", err)
	}
	use := func(owner job.Owner) int {
		u, err := w.s.LimitGet(w.ctx, owner, "a")
		w.ok("LimitGet", err)
		return u.InFlight
	}
	grant := func(owner job.Owner) {
		n := w.limited(w.past(), "a")
		n.Job.Owner = owner
		w.insertOne(n)
		_, err := w.s.LimitPass(w.ctx, store.LimitPass{LimitKey: store.LimitKey{Account: owner.Number, Key: "a"},
			Ahead: 100 * time.Millisecond, Grace: time.Minute, Limit: 100})
		w.ok("LimitPass", err)
	}
	grant(w.owner)
	if mine, theirs := use(w.owner), use(w.other); mine != 1 || theirs != 0 {
		w.Errorf("%d and %d under way, want 1 and 0", mine, theirs)
	}
	grant(w.other)
	grant(w.other)
	if mine, theirs := use(w.owner), use(w.other); mine != 1 || theirs != 2 {
		w.Errorf("%d and %d under way, want 1 and 2", mine, theirs)
	}
}

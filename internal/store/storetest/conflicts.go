package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

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
	"BatchIsAllOrNothing":          conflictBatchAtomic,
	"BatchDecidesInOrder":          conflictBatchOrder,
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

func acceptAll([]store.Inserted) error { return nil }

func conflictBatchAtomic(w *world) {
	held := w.insertOne(w.keyed(w.owner, "held"))
	batch := func() []store.NewJob {
		return []store.NewJob{w.oneOff(w.owner, w.ahead()), w.recurringWithKey("r"), w.keyed(w.owner, "held"), w.replacement("new", 1), w.replacement("held", 2)}
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

// conflictRaces: calls replace a key's job while it is claimed, ended and
// cancelled. There are never two followers, and the last content is stored.
func conflictRaces(w *world) {
	r := w.random()
	for round := range rounds(100) {
		key := strconv.Itoa(round)
		first := w.create(w.replacement(key, 0)).Job
		var mu sync.Mutex
		numbers := map[int64]bool{}
		var together []func()
		for i := range 6 {
			together = append(together, func() {
				n := w.replacement(key, i+1)
				if i%2 == 0 {
					n.Job.ScheduledAt, n.Job.DueAt = w.past(), w.now
				}
				results, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n})
				if err != nil || results[0].Job == nil {
					w.Errorf("JobInsertMany: %v", err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				numbers[results[0].Job.Number] = true
			})
		}
		together = append(together, func() { w.change(first, cancel) })
		race(r, together...)
		pending := 0
		for number := range numbers {
			if j := w.get(&job.Job{Number: number, Owner: w.owner}); !j.State.Final() {
				pending++
				w.change(j, cancel)
			}
		}
		if pending > 2 {
			w.Fatalf("round %d: %d pending jobs with one key", round, pending)
		}
	}
	w.wantQueue("in the end")
}

// conflictModel draws calls, starts, ends, cancels and crashes, and compares the
// jobs of a key with a model after each.
func conflictModel(w *world) {
	r := w.random()
	for key := range rounds(20) {
		m := &conflictState{world: w, key: strconv.Itoa(key)}
		for step := range 30 {
			switch n := r.IntN(10); {
			case n < 4:
				m.call(step, r.IntN(2) == 0)
			case n < 6:
				m.start()
			case n < 7:
				m.end(func(f ending) ending { return w.retries(w.ahead()) }, true)
			case n < 8:
				m.end(func(f ending) ending { return w.completes }, false)
			case n < 9:
				m.cancel(r.IntN(2) == 0)
			default:
				m.crash()
			}
			m.check(step)
		}
		m.drain()
	}
}

// conflictState is the model of a key: the job that holds it and its follower.
type conflictState struct {
	*world
	key             string
	first, follower *modelJob
	claim           *store.Claim
	last            string // the content of the last call that nothing has cancelled
	started         []string
}

type modelJob struct {
	job     *job.Job
	content string
	soon    bool
	retry   bool
}

func (m *conflictState) call(content int, soon bool) {
	n := m.replacement(m.key, content)
	if soon {
		n.Job.ScheduledAt, n.Job.DueAt = m.past(), m.now
	}
	text := strconv.Itoa(content)
	m.last = text
	switch {
	case m.first == nil:
		m.first = &modelJob{m.wantResult("a free key", m.create(n), false, false, text), text, soon, false}
	case m.follower != nil:
		m.follower.content, m.follower.soon = text, soon
		m.wantResult("behind a follower", m.create(n), true, true, text)
	case m.claim != nil || m.first.soon || m.first.retry:
		m.follower = &modelJob{m.wantResult("behind a started job", m.create(n), false, false, text), text, soon, false}
	default:
		m.first.content, m.first.soon = text, soon
		m.wantResult("a pending job", m.create(n), true, true, text)
	}
}

func (m *conflictState) start() {
	if m.first == nil || m.claim != nil {
		return
	}
	c := m.begin(m.get(m.first.job))
	m.claim = &c
	m.started = append(m.started, m.first.content)
}

func (m *conflictState) end(how func(ending) ending, retry bool) {
	if m.claim == nil {
		return
	}
	read := m.get(m.first.job)
	read.State, read.Attempt = job.Available, m.claim.Attempt-1
	if m.first.retry {
		read.State = job.Retryable
	}
	m.finish(m.world.end(read, *m.claim, how(nil)))
	m.claim = nil
	if retry {
		m.first.retry = true
		return
	}
	m.first, m.follower = m.follower, nil
}

func (m *conflictState) cancel(follower bool) {
	switch {
	case m.first == nil:
	case follower && m.follower != nil:
		m.change(m.follower.job, cancel)
		m.follower = nil
	default:
		m.change(m.first.job, cancel)
		m.first, m.follower, m.claim = m.follower, nil, nil
	}
}

// crash abandons the claims, and the next node interrupts the attempt.
func (m *conflictState) crash() {
	held := m.claim
	m.node = m.replace()
	if held == nil {
		return
	}
	m.reclaim(m.abandoned())
	m.claim = nil
	if m.first != nil {
		m.first.retry = m.get(m.first.job).State == job.Retryable
	}
}

func (m *conflictState) check(step int) {
	m.Helper()
	jobs := m.listJobs(m.owner, job.Query{ListQuery: job.ListQuery{Limit: 100}, Key: &m.key, States: []job.State{job.Available, job.Retryable, job.Executing}})
	want := 0
	for _, expected := range []*modelJob{m.first, m.follower} {
		if expected == nil {
			continue
		}
		want++
		stored := m.get(expected.job)
		if contentOf(stored) != expected.content || stored.State.Final() || (stored.Follows != 0) != (expected == m.follower) {
			m.Fatalf("step %d: %s, want body %s", step, showJob(stored), expected.content)
		}
	}
	if len(jobs) != want {
		m.Fatalf("step %d: %d pending jobs with the key, want %d", step, len(jobs), want)
	}
}

// drain runs what is left: no call that was not cancelled may be lost.
func (m *conflictState) drain() {
	for m.first != nil {
		m.start()
		m.end(func(ending) ending { return m.completes }, false)
	}
	if left := m.peek(); len(left) > 0 {
		m.Fatalf("%d items are left in the queue", len(left))
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
				w.Fatalf("round %d, item %d: %+v with body %s in the batch, %+v with body %s alone", round, i, got, contentOf(got.Job), one, contentOf(one.Job))
			}
			places[[2]uuid.UUID{got.Job.ID, one.Job.ID}] = true
			a, b := w.get(got.Job), w.get(one.Job)
			_ = b
			if a.Number != got.Job.Number {
				w.Fatalf("round %d, item %d: job %d is stored as %d", round, i, got.Job.Number, a.Number)
			}
		}
		for pair := range places {
			var jobs [2]*job.Job
			for i := range pair {
				j, err := w.s.JobGet(w.ctx, w.owner, job.Ref{UUID: pair[i]})
				w.ok("JobGet", err)
				jobs[i] = j
			}
			if contentOf(jobs[0]) != contentOf(jobs[1]) || (jobs[0].Follows == 0) != (jobs[1].Follows == 0) || (w.queued(jobs[0]) == nil) != (w.queued(jobs[1]) == nil) {
				w.Fatalf("round %d: %s in the batch, %s alone", round, showJob(jobs[0]), showJob(jobs[1]))
			}
		}
	}
}

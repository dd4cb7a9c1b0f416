package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var definitionTests = group{
	"Redefined":             definitionsRedefined,
	"HistoryIsBounded":      definitionsHistory,
	"HistoryGoesWithRecord": definitionsHistoryGoes,
	"StaleClaimFails":       definitionsStaleClaim,
	"HolderOfAKey":          definitionsHolder,
	"PutCreatesAndChanges":  definitionsPut,
	"PutIsAllOrNothing":     definitionsPutRefused,
	"PutWithinLimits":       definitionsPutLimits,
	"PutOfOneKeyAtOnce":     definitionsPutAtOnce,
	"PutBesideCreates":      definitionsPutBesideCreates,
	"DocumentEntries":       definitionsDocument,
	"DocumentsReadLittle":   definitionsLarge,
	"DocumentAtOnce":        definitionsDocumentAtOnce,
	"Keyed":                 definitionsKeyed,
	"RunsEnded":             definitionsRunsEnded,
	"Trail":                 definitionsTrail,
}

// redefine is a decision that changes what a job requests.
func redefine(args string) store.Decide {
	return func(m *store.Snapshot) *store.Changes {
		j := *m.Job
		j.Revision++
		j.Args = rawjson.Value(args)
		if m.Claim != nil {
			j.Attempt--
		}
		lane := job.Lane("https://other.example.com")
		return &store.Changes{
			Job: &j, UpdateDefinition: true, Lane: &lane, RollbackClaim: m.Claim != nil,
			Revisions: []job.Revision{revision(j.ID, j.Owner, j.Revision, m.Now)},
		}
	}
}

func revision(record uuid.UUID, owner job.Owner, number int64, at time.Time) job.Revision {
	by := job.Actor{Kind: job.ByKey, ID: "id", Name: "na\"me"}
	return job.NewRevision(record, owner, number, at, by,
		[]job.FieldChange{{Path: "/body", From: rawjson.Value(`1.10`), To: rawjson.Value(`{"ä":null}`)}})
}

func definitionsRedefined(w *world) {
	n := w.oneOff(w.owner, w.ahead())
	n.Job.RerunOf = 12
	j := w.insertOne(n)
	if got := w.get(j); got.Revision != 1 || got.RerunOf != 12 {
		w.Errorf("a new job has revision %d and is a rerun of %d", got.Revision, got.RerunOf)
	}
	const args = `{"url":"https://other.example.com/x","tags":["t"],"method":"get","headers":{}}`
	got := w.change(j, redefine(args))
	if got.Revision != 2 || string(got.Args) != args || got.RerunOf != 12 {
		w.Errorf("the job has revision %d and %s", got.Revision, got.Args)
	}
	want := refOf(got)
	want.Lane = job.Lane("https://other.example.com")
	if refs := w.peek(); len(refs) != 1 || refs[0] != want {
		w.Errorf("the queue has %+v, want %+v", refs, want)
	}
	history, err := w.s.Revisions(w.ctx, w.owner, j.ID)
	w.ok("Revisions", err)
	if len(history) != 1 || history[0].Number != 2 || history[0].At.IsZero() ||
		string(history[0].By) != `{"kind":"key","id":"id","name":"na\"me"}` ||
		string(history[0].Changes) != `[{"path":"/body","from":1.10,"to":{"ä":null}}]` {
		w.Errorf("the history is %+v", history)
	}
	if history, err := w.s.Revisions(w.ctx, w.other, j.ID); err != nil || len(history) != 0 {
		w.Errorf("another account reads %v, %v", history, err)
	}
}

func definitionsHistory(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	for range job.MaxRevisions + 3 {
		w.change(j, redefine(plain))
	}
	history, err := w.s.Revisions(w.ctx, w.owner, j.ID)
	w.ok("Revisions", err)
	if len(history) != job.MaxRevisions || history[0].Number != job.MaxRevisions+4 || history[len(history)-1].Number != 5 {
		w.Errorf("%d revisions are kept, from %d to %d", len(history), history[0].Number, history[len(history)-1].Number)
	}
}

func definitionsHistoryGoes(w *world) {
	stays := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.change(stays, redefine(plain))
	ended := w.insertOne(w.oneOff(w.owner, w.ahead()))
	w.change(ended, redefine(plain))
	w.change(ended, cancel)
	run := w.insertOne(w.recurring(w.owner, w.ahead()))
	_, err := w.s.ScheduleChange(w.ctx, w.owner, run.ScheduleID, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		s.Revision++
		return &store.Changes{Schedule: &s, UpdateDefinition: true, Revisions: []job.Revision{revision(s.ID, s.Owner, s.Revision, m.Now)}}
	})
	w.ok("ScheduleChange", err)
	if got := w.schedule(w.owner, run.ScheduleID); got.Revision != 2 {
		w.Errorf("the schedule has revision %d", got.Revision)
	}
	_, err = w.s.ScheduleChange(w.ctx, w.owner, run.ScheduleID, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Schedule: m.Schedule, DropSchedule: true}
	})
	w.ok("ScheduleChange", err)
	if n, err := w.s.JobPrune(w.ctx, w.s.Now().Add(time.Hour), store.PruneCursor{}, 10); err != nil || n.Removed != 1 {
		w.Fatalf("JobPrune: %+v, %v", n, err)
	}
	for record, want := range map[uuid.UUID]int{stays.ID: 1, ended.ID: 0, run.ScheduleID: 0} {
		history, err := w.s.Revisions(w.ctx, w.owner, record)
		w.ok("Revisions", err)
		if len(history) != want {
			w.Errorf("%s has %d revisions, want %d", record, len(history), want)
		}
	}
}

// definitionsStaleClaim: a node prepares an attempt, the job is edited, and then the
// node claims it.
func definitionsStaleClaim(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	stale := w.claimOf(j, w.ahead())
	edited := w.change(j, redefine(plain))
	if got := w.tryClaim(stale); got[0] {
		w.Error("a claim of an older revision succeeded")
	}
	w.claim(w.claimOf(edited, w.ahead()))
	again := w.change(j, redefine(hourly))
	if again.State != job.Available || again.Revision != 3 {
		w.Errorf("the job is %s, revision %d", again.State, again.Revision)
	}
	again.Attempt = 0
	w.claim(w.claimOf(again, w.past()))
	if logs := w.logs(j); len(logs) != 1 {
		w.Errorf("%d request logs remain, want that of the last claim", len(logs))
	}
}

func definitionsHolder(w *world) {
	_, err := w.s.JobHolding(w.ctx, w.owner, "k")
	w.wantCode("JobHolding of a free key", err, fault.NotFound)
	_, err = w.s.ScheduleHolding(w.ctx, w.owner, "k")
	w.wantCode("ScheduleHolding of a free key", err, fault.NotFound)
	j := w.insertOne(w.keyed(w.owner, "k"))
	got, err := w.s.JobHolding(w.ctx, w.owner, "k")
	w.ok("JobHolding", err)
	w.same("the holder", showJob(got), showJob(w.get(j)))
	_, err = w.s.JobHolding(w.ctx, w.other, "k")
	w.wantCode("JobHolding of another account", err, fault.NotFound)
	w.change(j, cancel)
	_, err = w.s.JobHolding(w.ctx, w.owner, "k")
	w.wantCode("JobHolding of a final job", err, fault.NotFound)

	run := w.insertOne(w.newWithKey("k"))
	w.change(run, cancel)
	got, err = w.s.JobHolding(w.ctx, w.owner, "k")
	w.ok("JobHolding of a schedule without a pending run", err)
	if got.Number != run.Number {
		w.Errorf("job %d holds the key, want %d", got.Number, run.Number)
	}
	found, err := w.s.ScheduleHolding(w.ctx, w.owner, "k")
	w.ok("ScheduleHolding", err)
	w.same("the schedule", showSchedule(found), showSchedule(w.schedule(w.owner, run.ScheduleID)))
}

// newWithKey returns a new schedule with a key.
func (w *world) newWithKey(key string) store.NewJob {
	n := w.recurring(w.owner, w.ahead())
	n.Job.Key, n.Schedule.Key = &key, &key
	return n
}

// put creates schedules for free keys and renames others.
func (w *world) put(created *int, name string, keys ...string) (store.Quota, error) {
	return w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: keys}, func(held *store.Holders) ([]*store.Changes, error) {
		*created = 0
		changes := make([]*store.Changes, len(keys))
		for i, h := range held.Keys {
			switch {
			case h.OneOff != nil:
				return nil, fault.New(fault.Conflict, keys[i])
			case h.Schedule == nil:
				n := w.newWithKey(keys[i])
				*created++
				changes[i] = &store.Changes{Next: &n}
			case h.Schedule.Name == nil || *h.Schedule.Name != name:
				changes[i] = renamed(&h, name)
			}
		}
		return changes, nil
	})
}

// renamed renames a schedule and its pending run.
func renamed(h *store.KeyHolder, name string) *store.Changes {
	s := *h.Schedule
	s.Revision++
	s.Name = &name
	c := &store.Changes{Schedule: &s, UpdateDefinition: true, Revisions: []job.Revision{revision(s.ID, s.Owner, s.Revision, h.Now)}}
	if h.Job != nil && h.Claim == nil {
		j := *h.Job
		j.Revision++
		j.Name = &name
		c.Job = &j
	}
	return c
}

func definitionsPut(w *world) {
	var created int
	keys := []string{"b", "ä\"", "a"}
	over, err := w.put(&created, "n", keys...)
	w.ok("SchedulePut", err)
	if over != store.QuotaNone || created != 3 || len(w.peek()) != 3 {
		w.Fatalf("%d were created, over %q, %d in the queue", created, over, len(w.peek()))
	}
	disabled, err := w.s.ScheduleHolding(w.ctx, w.owner, "a")
	w.ok("ScheduleHolding", err)
	run, err := w.s.RunUnfinished(w.ctx, w.owner, disabled.ID)
	w.ok("RunUnfinished", err)
	w.change(run, cancel)
	if run, err := w.s.RunUnfinished(w.ctx, w.owner, disabled.ID); err != nil || run != nil {
		w.Errorf("after cancelling, the unfinished run is %v, %v", run, err)
	}
	_, err = w.put(&created, "n", append(keys, "c")...)
	w.ok("SchedulePut", err)
	if created != 1 || len(w.peek()) != 3 {
		w.Errorf("%d were created, %d in the queue", created, len(w.peek()))
	}
	for key, revision := range map[string]int64{"b": 2, "ä\"": 2, "a": 2, "c": 1} {
		s, err := w.s.ScheduleHolding(w.ctx, w.owner, key)
		w.ok("ScheduleHolding", err)
		run, err := w.s.RunUnfinished(w.ctx, w.owner, s.ID)
		w.ok("RunUnfinished", err)
		if s.Revision != revision || (run == nil) != (key == "a") || run != nil && run.Revision != revision {
			w.Errorf("%s has revision %d, want %d; its run is %+v", key, s.Revision, revision, run)
		}
	}
}

func definitionsPutRefused(w *world) {
	w.insertOne(w.keyed(w.owner, "held"))
	var created int
	_, err := w.put(&created, "n", "free", "held")
	w.wantCode("SchedulePut of a held key", err, fault.Conflict)
	failed := errors.New("failed")
	_, err = w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: []string{"free"}},
		func(*store.Holders) ([]*store.Changes, error) { return nil, failed })
	if err == nil {
		w.Error("the error of a decision was lost")
	}
	throttled := w.keyed(w.owner, "throttled")
	throttled.Job.HeldUntil, throttled.Job.RememberedUntil = w.ahead(), w.ahead()
	w.settle(w.create(throttled).Job, w.completes)
	_, err = w.put(&created, "n", "free", "throttled")
	w.wantCode("SchedulePut of a key that a final job holds", err, fault.Conflict)
	_, err = w.s.ScheduleHolding(w.ctx, w.owner, "free")
	w.wantCode("ScheduleHolding after the refusal", err, fault.NotFound)
	past := w.keyed(w.owner, "past")
	past.Job.HeldUntil, past.Job.RememberedUntil = w.past(), w.past()
	w.settle(w.create(past).Job, w.completes)
	if _, err := w.put(&created, "n", "free", "past"); err != nil || created != 2 {
		w.Errorf("after the refusals %d were created, %v", created, err)
	}
}

func definitionsPutLimits(w *world) {
	put := func(caps store.Caps, keys ...string) store.Quota {
		over, err := w.s.SchedulePut(w.ctx, w.owner, store.PutKeys{Keys: keys}, func(held *store.Holders) ([]*store.Changes, error) {
			changes := make([]*store.Changes, len(keys))
			for i, h := range held.Keys {
				if h.Schedule == nil {
					n := w.newWithKey(keys[i])
					n.Caps = caps
					changes[i] = &store.Changes{Next: &n}
				}
			}
			return changes, nil
		})
		w.ok("SchedulePut", err)
		return over
	}
	caps := store.Caps{Schedules: 3}
	for _, x := range []struct {
		keys []string
		want store.Quota
	}{
		{[]string{"a", "b"}, store.QuotaNone}, {[]string{"c", "d"}, store.QuotaSchedules}, {[]string{"a", "c"}, store.QuotaNone},
		{[]string{"a", "b", "c"}, store.QuotaNone}, {[]string{"d"}, store.QuotaSchedules},
	} {
		if over := put(caps, x.keys...); over != x.want {
			w.Errorf("%v: over %q, want %q", x.keys, over, x.want)
		}
	}
	if over := put(store.Caps{Full: true}, "e"); over != store.QuotaStored {
		w.Errorf("a full account: over %q", over)
	}
	if len(w.peek()) != 3 {
		w.Errorf("the queue has %d items, want 3", len(w.peek()))
	}
}

func definitionsPutAtOnce(w *world) {
	const callers = 12
	created := make([]int, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			if _, err := w.put(&created[i], fmt.Sprint("n", i), "k"); err != nil {
				w.Errorf("SchedulePut: %v", err)
			}
		})
	}
	group.Wait()
	slices.Sort(created)
	if created[callers-1] != 1 || created[callers-2] != 0 {
		w.Errorf("created %v, want one", created)
	}
	s, err := w.s.ScheduleHolding(w.ctx, w.owner, "k")
	w.ok("ScheduleHolding", err)
	history, err := w.s.Revisions(w.ctx, w.owner, s.ID)
	w.ok("Revisions", err)
	if s.Revision != callers || len(history) != callers-1 || len(w.peek()) != 1 {
		w.Errorf("the schedule has revision %d, %d edits, %d in the queue", s.Revision, len(history), len(w.peek()))
	}
}

// definitionsPutBesideCreates: creates take the same keys meanwhile.
func definitionsPutBesideCreates(w *world) {
	var group sync.WaitGroup
	for i := range 20 {
		key := fmt.Sprint("k", i%5)
		group.Go(func() {
			n := w.keyed(w.owner, key)
			if i%2 == 0 {
				n = w.newWithKey(key)
			}
			if _, err := w.s.JobInsertMany(w.ctx, []store.NewJob{n}); err != nil {
				w.Errorf("JobInsertMany: %v", err)
			}
		})
		group.Go(func() {
			var created int
			if _, err := w.put(&created, "n", key); err != nil && fault.CodeOf(err) != fault.Conflict {
				w.Errorf("SchedulePut: %v", err)
			}
		})
	}
	group.Wait()
	if refs := w.peek(); len(refs) != 5 {
		w.Errorf("the queue has %d items, want one for each key", len(refs))
	}
}

func definitionsRunsEnded(w *world) {
	first := w.insertOne(w.recurring(w.owner, w.past()))
	latest, states, err := w.s.RunsEnded(w.ctx, w.owner, first.ScheduleID, 10)
	if err != nil || latest != nil || len(states) != 0 {
		w.Errorf("before the first run has ended: %v, %v, %v", latest, states, err)
	}
	run := first
	for _, how := range []ending{w.completes, w.discards, w.discards} {
		next := w.nextOf(w.schedule(w.owner, first.ScheduleID), w.past())
		w.settle(run, func(j *job.Job, c *store.Changes) {
			how(j, c)
			c.Next = next
		})
		run = next.Job
	}
	latest, states, err = w.s.RunsEnded(w.ctx, w.owner, first.ScheduleID, 2)
	w.ok("RunsEnded", err)
	if latest == nil || latest.State != job.Discarded || !slices.Equal(states, []job.State{job.Discarded, job.Discarded}) {
		w.Errorf("the latest is %+v, the states are %v", latest, states)
	}
	unfinished, err := w.s.RunUnfinished(w.ctx, w.owner, first.ScheduleID)
	w.ok("RunUnfinished", err)
	w.same("the unfinished run", showJob(unfinished), showJob(w.get(run)))
	for _, id := range []uuid.UUID{uuid.New(), first.ScheduleID} {
		latest, states, err := w.s.RunsEnded(w.ctx, w.other, id, 2)
		unfinished, err2 := w.s.RunUnfinished(w.ctx, w.other, id)
		if latest != nil || len(states) != 0 || unfinished != nil || err != nil || err2 != nil {
			w.Errorf("another account reads %v, %v, %v, %v, %v", latest, states, unfinished, err, err2)
		}
	}
}

func definitionsTrail(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	long := `{"status":200,"headers":{},"body":"` + strings.Repeat("ä", 6000) + `","duration_ms":1.5,"truncated":false}`
	c := w.begin(j)
	w.finish(w.end(j, c, func(j *job.Job, c *store.Changes) {
		w.completes(j, c)
		response, failure := w.log(j, job.EventResponse, w.now), w.log(j, job.EventWebhookFailed, w.now)
		response.Payload = rawjson.Value(long)
		c.Logs = []job.Log{response, failure}
		c.Deliveries = []job.Delivery{w.callback(j, 1, w.ahead())}
	}))
	n := w.oneOff(w.owner, w.ahead())
	n.Job.RerunOf = j.Number
	again := w.insertOne(n)
	trail, err := w.s.JobTrail(w.ctx, w.owner, j.Number, 100)
	w.ok("JobTrail", err)
	if len(trail.Logs) != 2 || trail.Pending != 1 || trail.Failed != 1 || !slices.Equal(trail.Reruns, []int64{again.Number}) {
		w.Fatalf("the trail is %+v", trail)
	}
	response := trail.Logs[1]
	if trail.Logs[0].Event != job.EventRequest || trail.Logs[0].Head != payload || trail.Logs[0].Tail != "" ||
		!strings.HasPrefix(response.Head, `{"status":200`) || !strings.HasSuffix(response.Tail, `"duration_ms":1.5,"truncated":false}`) {
		w.Errorf("the logs are %+v", trail.Logs)
	}
	if attempts := job.Attempts(trail.Logs); len(attempts) != 1 || attempts[0].Status != 200 ||
		attempts[0].Duration != 1500*time.Microsecond || attempts[0].Number != 1 {
		w.Errorf("the attempts are %+v", attempts)
	}
	if trail, err := w.s.JobTrail(w.ctx, w.other, j.Number, 100); err != nil || len(trail.Logs) != 0 || len(trail.Reruns) != 0 ||
		trail.Pending != 0 {
		w.Errorf("another account reads %+v, %v", trail, err)
	}
}

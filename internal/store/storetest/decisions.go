package storetest

import (
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var decisionTests = group{
	"OthersFindNothing":      decisionsOfOthers,
	"MomentOfAJob":           decisionsMoment,
	"NilChangesNothing":      decisionsNil,
	"CancelWaiting":          decisionsCancelWaiting,
	"CancelExecuting":        decisionsCancelExecuting,
	"EverythingAtOnce":       decisionsEverything,
	"LogsAndDeliveriesAlone": decisionsWithoutJob,
	"PutOff":                 decisionsPutOff,
	"WrittenAnew":            decisionsUpdateDefinition,
	"StatesAndTimesStay":     decisionsTimesStay,
	"NextRun":                decisionsNextRun,
}

func decisionsOfOthers(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.ahead()))
	never := func(*store.Snapshot) *store.Changes {
		w.Error("a decision was asked about another's job")
		return nil
	}
	for what, id := range map[string]job.Ref{"number": {Number: j.Number}, "UUID": {UUID: j.ID}} {
		_, err := w.s.JobChange(w.ctx, w.other, id, never)
		w.wantCode("another's job by "+what, err, fault.NotFound)
	}
	for what, id := range map[string]job.Ref{"number": {Number: j.Number + 1}, "UUID": {UUID: uuid.New()}} {
		_, err := w.s.JobChange(w.ctx, w.owner, id, never)
		w.wantCode("no job by "+what, err, fault.NotFound)
	}
	w.same("the job", showJob(w.get(j)), showJob(j))
}

func decisionsMoment(w *world) {
	n := w.recurring(w.owner, w.past())
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), n)
	held, begun := w.hold(jobs[0]), w.begin(jobs[1])
	look := func(j *job.Job) (m store.Snapshot) {
		w.Helper()
		asked := false
		got, err := w.s.JobChange(w.ctx, w.owner, job.Ref{UUID: j.ID}, func(seen *store.Snapshot) *store.Changes {
			m, asked = *seen, true
			return nil
		})
		w.ok("JobChange", err)
		if !asked {
			w.Fatalf("no decision was asked for")
		}
		w.same("the job given back", showJob(got), showJob(w.get(j)))
		return m
	}
	for i, c := range []store.Claim{held, begun} {
		m := look(jobs[i])
		if m.Claim == nil || m.Claim.Node != w.node || m.Claim.Attempt != 1 || !m.Claim.StartAt.Equal(c.StartAt) {
			w.Errorf("the claim in the snapshot is %+v, want attempt 1 from %s", m.Claim, c.StartAt)
		}
		if m.Job.State != job.Available || m.Job.Attempt != 1 || !m.Job.AttemptedAt.IsZero() || m.Schedule != nil {
			w.Errorf("a claimed job is %s with %s in the snapshot, want it as stored, the claimed attempt counted", showJob(m.Job),
				showSchedule(m.Schedule))
		}
	}
	m := look(jobs[2])
	w.same("the schedule in the snapshot", showSchedule(m.Schedule), showSchedule(n.Schedule))
	w.same("the job in the snapshot", showJob(m.Job), showJob(jobs[2]))
	if m.Claim != nil || m.Now.Before(w.now) {
		w.Errorf("claim %+v at %s, want none, not before %s", m.Claim, m.Now, w.now)
	}
	w.settle(jobs[2], w.discards)
	if m := look(jobs[2]); m.Job.State != job.Discarded || m.Claim != nil {
		w.Errorf("a final job is %s, %+v in the snapshot", showJob(m.Job), m.Claim)
	}
}

func decisionsNil(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	c := w.begin(jobs[1])
	for name, decide := range map[string]store.Decide{
		"nil":   func(*store.Snapshot) *store.Changes { return nil },
		"empty": func(*store.Snapshot) *store.Changes { return &store.Changes{} },
	} {
		for _, j := range jobs {
			before, queue, logs := showJob(w.get(j)), show(w.peek(), showRef), w.events(j)
			w.same("the job given back after "+name, showJob(w.change(j, decide)), before)
			w.same("the job after "+name, showJob(w.get(j)), before)
			w.same("the queue after "+name, show(w.peek(), showRef), queue)
			w.same("the logs after "+name, w.events(j), logs)
		}
	}
	w.finish(w.end(jobs[1], c, w.completes)) // the claim has outlived it
}

func decisionsCancelWaiting(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	got := w.change(j, cancel)
	if got.State != job.Cancelled || got.CancelledAt.IsZero() || !got.AttemptedAt.IsZero() {
		w.Errorf("a cancelled job is %s", showJob(got))
	}
	w.same("the job read", showJob(w.get(j)), showJob(got))
	if item := w.load(refOf(j)); item != nil || len(w.peek()) != 0 {
		w.Errorf("its item is still there: %+v", item)
	}
	if w.tryClaim(w.claimOf(j, w.past()))[0] {
		w.Error("a cancelled job was claimed")
	}
	if names := w.events(j); names != "" {
		w.Errorf("a refused claim left logs: %s", names)
	}
}

func decisionsCancelExecuting(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	c := w.begin(j)
	got := w.change(j, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.AttemptedAt = m.Claim.StartAt
		after.Cancel(m.Now)
		return &store.Changes{Job: &after, Logs: []job.Log{w.log(&after, job.EventError, w.now)}}
	})
	if got.State != job.Cancelled || !got.AttemptedAt.Equal(c.StartAt) {
		w.Errorf("a job cancelled under way is %s", showJob(got))
	}
	if held := w.tryFinish(w.end(j, c, w.completes)); held[0] {
		w.Error("the attempt of a cancelled job could be finished")
	}
	w.same("the job afterwards", showJob(w.get(j)), showJob(got))
	if names := w.events(j); names != "http.request http.error" {
		w.Errorf("its logs are %q, want those of the attempt that had begun and the cancel's", names)
	}
}

func decisionsEverything(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	next := w.nextOf(n.Schedule, w.ahead())
	log := w.log(j, job.EventStateRejected, w.past())
	hook, call := w.webhook(j, 1, "job.finished", w.past()), w.callback(j, 1, w.past())
	w.change(j, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		s.State, s.Previous, s.Epoch = rawjson.Value(`{"x":1}`), rawjson.Value(`[]`), 3
		c := cancel(m)
		c.Logs, c.Deliveries, c.Next, c.Schedule = []job.Log{log}, []job.Delivery{hook, call}, next, &s
		return c
	})
	if got := w.get(j); got.State != job.Cancelled {
		w.Errorf("the job is %s", showJob(got))
	}
	if s := w.schedule(w.owner, n.Schedule.ID); string(s.State) != `{"x":1}` || string(s.Previous) != `[]` || s.Epoch != 3 {
		w.Errorf("the schedule is %s", showSchedule(s))
	}
	if logs := w.logs(j); len(logs) != 1 || showLog(logs[0]) != showLog(&log) {
		w.Errorf("the logs are %s", show(logs, showLog))
	}
	w.same("the next job", showJob(w.get(next.Job)), showJob(next.Job))
	refs := w.peek()
	if len(refs) != 3 || refs[2].Number != next.Job.Number {
		w.Fatalf("the queue is %s, want two deliveries and the next job", show(refs, showRef))
	}
	for i, want := range []job.Delivery{hook, call} {
		item := w.load(refs[i])
		want.Number = refs[i].Number
		w.same("a delivery", showDelivery(item.Delivery), showDelivery(&want))
	}
}

func decisionsWithoutJob(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	w.change(j, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Logs: []job.Log{w.log(j, job.EventError, w.past())}, Deliveries: []job.Delivery{w.callback(j, 1, w.past())}}
	})
	w.same("the job", showJob(w.get(j)), showJob(j))
	if names := w.events(j); names != "http.error" {
		w.Errorf("the logs are %q", names)
	}
	if n := len(w.peek()); n != 2 {
		w.Errorf("%d items, want the job's and the callback's", n)
	}
}

// decisionsPutOff: the item of a job that stays unfinished is unclaimed, in the
// same lane and due at the job's new due time.
func decisionsPutOff(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()))
	c := w.begin(jobs[1])
	for _, j := range jobs {
		got := w.change(j, func(m *store.Snapshot) *store.Changes {
			after := *m.Job
			after.State, after.DueAt = job.Retryable, w.ahead()
			return &store.Changes{Job: &after}
		})
		if got.State != job.Retryable || !got.DueAt.Equal(w.ahead()) {
			w.Errorf("the job is %s", showJob(got))
		}
		if ref := w.queued(j); ref == nil || showRef(*ref) != showRef(refOf(got)) {
			w.Errorf("its item is %+v, want %s", ref, showRef(refOf(got)))
		}
		if item := w.load(refOf(got)); item == nil || item.Claim != nil || item.Attempt != got.Attempt {
			w.Errorf("its item is %+v, want it unclaimed after %d attempts", item, got.Attempt)
		}
	}
	if held := w.tryFinish(w.end(jobs[1], c, w.completes)); held[0] {
		w.Error("a claim outlived the job's being put off")
	}
}

// decisionsUpdateDefinition: the fields that seldom change are stored only with
// UpdateDefinition.
func decisionsUpdateDefinition(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	name, description := awkward[0], "what for"
	for _, update := range []bool{false, true} {
		want, wantSchedule := *w.get(j), *w.schedule(w.owner, n.Schedule.ID)
		want.DueAt = w.ahead()
		if update {
			want.Name, want.Description, want.Args, want.ScheduledAt = &name, &description, rawjson.Value(plain), w.past().Add(time.Second)
			wantSchedule.Name, wantSchedule.Description, wantSchedule.Args, wantSchedule.FirstDue = &name, &description,
				rawjson.Value(plain), w.ahead()
		}
		got := w.change(j, func(m *store.Snapshot) *store.Changes {
			after, s := *m.Job, *m.Schedule
			after.Name, after.Description, after.Args, after.ScheduledAt = &name, &description, rawjson.Value(plain),
				w.past().Add(time.Second)
			after.DueAt = w.ahead()
			s.Name, s.Description, s.Args, s.FirstDue = &name, &description, rawjson.Value(plain), w.ahead()
			return &store.Changes{Job: &after, Schedule: &s, UpdateDefinition: update}
		})
		w.same("the job given back", showJob(got), showJob(&want))
		w.same("the job read", showJob(w.get(j)), showJob(&want))
		w.same("the schedule", showSchedule(w.schedule(w.owner, n.Schedule.ID)), showSchedule(&wantSchedule))
	}
	if ref := w.queued(j); ref == nil || showRef(*ref) != showRef(refOf(w.get(j))) {
		w.Errorf("its item is %+v", ref)
	}
}

func decisionsTimesStay(w *world) {
	j := w.insertOne(w.oneOff(w.owner, w.past()))
	want := *j
	w.change(j, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.AttemptedAt, after.CancelledAt, after.State = w.past(), w.now, job.Cancelled
		want.AttemptedAt, want.CancelledAt, want.State = after.AttemptedAt, after.CancelledAt, after.State
		return &store.Changes{Job: &after}
	})
	w.same("the job", showJob(w.get(j)), showJob(&want))
}

// decisionsNextRun: a next run is stored with its counts and logs, which get its
// number, and a schedule with what it counts, by a change and by a finish.
func decisionsNextRun(w *world) {
	for _, finish := range []bool{false, true} {
		n := w.recurring(w.owner, w.past())
		j := w.insertOne(n)
		next := w.nextOf(n.Schedule, w.ahead())
		next.Job.Runs, next.Job.Skipped = 7, 1<<40
		next.Logs = []job.Log{w.log(next.Job, job.EventSkipped, w.now)}
		want := *n.Schedule
		want.Runs, want.Ended, want.Since = 8, job.EndedMaxRuns, w.past()
		goesOn := func(c *store.Changes) {
			s := *n.Schedule
			s.Runs, s.Ended, s.Since = want.Runs, want.Ended, want.Since
			c.Schedule, c.Next = &s, next
		}
		if finish {
			w.settle(j, func(j *job.Job, c *store.Changes) {
				w.discards(j, c)
				goesOn(c)
			})
		} else {
			w.change(j, func(m *store.Snapshot) *store.Changes {
				c := cancel(m)
				goesOn(c)
				return c
			})
		}
		w.same("the schedule", showSchedule(w.schedule(w.owner, n.Schedule.ID)), showSchedule(&want))
		got := w.get(next.Job)
		if got.Runs != 7 || got.Skipped != 1<<40 {
			w.Errorf("the next run is %s", showJob(got))
		}
		w.same("its logs", w.events(got), "schedule.skipped")
		if item := w.load(refOf(got)); item == nil || item.Job.Skipped != 1<<40 || showSchedule(item.Schedule) != showSchedule(&want) {
			w.Errorf("the item of the next run is %+v", item)
		}
	}
}

package storetest

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

var scheduleTests = group{
	"OthersFindNothing":     schedulesOfOthers,
	"ValuesRoundTrip":       schedulesValues,
	"UnfinishedJobInMoment": schedulesMoment,
	"NilChangesNothing":     schedulesNilChangesNothing,
	"Dropped":               schedulesDropped,
	"NextJob":               schedulesNextJob,
	"DroppedAnother":        schedulesDropOnlyThat,
	"SeenByLoad":            schedulesSeenByLoad,
	"SeenByFinish":          schedulesSeenByFinish,
	"WalkByCursor":          schedulesWalk,
}

func schedulesOfOthers(w *world) {
	stored := w.insertOne(w.recurring(w.owner, w.ahead()))
	never := func(*store.Snapshot) *store.Changes {
		w.Error("a decision was asked about another's schedule")
		return nil
	}
	for _, c := range []struct {
		owner job.Owner
		id    uuid.UUID
	}{{w.other, stored.ScheduleID}, {w.owner, uuid.New()}} {
		_, err := w.s.ScheduleGet(w.ctx, c.owner, c.id)
		w.wantCode("ScheduleGet", err, fault.NotFound)
		_, err = w.s.ScheduleChange(w.ctx, c.owner, c.id, never)
		w.wantCode("ScheduleChange", err, fault.NotFound)
	}
}

// changeSchedule changes a schedule's values by a function.
func (w *world) changeSchedule(owner job.Owner, id uuid.UUID, change func(*job.Schedule)) *job.Schedule {
	w.Helper()
	got, err := w.s.ScheduleChange(w.ctx, owner, id, func(m *store.Snapshot) *store.Changes {
		s := *m.Schedule
		change(&s)
		return &store.Changes{Schedule: &s}
	})
	w.ok("ScheduleChange", err)
	return got
}

func schedulesValues(w *world) {
	n := w.recurring(w.owner, w.ahead())
	n.Job.Hidden = job.Hidden{Body: "enc1:abc:AA==", Headers: "plain:e30=", Secrets: []string{"a", "b"}}
	n.Schedule.Hidden = n.Job.Hidden
	run := w.get(w.insertOne(n))
	w.same("what is hidden of the run", fmt.Sprint(run.Hidden), fmt.Sprint(n.Job.Hidden))
	want := *n.Schedule
	for _, values := range []struct{ state, previous, hidden string }{
		{state: `{"sent":12345678901234567890,"b":1.10,"a":"\u0000"}`, previous: `[1,null,"x"]`}, {state: `{}`, previous: `null`},
		{state: `{}`, previous: `"[redacted]"`, hidden: "enc1:abc:AA=="}, {state: `{"ä":"👩‍👧"}`, previous: `""`}, {},
	} {
		want.State, want.Previous, want.HiddenPrevious = rawjson.Value(values.state), rawjson.Value(values.previous), values.hidden
		if values.state == "" {
			want.State, want.Previous = nil, nil
		}
		want.Epoch++
		want.DisabledAt = w.past()
		if want.Epoch%2 == 0 {
			want.DisabledAt = time.Time{}
		}
		got := w.changeSchedule(w.owner, want.ID, func(s *job.Schedule) {
			s.State, s.Previous, s.HiddenPrevious, s.Epoch, s.DisabledAt = want.State, want.Previous, want.HiddenPrevious, want.Epoch,
				want.DisabledAt
		})
		w.same("the schedule given back", showSchedule(got), showSchedule(&want))
		w.same("the schedule read", showSchedule(w.schedule(w.owner, want.ID)), showSchedule(&want))
	}
}

func schedulesMoment(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	look := func(check func(m *store.Snapshot)) {
		w.Helper()
		asked := false
		_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
			asked = true
			check(m)
			w.same("the schedule in the snapshot", showSchedule(m.Schedule), showSchedule(n.Schedule))
			return nil
		})
		w.ok("ScheduleChange", err)
		if !asked {
			w.Error("no decision was asked for")
		}
	}
	look(func(m *store.Snapshot) {
		w.same("the waiting job", showJob(m.Job), showJob(j))
		if m.Claim != nil || m.Now.Before(w.now) {
			w.Errorf("claim %+v at %s, want none from %s on", m.Claim, m.Now, w.now)
		}
	})
	c := w.begin(j)
	look(func(m *store.Snapshot) {
		if m.Job == nil || m.Job.Number != j.Number || m.Job.State != job.Available {
			w.Errorf("a job under way is %s in the snapshot, want it as stored: available", showJob(m.Job))
		}
		if m.Claim == nil || m.Claim.Node != w.node || m.Claim.Attempt != 1 || !m.Claim.StartAt.Equal(c.StartAt) {
			w.Errorf("the claim in the snapshot is %+v", m.Claim)
		}
	})
	w.finish(w.end(j, c, w.completes))
	look(func(m *store.Snapshot) {
		if m.Job != nil || m.Claim != nil {
			w.Errorf("without an unfinished job the snapshot has %s, %+v", showJob(m.Job), m.Claim)
		}
	})
}

func schedulesNilChangesNothing(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	before, queue := showSchedule(w.schedule(w.owner, n.Schedule.ID)), show(w.peek(), showRef)
	for name, decide := range map[string]store.Decide{
		"nil":   func(*store.Snapshot) *store.Changes { return nil },
		"empty": func(*store.Snapshot) *store.Changes { return &store.Changes{} },
	} {
		got, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, decide)
		w.ok("ScheduleChange", err)
		w.same("the schedule after "+name, showSchedule(got), before)
		w.same("the schedule read after "+name, showSchedule(w.schedule(w.owner, n.Schedule.ID)), before)
		w.same("its job after "+name, showJob(w.get(j)), showJob(j))
		w.same("the queue after "+name, show(w.peek(), showRef), queue)
	}
}

func schedulesDropped(w *world) {
	n := w.recurring(w.owner, w.ahead())
	j := w.insertOne(n)
	got, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
		c := cancel(m)
		c.Schedule, c.DropSchedule = m.Schedule, true
		c.Logs = []job.Log{w.log(m.Job, job.EventError, w.past())}
		return c
	})
	w.ok("ScheduleChange", err)
	if got != nil {
		w.Errorf("a dropped schedule came back as %s", showSchedule(got))
	}
	_, err = w.s.ScheduleGet(w.ctx, w.owner, n.Schedule.ID)
	w.wantCode("a dropped schedule", err, fault.NotFound)
	if list := w.listSchedules(w.owner, top); len(list) != 0 {
		w.Errorf("a dropped schedule is listed: %s", showSchedule(list[0]))
	}
	if after := w.get(j); after.State != job.Cancelled || after.ScheduleID != n.Schedule.ID {
		w.Errorf("its job is %s", showJob(after))
	}
	if jobs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: n.Schedule.ID}); len(jobs) != 1 {
		w.Errorf("%d jobs are listed for the dropped schedule, want 1", len(jobs))
	}
	if names := w.events(j); names != "http.error" {
		w.Errorf("its logs are %q", names)
	}
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("its item is still there: %s", show(refs, showRef))
	}
}

func schedulesDropOnlyThat(w *world) {
	kept, gone := w.recurring(w.owner, w.ahead()), w.recurring(w.owner, w.ahead())
	w.insert(kept, gone)
	w.drop(gone.Schedule)
	if list := w.listSchedules(w.owner, top); len(list) != 1 || list[0].ID != kept.Schedule.ID {
		w.Errorf("after dropping one of two schedules the list is %s", show(list, showSchedule))
	}
}

func schedulesNextJob(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	w.change(j, cancel)
	next := w.nextOf(n.Schedule, w.ahead())
	_, err := w.s.ScheduleChange(w.ctx, w.owner, n.Schedule.ID, func(m *store.Snapshot) *store.Changes {
		return &store.Changes{Next: next}
	})
	w.ok("ScheduleChange", err)
	jobs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: n.Schedule.ID})
	if len(jobs) != 2 {
		w.Fatalf("%d jobs of the schedule, want 2", len(jobs))
	}
	w.same("the next job", showJob(jobs[0]), showJob(next.Job))
	if ref := w.queued(next.Job); ref == nil || showRef(*ref) != showRef(refOf(next.Job)) {
		w.Errorf("the next job's item is %+v", ref)
	}
}

func schedulesSeenByLoad(w *world) {
	n := w.recurring(w.owner, w.past())
	j := w.insertOne(n)
	changed := w.changeSchedule(w.owner, n.Schedule.ID,
		func(s *job.Schedule) { s.State, s.Previous = rawjson.Value(`{"a":1}`), rawjson.Value(`7`) })
	if run := w.load(refOf(j)); run == nil {
		w.Error("the item is gone")
	} else {
		w.same("the schedule of the run", showSchedule(run.Schedule), showSchedule(changed))
	}
	w.drop(n.Schedule)
	if run := w.load(refOf(j)); run == nil || run.Schedule != nil {
		w.Errorf("after its schedule was dropped the item is %+v", run)
	}
	if run := w.load(refOf(w.insertOne(w.oneOff(w.owner, w.past())))); run == nil || run.Schedule != nil {
		w.Errorf("the item of a one-off is %+v", run)
	}
}

// schedulesSeenByFinish: a finish decides on the current schedule, not as it was
// when the item was loaded.
func schedulesSeenByFinish(w *world) {
	for _, dropped := range []bool{false, true} {
		n := w.recurring(w.owner, w.past())
		j := w.insertOne(n)
		c := w.begin(j)
		changed := w.changeSchedule(w.owner, n.Schedule.ID, func(s *job.Schedule) { s.DisabledAt, s.Epoch = w.past(), 1 })
		if dropped {
			w.drop(n.Schedule)
			changed = nil
		}
		f := w.end(j, c, w.completes)
		decide := f.Decide
		f.Decide = func(m *store.Snapshot) *store.Changes {
			w.same("the schedule in the snapshot", showSchedule(m.Schedule), showSchedule(changed))
			if m.Now.Before(w.now) {
				w.Errorf("the snapshot is %s, before %s", m.Now, w.now)
			}
			return decide(m)
		}
		w.finish(f)
	}
}

func schedulesWalk(w *world) {
	m := w.populate(60)
	var walked []*job.Schedule
	for q := (job.ListQuery{Limit: 2}); ; {
		page := w.listSchedules(w.owner, q)
		walked = append(walked, page...)
		if len(page) < q.Limit {
			break
		}
		q.AfterID = page[len(page)-1].ID
	}
	w.same("the walk", show(walked, showSchedule),
		show(m.scheduleList(w.owner, job.ScheduleQuery{ListQuery: job.ListQuery{Limit: 1000}}), showSchedule))
}

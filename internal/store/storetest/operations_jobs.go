package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func operationsCancelClaimed(w *world) {
	jobs := w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()))
	w.hold(jobs[0])
	w.begin(jobs[1])
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 3), func(i int, m *store.Snapshot) (*store.Changes, job.Skip) {
		if claimed := m.Claim != nil; claimed != (i < 2) || m.Job.Number != jobs[i].Number {
			w.Errorf("job %d has the claim %v", m.Job.Number, m.Claim)
		}
		return cancel(m), ""
	})
	w.ok("OperationApply", err)
	for _, j := range jobs {
		if got := w.get(j); got.State != job.Cancelled || got.CancelledAt.IsZero() {
			w.Errorf("job %d is %s", j.Number, got.State)
		}
	}
	if left := w.peek(); len(left) != 0 || o.Done != 3 {
		w.Errorf("%d queue items are left, %s", len(left), showOperation(o))
	}
}

func operationsOfRuns(w *world) {
	n := w.recurring(w.owner, w.ahead())
	first := w.insertOne(n)
	o, lease := w.startOperation([]*job.Job{first})
	_, err := w.applyStep(o, lease, w.next(o, 1), func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) {
		w.same("the schedule in the snapshot", showSchedule(m.Schedule), showSchedule(n.Schedule))
		changes := cancel(m)
		changes.Next = w.nextOf(m.Schedule, w.ahead())
		return changes, ""
	})
	w.ok("OperationApply", err)
	runs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: n.Schedule.ID})
	if len(runs) != 2 || runs[0].State != job.Available || runs[1].State != job.Cancelled {
		w.Errorf("the schedule has the runs %v", runs)
	}
}

// operationsEdits: a step may change what jobs request.
func operationsEdits(w *world) {
	jobs := w.pending(2, w.ahead())
	edit := redefine(packable()["request"])
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 2), func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) { return edit(m), "" })
	w.ok("OperationApply", err)
	if o.Done != 2 {
		w.Errorf("%s, want 2 done", showOperation(o))
	}
	for _, j := range jobs {
		if got := w.get(j); string(got.Args) != packable()["request"] {
			w.Errorf("the arguments are %s", got.Args)
		}
	}
}

func operationsOthersJobs(w *world) {
	foreign := w.insertOne(w.oneOff(w.other, w.ahead()))
	gone := &job.Job{Number: foreign.Number + 1000}
	o, lease := w.startOperation([]*job.Job{foreign, gone})
	o, err := w.applyStep(o, lease, w.next(o, 2), func(_ int, m *store.Snapshot) (*store.Changes, job.Skip) {
		w.Errorf("a decision was asked about job %d", m.Job.Number)
		return nil, ""
	})
	w.ok("OperationApply", err)
	if o.Skipped[job.SkipRemoved] != 2 || o.State != job.OperationFinished {
		w.Errorf("%s, want 2 removed", showOperation(o))
	}
	w.same("another's job", showJob(w.get(foreign)), showJob(foreign))
}

func operationsOverLimit(w *world) {
	jobs := w.pending(4, w.ahead())
	o, lease := w.startOperation(jobs)
	o, err := w.applyStep(o, lease, w.next(o, 4), func(int, *store.Snapshot) (*store.Changes, job.Skip) {
		n := w.capped(w.owner, 6)
		return &store.Changes{Next: &n}, ""
	})
	w.ok("OperationApply", err)
	if o.Done != 2 || o.Skipped[job.SkipOverLimit] != 2 {
		w.Errorf("%s, want 2 new jobs and 2 over the limit", showOperation(o))
	}
	if all := w.listJobs(w.owner, job.Query{ListQuery: top}); len(all) != 6 {
		w.Errorf("%d jobs are stored, want 6", len(all))
	}
}

func operationsNumbers(w *world) {
	w.insert(w.labelled("a"), w.labelled("a", "b"), w.labelled("b"), w.oneOff(w.owner, w.ahead()), w.oneOff(w.other, w.ahead()))
	for _, q := range []job.Query{
		{}, {Tags: []string{"a"}}, {Tags: []string{"a", "b"}}, {States: []job.State{job.Available}}, {States: []job.State{job.Discarded}},
		{Host: "example.com"}, {Until: w.past()},
	} {
		var want, got []int64
		q.Limit = 100
		for _, j := range w.listJobs(w.owner, q) {
			want = append(want, j.Number)
		}
		q.Limit = 2
		for {
			numbers, next, err := w.s.JobNumbers(w.ctx, w.owner, q, 100)
			w.ok("JobNumbers", err)
			got = append(got, numbers...)
			if q.After = next; next == 0 || len(got) > 10 {
				break
			}
		}
		w.same("the numbers", fmt.Sprint(got), fmt.Sprint(want))
	}
	_, _, err := w.s.JobNumbers(w.ctx, w.owner, job.Query{ListQuery: job.ListQuery{Limit: 1, Offset: 1}}, 100)
	if !errors.Is(err, job.ErrUnsupported) {
		w.Errorf("with an offset: %v", err)
	}
}

func operationsErrorKinds(w *world) {
	jobs := w.pending(5, w.past())
	event := func(j *job.Job, name, text string, minutes int) {
		l := w.log(j, name, w.past().Add(time.Duration(minutes)*time.Minute))
		l.Payload = rawjson.Value(text)
		w.change(j, func(*store.Snapshot) *store.Changes { return &store.Changes{Logs: []job.Log{l}} })
	}
	failure := func(kind string) string { return `{"kind":"` + kind + `","message":"it failed","duration_ms":1}` }
	event(jobs[0], job.EventError, failure("dns"), 1)
	event(jobs[0], job.EventError, failure("timeout"), 2)
	event(jobs[0], job.EventRequest, payload, 3)
	event(jobs[1], job.EventError, failure("tls"), 1)
	event(jobs[1], job.EventResponse, `{"status":500}`, 2)
	event(jobs[1], job.EventWebhookFailed, failure("connect"), 3)
	event(jobs[2], job.EventError, failure("tls"), 1)
	w.settle(jobs[2], w.completes)
	event(jobs[4], job.EventRequest, payload, 1)
	kinds, err := w.s.JobErrorKinds(w.ctx, w.owner, found(jobs))
	w.ok("JobErrorKinds", err)
	w.same("the kinds", fmt.Sprint(kinds), fmt.Sprint(map[int64]string{jobs[0].Number: "timeout", jobs[1].Number: "status"}))
	event(jobs[3], job.EventResponse, `{"status":503,"body":"`+strings.Repeat("é", 300)+
		`","duration_ms":4,"truncated":false,"attempt":3,"retry_at":null}`, 1)
	failures, err := w.s.JobFailures(w.ctx, w.owner, []int64{jobs[0].Number, jobs[1].Number, jobs[3].Number, jobs[4].Number})
	w.ok("JobFailures", err)
	want := map[int64]job.LastFailure{
		jobs[0].Number: {Cause: "timeout", Message: "it failed"}, jobs[1].Number: {Cause: "500"},
		jobs[3].Number: {Cause: "503", Message: "the target responded with 503, which is no success", Attempt: 3},
	}
	w.same("the failures", fmt.Sprint(failures), fmt.Sprint(want))
	if failures, err := w.s.JobFailures(w.ctx, w.other, found(jobs)); err != nil || len(failures) != 0 {
		w.Errorf("another's jobs have the failures %v, %v", failures, err)
	}
	if failures, err := w.s.JobFailures(w.ctx, w.owner, nil); err != nil || len(failures) != 0 {
		w.Errorf("no jobs have the failures %v, %v", failures, err)
	}
	if kinds, err := w.s.JobErrorKinds(w.ctx, w.other, found(jobs)); err != nil || len(kinds) != 0 {
		w.Errorf("another's jobs have the kinds %v, %v", kinds, err)
	}
}

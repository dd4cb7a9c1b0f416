package storetest

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/fault"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/test/pace"
)

var listTests = group{
	"EmptyStore":                listsEmptyStore,
	"OfOthers":                  listsOfOthers,
	"WalkByCursor":              listsWalkByCursor,
	"WalkWhileGrowing":          listsWalkWhileGrowing,
	"JobsEqualModel":            listsJobsEqualModel,
	"SchedulesEqualModel":       listsSchedulesEqualModel,
	"LogsEqualModel":            listsLogsEqualModel,
	"LogsWalkedAsModel":         walksLogsAsModel,
	"ListedAsRead":              listsAsRead,
	"ScheduleFilterIsTheOwners": listsScheduleFilterIsTheOwners,
}

// read returns what a call reads. A slow machine repeats reads that exceed the time limit
// of the store.
func read[T any](w *world, what string, call func() (T, error)) T {
	w.Helper()
	for began := time.Now(); ; {
		found, err := call()
		var slow *fault.Error
		if errors.As(err, &slow) && slow.Reason == fault.SlowRead(nil).Reason && time.Since(began) < pace.Guard(0) {
			continue
		}
		w.ok(what, err)
		return found
	}
}

func (w *world) listJobs(owner job.Owner, q job.Query) []*job.Job {
	w.Helper()
	return read(w, "JobList", func() ([]*job.Job, error) { return w.s.JobList(w.ctx, owner, q) })
}

func (w *world) listSchedules(owner job.Owner, q job.ListQuery) []*job.Schedule {
	w.Helper()
	return read(w, "ScheduleList", func() ([]*job.Schedule, error) {
		return w.s.ScheduleList(w.ctx, owner, job.ScheduleQuery{ListQuery: q})
	})
}

func (w *world) listLogs(owner job.Owner, q job.LogQuery) []*job.Log {
	w.Helper()
	return read(w, "LogList", func() ([]*job.Log, error) { return w.s.LogList(w.ctx, owner, q) })
}

var top = job.ListQuery{Limit: 100}

func listsEmptyStore(w *world) {
	if n := len(w.listJobs(w.owner, job.Query{ListQuery: top})); n != 0 {
		w.Errorf("%d jobs in an empty store", n)
	}
	if n := len(w.listSchedules(w.owner, top)); n != 0 {
		w.Errorf("%d schedules in an empty store", n)
	}
	if n := len(w.listLogs(w.owner, job.LogQuery{ListQuery: top})); n != 0 {
		w.Errorf("%d logs in an empty store", n)
	}
	if refs := w.peek(); len(refs) != 0 {
		w.Errorf("%d items in an empty store", len(refs))
	}
}

func listsOfOthers(w *world) {
	stored := w.insertOne(w.recurring(w.owner, w.past()))
	w.begin(stored)
	if jobs := w.listJobs(w.other, job.Query{ListQuery: top}); len(jobs) != 0 {
		w.Errorf("another's list has %s", showJob(jobs[0]))
	}
	if list := w.listSchedules(w.other, top); len(list) != 0 {
		w.Errorf("another's list has %s", showSchedule(list[0]))
	}
	for _, id := range []*job.Ref{nil, {Number: stored.Number}, {UUID: stored.ID}} {
		if logs := w.listLogs(w.other, job.LogQuery{ListQuery: top, Job: id}); len(logs) != 0 {
			w.Errorf("another's list has %s", showLog(logs[0]))
		}
	}
}

// listsScheduleFilterIsTheOwners: the ID of another owner's schedule selects
// nothing.
func listsScheduleFilterIsTheOwners(w *world) {
	stored := w.insertOne(w.recurring(w.owner, w.past()))
	if jobs := w.listJobs(w.other, job.Query{ListQuery: top, Schedule: stored.ScheduleID}); len(jobs) != 0 {
		w.Errorf("another's list has %s", showJob(jobs[0]))
	}
	if jobs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: stored.ScheduleID}); len(jobs) != 1 {
		w.Errorf("%d jobs of the schedule, want 1", len(jobs))
	}
	if jobs := w.listJobs(w.owner, job.Query{ListQuery: top, Schedule: uuid.New()}); len(jobs) != 0 {
		w.Errorf("%d jobs of no schedule", len(jobs))
	}
}

// listsAsRead: a list returns the same records as single reads.
func listsAsRead(w *world) {
	w.populate(40)
	for _, j := range w.listJobs(w.owner, job.Query{ListQuery: top}) {
		w.same("a listed job", showJob(j), showJob(w.get(j)))
	}
	for _, s := range w.listSchedules(w.owner, top) {
		w.same("a listed schedule", showSchedule(s), showSchedule(w.schedule(w.owner, s.ID)))
	}
	for _, l := range w.listLogs(w.owner, job.LogQuery{ListQuery: top}) {
		got, err := w.s.LogGet(w.ctx, w.owner, l.ID)
		w.ok("LogGet", err)
		w.same("a listed log", showLog(l), showLog(got))
	}
}

func listsWalkByCursor(w *world) {
	w.populate(100)
	for _, states := range [][]job.State{nil, {job.Available, job.Retryable}, {job.Executing}, {job.Completed},
		{job.Available, job.Executing, job.Cancelled}} {
		all := w.listJobs(w.owner, job.Query{ListQuery: job.ListQuery{Limit: 1000}, States: states})
		var walked []*job.Job
		for q := (job.Query{ListQuery: job.ListQuery{Limit: 3}, States: states}); ; {
			page := w.listJobs(w.owner, q)
			walked = append(walked, page...)
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1].Number
		}
		w.same("the walk", numbers(walked), numbers(all))
	}
}

// listsWalkWhileGrowing: records created between pages cause neither gaps nor
// repeats.
func listsWalkWhileGrowing(w *world) {
	var want []*job.Job
	for range 20 {
		want = append([]*job.Job{w.insertOne(w.oneOff(w.owner, w.ahead()))}, want...)
	}
	var walked []*job.Job
	for q := (job.Query{ListQuery: job.ListQuery{Limit: 3}}); ; {
		page := w.listJobs(w.owner, q)
		walked = append(walked, page...)
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1].Number
		w.insert(w.oneOff(w.owner, w.past()), w.oneOff(w.owner, w.ahead()))
	}
	w.same("the walk", numbers(walked), numbers(want))
}

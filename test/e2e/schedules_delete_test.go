package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestScheduleDelete_RunUnderWayFinishesAndIsTheLast(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, target, release := underWay(t, a.Client, `1`, `{"$set":{"a":1}}`)
	a.Do("DELETE", schedulePath(job), nil).Want(204)
	a.Get(schedulePath(job)).WantProblem(404)
	wantSame(t, "the run under way", a.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"executing"`)
	release()
	done := awaitState(t, a.Client, job, "completed")
	wantTimes(t, done, "attempted_at", "completed_at")
	wantEvents(t, logsOf(a.Client, job), "http.request", "http.response")
	if hit := target.Hits()[0]; hit.Aborted {
		t.Error("the request was aborted")
	}
	if !target.Quiet(1500 * time.Millisecond) {
		t.Error("a deleted schedule went on")
	}
	if runs := runsOf(t, a.Client, job.Get("schedule_id").Str()); len(runs) != 1 {
		t.Errorf("want one job: %s", runs)
	}
}

func TestScheduleDelete_CancelsThePendingJobAndKeepsJobsAndLogs(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"repeat_every":[1,"day"],"url":"`+target.URL+`"}`)
	awaitState(t, a.Client, first, "completed")
	schedule := first.Get("schedule_id").Str()
	pending := unfinished(a.Client, schedule)
	if len(pending) != 1 {
		t.Fatalf("want the next run stored: %s", pending)
	}
	path := "/api/schedules/" + schedule
	a.Do("DELETE", path, nil).Want(204)
	a.Get(path).WantProblem(404)
	a.Post(path+"/enable", nil).WantProblem(404)
	a.Do("DELETE", path, nil).WantProblem(404)
	wantSame(t, "the list", a.Get("/api/schedules").Want(200).Data(), "[]")
	wantSame(t, "the pending job", a.Get(jobPath(pending[0])).Want(200).Data().Get("job.state"), `"cancelled"`)
	wantSame(t, "a job's schedule_id", a.Get(jobPath(first)).Want(200).Data().Get("schedule_id"), quote(schedule))
	if logs := a.Get("/api/logs?job_id=" + first.Get("id").Str()).Want(200).Data().Items(); len(logs) != 2 {
		t.Errorf("want the two logs of the run: %s", logs)
	}
}

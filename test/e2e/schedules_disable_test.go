package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// underWay starts a schedule and returns its first job while that job's request
// is under way, and the function that releases the response.
func underWay(t *testing.T, c *harness.Client, every, answer string) (job harness.JSON, target *harness.Route, release func()) {
	t.Helper()
	target = harness.SharedTarget(t).Route(t)
	release = target.Hold(harness.JSONReply(answer))
	job = create(c, `{"method":"post","body":{},"repeat_every":`+every+`,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	return job, target, release
}

func TestScheduleDisable_RunUnderWayKeepsItsSetButNotItsResponse(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, target, release := underWay(t, a.Client, `1`, `{"$set":{"kept":1},"answer":1}`)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	release()
	awaitState(t, a.Client, job, "completed")
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Fatalf("a next run was stored: %s", left)
	}
	target.Respond(harness.JSONReply(`{}`))
	a.Post(schedulePath(job)+"/enable", nil).Want(200)
	hit := target.Await(t, 2, soon)[1]
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	wantSame(t, "$state", hit.JSON().Member("$state"), `{"kept":1}`)
	wantSame(t, "$previous", hit.JSON().Member("$previous"), `{}`)
}

func TestScheduleDisable_EnablingDuringARunCreatesTheNextAfterIt(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, target, release := underWay(t, a.Client, `1`, `{"$set":{"kept":1},"answer":1}`)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	wantSame(t, "disabled_at", a.Post(schedulePath(job)+"/enable", nil).Want(200).Data().Get("disabled_at"), "null")
	left := unfinished(a.Client, job.Get("schedule_id").Str())
	if len(left) != 1 || left[0].Get("id").Str() != job.Get("id").Str() {
		t.Fatalf("want the run under way to count as the unfinished one: %s", left)
	}
	target.Respond(harness.JSONReply(`{"answer":2}`))
	release()
	awaitState(t, a.Client, job, "completed")
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 1 {
		t.Errorf("want the next run stored: %s", left)
	}
	hits := target.Await(t, 3, soon)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	wantSame(t, "$state", hits[1].JSON().Member("$state"), `{"kept":1}`)
	wantSame(t, "$previous after the run that was under way", hits[1].JSON().Member("$previous"), `{}`)
	wantSame(t, "$previous after a run begun since", hits[2].JSON().Member("$previous"), `{"answer":2}`)
	if due := ticks(t, job, hits); due[0] != 0 || due[1] < 1 { // points that pass before it is enabled have no run
		t.Errorf("runs were due %v s after the first", due)
	}
	wantFollowing(t, a.Client, job, hits[1:])
}

func TestScheduleDisable_FailedRunUnderWayIsTheLast(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, how := range []string{"disable", "delete"} {
		target := harness.SharedTarget(t).Route(t)
		release := target.Hold(harness.Status(500))
		job := create(a.Client, `{"retries":0,"repeat_every":1,"url":"`+target.URL+`"}`)
		target.Await(t, 1, soon)
		stopSchedule(a.Client, job, how)
		release()
		awaitState(t, a.Client, job, "discarded")
		if runs := runsOf(t, a.Client, job.Get("schedule_id").Str()); len(runs) != 1 {
			t.Errorf("%s: want one job: %s", how, runs)
		}
	}
}

func TestScheduleDisable_StopsRunsAndEnableKeepsTheGrid(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	target.AwaitEnds(t, 2, soon)
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	harness.Eventually(t, soon, "the run under way to end",
		func() bool { return len(unfinished(a.Client, first.Get("schedule_id").Str())) == 0 })
	before := len(target.Hits())
	if !target.Quiet(2500 * time.Millisecond) {
		t.Error("a disabled schedule ran")
	}
	enabled := time.Now()
	a.Post(schedulePath(first)+"/enable", nil).Want(200)
	answered := time.Now()
	hits := target.Await(t, before+2, soon)[before:]
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	due := scheduledAt(t, hits[0])
	wantBetween(t, "the first due time from now on", due, enabled, time.Now().Add(time.Second))
	if due.Sub(answered) > 1100*time.Millisecond {
		t.Errorf("enabled before %s, the next run was due %s: not the first grid point", answered, due)
	}
	wantFollowing(t, a.Client, first, hits)
	if ticks := ticks(t, first, hits)[0]; ticks != float64(int(ticks)) {
		t.Errorf("off the grid by %v s", ticks)
	}
}

func TestScheduleDisable_CancelsThePendingJobAndKeepsItsFirstTimestamp(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, path := recurring(a.Client, `"scheduled_at":"`+far+`","repeat_every":60`)
	first := a.Post(path+"/disable", nil).Want(200).Data()
	wantMatch(t, "disabled_at", first.Get("disabled_at"), zonedPattern)
	wantSame(t, "the job", a.Get(jobPath(job)).Want(200).Data().Get("job.state"), `"cancelled"`)
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Errorf("a disabled schedule has unfinished jobs: %s", left)
	}
	at, err := time.Parse(time.RFC3339, first.Get("disabled_at").Str())
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, soon, "the next second", func() bool { return time.Since(at) > 1100*time.Millisecond })
	wantSame(t, "a second call", a.Post(path+"/disable", nil).Want(200).Data(), first.Raw())
	wantSame(t, "read", a.Get(path).Want(200).Data(), first.Raw())
}

func TestScheduleDisable_RunUnderWayFinishesAndIsTheLast(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(200))
	job := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	a.Post("/api/schedules/"+job.Get("schedule_id").Str()+"/disable", nil).Want(200)
	wantSame(t, "the run under way", a.Get(jobPath(job)).Data().Get("job.state"), `"executing"`)
	release()
	awaitState(t, a.Client, job, "completed")
	if left := unfinished(a.Client, job.Get("schedule_id").Str()); len(left) != 0 {
		t.Errorf("a next run was stored: %s", left)
	}
}

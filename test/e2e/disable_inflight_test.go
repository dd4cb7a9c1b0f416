package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// underWay starts a schedule and gives its first job while the request of that
// is under way, and what answers it.
func underWay(t *testing.T, c *harness.Client, every, answer string) (job harness.JSON, target *harness.Route, release func()) {
	t.Helper()
	target = harness.SharedTarget(t).Route(t)
	release = target.Hold(harness.JSONReply(answer))
	job = create(c, `{"method":"post","body":{},"repeat_every":`+every+`,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	return job, target, release
}

func TestARunUnderWayOfADisabledScheduleKeepsItsSetAndNotItsAnswer(t *testing.T) {
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

func TestEnabledAgainWhileARunIsUnderWayTheNextFollowsIt(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, target, release := underWay(t, a.Client, `2`, `{"$set":{"kept":1},"answer":1}`)
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
	wantTicks(t, job, hits, 0, ticks(t, job, hits)[1], ticks(t, job, hits)[1]+2)
}

func TestARunUnderWayOfADeletedScheduleFinishesAndNothingFollows(t *testing.T) {
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

func TestAFailedRunUnderWayOfAStoppedScheduleIsNotFollowed(t *testing.T) {
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

func TestDisabledSchedulesDoNotRunAndEnabledOnesGoOnTheirGrid(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	first := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`"}`)
	target.AwaitEnds(t, 2, soon)
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	before := len(target.AwaitEnds(t, len(target.Hits()), soon))
	if !target.Quiet(2500 * time.Millisecond) {
		t.Error("a disabled schedule ran")
	}
	enabled := time.Now()
	a.Post(schedulePath(first)+"/enable", nil).Want(200)
	hits := target.Await(t, before+2, soon)[before:]
	a.Post(schedulePath(first)+"/disable", nil).Want(200)
	due := scheduledAt(t, hits[0])
	wantBetween(t, "the first due time from now on", due, enabled, time.Now().Add(time.Second))
	if due.Sub(enabled) > 1100*time.Millisecond {
		t.Errorf("enabled at %s, the next run was due %s: not the first grid point", enabled, due)
	}
	wantTicks(t, first, hits, ticks(t, first, hits)[0], ticks(t, first, hits)[0]+1)
	if ticks := ticks(t, first, hits)[0]; ticks != float64(int(ticks)) {
		t.Errorf("off the grid by %v s", ticks)
	}
}

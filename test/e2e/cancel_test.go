package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// cancel cancels a job and gives the record that was answered.
func cancel(c *harness.Client, job harness.JSON) harness.JSON {
	return c.Post(jobPath(job)+"/cancel", nil).Want(200).Data()
}

// wantTimes wants exactly these timestamps of a job to be set.
func wantTimes(t *testing.T, job harness.JSON, set ...string) {
	t.Helper()
	is := map[string]bool{}
	for _, name := range set {
		is[name] = true
	}
	for _, name := range []string{"attempted_at", "cancelled_at", "completed_at", "discarded_at"} {
		if got := job.Get("job." + name).Str(); (got != "") != is[name] {
			t.Errorf("%s of a %s job is %q", name, job.Get("job.state").Str(), got)
		}
	}
}

func TestCancellingAnAvailableJobLeavesNoTraceOfAnAttempt(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := cancel(a.Client, create(a.Client, waiting))
	wantSame(t, "state", job.Get("job.state"), `"cancelled"`)
	wantTimes(t, job, "cancelled_at")
	wantEvents(t, logsOf(a.Client, job))
}

func TestCancellingARetryableJobEndsItsRetries(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	job := awaitState(t, a.Client, create(a.Client, `{"url":"`+target.URL+`"}`), "retryable")
	wantTimes(t, job, "attempted_at")
	cancelled := cancel(a.Client, job)
	wantTimes(t, cancelled, "attempted_at", "cancelled_at")
	wantSame(t, "attempted_at stays", cancelled.Get("job.attempted_at"), job.Get("job.attempted_at").Raw())
	if !target.Quiet(12 * time.Second) {
		t.Error("a cancelled job was tried again")
	}
	wantSame(t, "read later", a.Get(jobPath(job)).Want(200).Data(), cancelled.Raw())
	wantEvents(t, logsOf(a.Client, job), "http.request", "http.response")
}

func TestCancellingAnExecutingJobAbortsTheRequestAndLogsIt(t *testing.T) {
	t.Parallel()
	a := account(t)
	for name, handler := range map[string]http.Handler{
		"before the answer": harness.Hang(), "within the answer": harness.HangInBody(200, "half"),
	} {
		t.Run(name, func(t *testing.T) {
			c := a.For(t)
			target := harness.SharedTarget(t).Route(t).Respond(handler)
			job := create(c, `{"timeout":900,"url":"`+target.URL+`"}`)
			target.Await(t, 1, soon)
			cancelled := cancel(c, job)
			wantTimes(t, cancelled, "attempted_at", "cancelled_at")
			if hit := target.AwaitEnds(t, 1, soon)[0]; !hit.Aborted {
				t.Error("the request was not aborted")
			}
			logs := logsOf(c, job)
			wantEvents(t, logs, "http.request", "http.error")
			wantSame(t, "kind", logs[1].Get("payload.kind"), `"cancelled"`)
			wantSame(t, "retry_at", logs[1].Get("payload.retry_at"), "null")
			wantSame(t, "read later", c.Get(jobPath(job)).Want(200).Data(), cancelled.Raw())
			if !target.Quiet(time.Second) {
				t.Error("a cancelled job was tried again")
			}
		})
	}
}

func TestCancellingAnExecutingRunStoresTheNext(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Hang())
	job := create(a.Client, `{"repeat_every":1,"timeout":900,"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	cancel(a.Client, job)
	target.Await(t, 2, soon)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	runs := runsOf(t, a.Client, job.Get("schedule_id").Str())
	wantSame(t, "the first", runs[0].Get("job.state"), `"cancelled"`)
	harness.Eventually(t, soon, "the second run to end and none to follow", func() bool {
		return len(unfinished(a.Client, job.Get("schedule_id").Str())) == 0
	})
}

func TestCancelledJobsGiveTheirSlotsBack(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Flag("concurrency", "1"))
	c := s.Public(t)
	target := harness.SharedTarget(t).Route(t)
	target.RespondOnce(harness.Hang(), harness.Hang(), harness.Hang())
	for range 3 {
		n := len(target.Hits())
		job := create(c, `{"timeout":900,"url":"`+target.URL+`"}`)
		target.Await(t, n+1, soon)
		cancel(c, job)
	}
	finished(t, c, `{"url":"`+target.URL+`"}`, "completed")
}

func TestSkippingARunStoresTheNextAtOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"schedule_in":1.5,"repeat_every":1,"url":"`+target.URL+`"}`)
	cancel(a.Client, job)
	hit := target.Await(t, 1, soon)[0]
	if want := instant(t, job.Get("job.scheduled_at")).Add(time.Second); !scheduledAt(t, hit).Equal(want) {
		t.Errorf("after a skipped run the one due %s was made, want %s", scheduledAt(t, hit), want)
	}
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
}

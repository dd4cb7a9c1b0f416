package e2e

import (
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestState_NewJobIsAvailableHoweverFarAhead(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, timing := range []string{`"schedule_in":1`, `"schedule_in":[3652,"days"]`, `"scheduled_at":"2001-01-01"`, ``} {
		wantSame(t, timing, create(a.Client, with(idle, timing)).Get("job.state"), `"available"`)
	}
	wantSame(t, "read later", a.Get(jobPath(create(a.Client, waiting))).Data().Get("job.state"), `"available"`)
}

func TestState_JobGoesThroughExecutingToCompleted(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(204))
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	executing := awaitState(t, a.Client, job, "executing")
	wantMatch(t, "attempted_at", executing.Get("job.attempted_at"), microsPattern)
	wantSame(t, "completed_at", executing.Get("job.completed_at"), "null")
	logs := a.Get("/api/logs?job_id=" + job.Get("job_id").Raw()).Want(200).Data()
	wantSame(t, "events while under way", harness.JSON("["+logs.Get("0.event").Raw()+"]"), `["worker.http.request"]`)
	release()
	done := awaitState(t, a.Client, job, "completed")
	wantSame(t, "attempted_at stays", done.Get("job.attempted_at"), executing.Get("job.attempted_at").Raw())
	wantSame(t, "scheduled_at stays", done.Get("job.scheduled_at"), job.Get("job.scheduled_at").Raw())
}

func TestState_JobIsRetryableWithItsDueTimeAfterAFailedAttempt(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(503))
	job := create(a.Client, `{"backoff":[3600],"url":"`+target.URL+`"}`)
	retryable := awaitState(t, a.Client, job, "retryable")
	wantSame(t, "scheduled_at stays", retryable.Get("job.scheduled_at"), job.Get("job.scheduled_at").Raw())
	wantMatch(t, "attempted_at", retryable.Get("job.attempted_at"), microsPattern)
	cancelled := a.Post(jobPath(job)+"/cancel", nil).Want(200).Data()
	wantSame(t, "state", cancelled.Get("job.state"), `"cancelled"`)
}

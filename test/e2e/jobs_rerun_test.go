package e2e

import (
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestRerun_SendsTheSameRequestOnceAsANewJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","method":"POST","body":{"n":1.10},"query":{"a":1},"scheduled_at":"`+far+
		`","cron":"0 9 * * *","timezone":"Europe/Berlin","idempotency_key":"k","name":"n","description":"d","retries":0}`)
	answer := a.Post(jobPath(job)+"/rerun", nil).Want(201)
	again := answer.Data()
	if got := answer.Header.Get("Location"); got != jobPath(again) || got == jobPath(job) {
		t.Errorf("Location is %s", got)
	}
	wantSame(t, "schedule_id", again.Get("schedule_id"), "null")
	wantSame(t, "key", again.Get("idempotency_key"), "null")
	wantSame(t, "name", again.Get("name"), `"n"`)
	wantSame(t, "description", again.Get("description"), `"d"`)
	wantSame(t, "args", again.Get("args"), `{"url":"`+target.URL+`","method":"post","body":{"n":1.10},"query":{"a":1},"retries":0,"headers":{}}`)
	awaitState(t, a.Client, again, "completed")
	wantSame(t, "the first job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
	a.Post(jobPath(again)+"/rerun", nil).Want(201)
}

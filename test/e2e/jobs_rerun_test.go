package e2e

import (
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestRerun_AndEnableNeedTheLimitsAndSecretsThatAreNamed deletes a limit and a secret
// that no unfinished job names.
func TestRerun_AndEnableNeedTheLimitsAndSecretsThatAreNamed(t *testing.T) {
	t.Parallel()
	_, a := sealedService(t)
	const url = "https://127.0.0.1:1/"
	a.Do("PUT", "/api/limits/one", `{"parallel":1}`).Want(201)
	putSecret(a.Client, "key", "s3cret-value").Want(201)
	job := create(a.Client, sending(url, "{{secret.key}}", `"limits":["one"],"scheduled_at":"`+far+`"`))
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
	run := create(a.Client, sending(url, "{{secret.key}}", `"limits":["one"],"scheduled_at":"`+far+`","repeat_every":60`))
	schedule := schedulePath(run)
	a.Post(schedule+"/disable", nil).Want(200)
	a.Do("DELETE", "/api/limits/one", nil).Want(204)
	a.Do("DELETE", "/api/secrets/key", nil).Want(204)

	for _, path := range []string{jobPath(job) + "/rerun", schedule + "/enable", schedule + "/run"} {
		a.Post(path, nil).WantProblem(422).WantPointers("#/headers/X-Key", "#/limits/0")
	}
	a.Post(jobPath(job)+"/rerun", `{"limits":null,"description":"d"}`).WantProblem(422).WantPointers("#/headers/X-Key")
	a.Post(jobPath(job)+"/rerun", `{"limits":null,"headers":null,"scheduled_at":"`+far+`"}`).Want(201)
	operation := a.Post("/api/operations", `{"action":"rerun","filter":{"state":"cancelled","host":"127.0.0.1"},"set":{"retries":1}}`).Want(
		202).Data()
	harness.Eventually(t, soon, "the operation to finish", func() bool {
		operation = a.Get("/api/operations/" + operation.Get("id").Str()).Want(200).Data()
		return operation.Get("state").Str() == "finished"
	})
	if operation.Get("done").Int() != 0 || operation.Get("skipped.invalid").Int() == 0 {
		t.Errorf("the operation has reruns: %s", operation.Raw())
	}
	a.Do("PUT", "/api/limits/one", `{"parallel":1}`).Want(201)
	putSecret(a.Client, "key", "s3cret-value").Want(201)
	a.Post(jobPath(job)+"/rerun", `{"scheduled_at":"`+far+`"}`).Want(201)
	a.Post(schedule+"/enable", nil).Want(200)
	a.Post(schedule+"/enable", nil).Want(200)
}

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
	wantSame(t, "args", again.Get("args"), `{"url":"`+target.URL+
		`","method":"post","body":{"n":1.10},"query":{"a":1},"retries":0,"headers":{}}`)
	awaitState(t, a.Client, again, "completed")
	wantSame(t, "the first job", a.Get(jobPath(job)).Want(200).Data(), job.Raw())
	a.Post(jobPath(again)+"/rerun", nil).Want(201)
}

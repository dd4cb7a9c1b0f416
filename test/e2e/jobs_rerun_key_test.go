package e2e

import (
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func idempotencyKey(key string) harness.RequestOption { return harness.Header("Idempotency-Key", key) }

func TestRerunKey_ReturnsTheSameJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"url":"`+target.URL+`","idempotency_key":"own"}`)
	awaitState(t, a.Client, job, "completed")
	first := a.Post(jobPath(job)+"/rerun", nil, idempotencyKey("again")).Want(201).Data()
	wantSame(t, "the key", first.Get("idempotency_key"), `"again"`)
	first = awaitState(t, a.Client, first, "completed")
	// Final, and named in other ways.
	for _, path := range []string{jobPath(job), "/api/jobs/" + job.Get("id").Str()} {
		wantDuplicate(t, a.Post(path+"/rerun", nil, idempotencyKey(`"again"`)), first)
	}
	wantDuplicate(t, a.Post(jobPath(job)+"/rerun", `{}`, idempotencyKey("again")), first)
	if reruns := a.Get(jobPath(job) + "/details").Want(200).Data().Get("reruns").Raw(); reruns != "["+first.Get("job_id").Raw()+"]" {
		t.Errorf("reruns %s", reruns)
	}
	second := a.Post(jobPath(job)+"/rerun", nil, idempotencyKey("other")).Want(201).Data()
	if second.Get("id").Str() == first.Get("id").Str() {
		t.Error("another key returned the same job")
	}
	if n := len(target.Hits()); n > 3 {
		t.Errorf("%d requests were sent", n)
	}
	a.Post(jobPath(job)+"/rerun", nil, idempotencyKey(strings.Repeat("k", 256))).WantProblem(422).WantPointers("#/idempotency_key")
	a.Post(jobPath(job)+"/rerun", nil, idempotencyKey(`""`)).WantProblem(422).WantPointers("#/idempotency_key")
}

// TestKeyRequest_AnotherRequestIsRefused: a key in the header belongs to one path and
// body.
func TestKeyRequest_AnotherRequestIsRefused(t *testing.T) {
	t.Parallel()
	a := account(t)
	job, another := create(a.Client, waiting), create(a.Client, waiting)
	again := a.Post(jobPath(job)+"/rerun", `{"scheduled_at":"`+far+`"}`, idempotencyKey("r")).Want(201).Data()
	refused := func(path string, body any, key string) {
		t.Helper()
		detail := a.Post(path, body, idempotencyKey(key)).WantProblem(422).JSON.Get("detail").Str()
		if !strings.Contains(detail, "Idempotency-Key") {
			t.Errorf("POST %s: %s", path, detail)
		}
	}
	refused(jobPath(job)+"/rerun", nil, "r")
	refused(jobPath(job)+"/rerun", `{"scheduled_at":"`+far+`","name":"n"}`, "r")
	refused(jobPath(another)+"/rerun", `{"scheduled_at":"`+far+`"}`, "r")
	refused("/api/jobs", waiting, "r")
	wantDuplicate(t, a.Post(jobPath(job)+"/rerun", `{"scheduled_at":"`+far+`"}`, idempotencyKey("r")), again)

	created := a.Post("/api/jobs", waiting, idempotencyKey("c")).Want(201).Data()
	refused("/api/jobs", with(waiting, `"name":"n"`), "c")
	refused(jobPath(job)+"/rerun", nil, "c")
	wantDuplicate(t, a.Post("/api/jobs", waiting, idempotencyKey("c")), created)
	wantDuplicate(t, a.Post("/api/jobs", with(keyed("c"), `"name":"n"`)), created) // the key in the body is no request of its own
	create(a.Client, keyed("b"))
	refused(jobPath(job)+"/rerun", nil, "b") // the holder is no rerun
	a.Post("/api/jobs", with(waiting, `"on_conflict":"replace","name":"n"`), idempotencyKey("c")).Want(200)

	body := with(waiting, `"repeat_every":3600`)
	run := a.Post("/api/jobs", body, idempotencyKey("s")).Want(201).Data()
	a.Post(jobPath(run)+"/cancel", nil).Want(200)
	a.Post("/api/jobs", body, idempotencyKey("s")).Want(200)
	refused("/api/jobs", with(body, `"name":"n"`), "s")

	other := account(t)
	other.Post("/api/jobs", with(waiting, `"name":"n"`), idempotencyKey("c")).Want(201)
}

func TestRerunKey_ManyAtOnceCreateOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	job := create(a.Client, waiting)
	answers := make([]*harness.Answer, 12)
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() {
			answers[i] = a.Post(jobPath(job)+"/rerun", `{"scheduled_at":"`+far+`"}`, idempotencyKey("k"))
		})
	}
	wg.Wait()
	created, ids := 0, map[string]bool{}
	for _, answer := range answers {
		if answer.Status == 201 {
			created++
		} else {
			answer.Want(200)
		}
		if conflict := answer.Data().Get("job.has_confict").Raw(); (conflict == "true") != (answer.Status == 200) {
			t.Errorf("status %d with has_confict %s", answer.Status, conflict)
		}
		ids[answer.Data().Get("id").Str()] = true
	}
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d calls created a job, %d jobs were returned", created, len(ids))
	}
	if n := len(everyRecord(t, a.Client, "/api/jobs")); n != 2 {
		t.Errorf("the account has %d jobs, want 2", n)
	}
}

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// keyed is a waiting job with an idempotency key.
func keyed(key string) string { return with(waiting, `"idempotency_key":`+quote(key)) }

// wantDuplicate fails the test unless the response is that to a duplicate: the
// first job's record, with its conflict shown in this response only.
func wantDuplicate(t *testing.T, answer *harness.Answer, first harness.JSON) {
	t.Helper()
	answer.Want(200)
	got := answer.Data()
	want := strings.Replace(first.Raw(), `"has_confict":false`, `"has_confict":true`, 1)
	wantSame(t, "the duplicate", got, want)
}

func TestIdempotency_DuplicateReturns200WithTheFirstJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	first := create(a.Client, keyed("k"))
	wantDuplicate(t, a.Post("/api/jobs", keyed("k")), first)
	wantDuplicate(t, a.Post("/api/jobs", `{"url":"https://example.com/other","method":"put","idempotency_key":"k"}`), first)
	wantSame(t, "read afterwards", a.Get(jobPath(first)).Want(200).Data(), first.Raw())
	wantSame(t, "the list", a.Get("/api/jobs").Want(200).JSON, `{"data":[`+first.Raw()+`]}`)
	create(a.Client, keyed("K")) // keys are told apart by case
	a.Post("/api/jobs", `{"url":"http://example.com","idempotency_key":"k"}`).WantPointers("#/url")
}

func TestIdempotency_IsPerAccount(t *testing.T) {
	t.Parallel()
	s := harness.Shared(t)
	one, two := s.Account(t), s.Account(t)
	first := create(one.Client, keyed("shared"))
	second := create(two.Client, keyed("shared"))
	if first.Get("id").Str() == second.Get("id").Str() {
		t.Error("two accounts got one job")
	}
	wantDuplicate(t, two.Post("/api/jobs", keyed("shared")), second)
}

func TestIdempotency_SimultaneousCreatesStoreExactlyOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	for round := range 3 {
		body := keyed(fmt.Sprintf("key %d", round))
		if round == 2 {
			body = with(body, `"repeat_every":60`)
		}
		answers := simultaneously(t, 50, func() (*harness.Answer, error) { return a.Try("POST", "/api/jobs", body) })
		created, conflicts, ids := 0, 0, map[string]bool{}
		for _, answer := range answers {
			switch answer.Status {
			case 201:
				created++
			case 200:
				conflicts++
			default:
				t.Errorf("neither 200 nor 201: %s", answer)
			}
			if got := answer.Data().Get("job.has_confict").Raw() == "true"; got != (answer.Status == 200) {
				t.Errorf("has_confict does not agree with the status: %s", answer)
			}
			ids[answer.Data().Get("id").Str()] = true
		}
		if created != 1 || conflicts != 49 || len(ids) != 1 {
			t.Errorf("round %d: %d created, %d duplicates, %d different records", round, created, conflicts, len(ids))
		}
		if rows := a.Get("/api/jobs").Want(200).Data().Items(); len(rows) != round+1 {
			t.Errorf("round %d left %d rows", round, len(rows))
		}
	}
}

// simultaneously makes n calls at once and returns all responses.
func simultaneously(t *testing.T, n int, call func() (*harness.Answer, error)) []*harness.Answer {
	t.Helper()
	start := make(chan struct{})
	results := make(chan *harness.Answer, n)
	var group sync.WaitGroup
	for range n {
		group.Go(func() {
			<-start
			answer, err := call()
			if err != nil {
				t.Error(err)
				return
			}
			results <- answer
		})
	}
	close(start)
	group.Wait()
	close(results)
	var answers []*harness.Answer
	for answer := range results {
		answers = append(answers, answer)
	}
	return answers
}

func TestIdempotency_KeyIsFreeOnceTheJobIsFinal(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	failing := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	cancelled := create(a.Client, keyed("k"))
	a.Post(jobPath(cancelled)+"/cancel", nil).Want(200)
	completed := create(a.Client, `{"idempotency_key":"k","url":"`+target.URL+`"}`)
	awaitState(t, a.Client, completed, "completed")
	discarded := create(a.Client, `{"idempotency_key":"k","retries":0,"url":"`+failing.URL+`"}`)
	awaitState(t, a.Client, discarded, "discarded")
	create(a.Client, keyed("k"))
	if rows := a.Get("/api/jobs?idempotency_key=k").Want(200).Data().Items(); len(rows) != 4 {
		t.Errorf("want four jobs with the key: %s", rows)
	}
}

func TestIdempotency_KeyIsHeldWhileTheJobIsExecutingOrRetryable(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	release := target.Hold(harness.Status(500))
	job := create(a.Client, `{"idempotency_key":"k","backoff":[3600],"url":"`+target.URL+`"}`)
	target.Await(t, 1, soon)
	executing := awaitState(t, a.Client, job, "executing")
	wantDuplicate(t, a.Post("/api/jobs", keyed("k")), executing)
	release()
	retryable := awaitState(t, a.Client, job, "retryable")
	wantDuplicate(t, a.Post("/api/jobs", keyed("k")), retryable)
}

func TestIdempotency_RecurringJobHoldsItsKeyWhileItsScheduleExists(t *testing.T) {
	t.Parallel()
	a := account(t)
	body := with(keyed("k"), `"repeat_every":[1,"day"]`)
	first := create(a.Client, body)
	schedule := "/api/schedules/" + first.Get("schedule_id").Str()
	a.Post(jobPath(first)+"/cancel", nil).Want(200)
	unfinished := a.Get("/api/jobs?state=available").Want(200).Data().Get("0")
	if unfinished.Get("id").Str() == first.Get("id").Str() || !unfinished.Exists() {
		t.Fatalf("cancelling the pending run stored no next one: %s", unfinished.Raw())
	}
	wantSame(t, "the next run's key", unfinished.Get("idempotency_key"), `"k"`)
	wantDuplicate(t, a.Post("/api/jobs", body), unfinished)
	a.Post(schedule+"/disable", nil).Want(200)
	latest := a.Get("/api/jobs/" + unfinished.Get("id").Str()).Want(200).Data()
	wantDuplicate(t, a.Post("/api/jobs", keyed("k")), latest)
	a.Do("DELETE", schedule, nil).Want(204)
	create(a.Client, keyed("k"))
}

func TestIdempotency_HeaderMayCarryTheKey(t *testing.T) {
	t.Parallel()
	a := account(t)
	header := func(value string) harness.RequestOption { return harness.Header("Idempotency-Key", value) }
	first := a.Post("/api/jobs", waiting, header("8e03-978e")).Want(201).Data()
	wantSame(t, "idempotency_key", first.Get("idempotency_key"), `"8e03-978e"`)
	wantDuplicate(t, a.Post("/api/jobs", waiting, header(`"8e03-978e"`)), first)
	wantDuplicate(t, a.Post("/api/jobs", keyed("8e03-978e")), first)
	wantDuplicate(t, a.Post("/api/jobs", keyed("8e03-978e"), header("8e03-978e")), first)
	wantDuplicate(t, a.Post("/api/jobs", keyed("8e03-978e"), header(`"8e03-978e"`)), first)
	wantDuplicate(t, a.Post("/api/jobs", with(waiting, `"idempotency_key":null`), header("8e03-978e")), first)
	a.Post("/api/jobs", keyed("other"), header("8e03-978e")).WantPointers("#/idempotency_key")
	a.Post("/api/jobs", waiting, header(strings.Repeat("k", 256))).WantPointers("#/idempotency_key")
	a.Post("/api/jobs", waiting, header(`""`)).WantPointers("#/idempotency_key")
	a.Post("/api/jobs", waiting, header(strings.Repeat("k", 255))).Want(201)
	form := a.Post("/api/jobs", "url=https://example.com/hook&scheduled_at="+far,
		harness.ContentType("application/x-www-form-urlencoded"), header("8e03-978e"))
	wantDuplicate(t, form, first)
}

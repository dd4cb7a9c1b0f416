package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// types returns the types of webhook events without their common prefix.
func types(hits []harness.Hit) []string {
	var types []string
	for _, hit := range hits {
		types = append(types, strings.TrimPrefix(hit.JSON().Get("type").Str(), "job."))
	}
	return types
}

func wantTypes(t *testing.T, hits []harness.Hit, want ...string) {
	t.Helper()
	if got := types(hits); !slices.Equal(got, want) {
		t.Errorf("events came as %q, want %q", got, want)
	}
}

// told stores a job with a webhook and returns the n events that arrived.
func told(t *testing.T, c *harness.Client, url, members string, n int) (job harness.JSON, hits []harness.Hit) {
	t.Helper()
	receiver := harness.SharedTarget(t).Route(t)
	job = create(c, with(`{"url":"`+url+`","webhook_url":"`+receiver.URL+`"}`, members))
	hits = receiver.AwaitEnds(t, n, 3*soon)
	if !receiver.Quiet(500 * time.Millisecond) {
		t.Errorf("more than %d events came: %q", n, types(receiver.Hits()))
	}
	for _, hit := range hits {
		wantKeys(t, "a message", hit.JSON(), "type", "timestamp", "data")
		wantMatch(t, "timestamp", hit.JSON().Get("timestamp"), microsPattern)
		wantSame(t, "job", hit.JSON().Get("data.job.id"), job.Get("id").Raw())
		if hit.Method != "POST" || hit.Header.Get("Content-Type") != "application/json" {
			t.Errorf("a message is %s %q", hit.Method, hit.Header)
		}
	}
	return job, hits
}

func TestWebhook_SuccessfulAttemptSendsStartRequestResponseAndFinish(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.JSONReply(`{"n":1.10}`))
	job, hits := told(t, a.Client, target.URL, `"method":"post","body":{"a":1}`, 4)
	wantTypes(t, hits, "started", "request", "response", "finished")
	id := job.Get("job_id").Raw()
	request := `{"a":1,"$job":{"id":` + id + `},"$previous":{},"$state":{}}`
	for i, state := range []string{"executing", "executing", "executing", "completed"} {
		data := hits[i].JSON().Get("data")
		wantSame(t, "state in "+types(hits)[i], data.Get("job.job.state"), quote(state))
		wantSame(t, "attempt", data.Get("attempt"), "1")
		if data.Member("error").Exists() || data.Member("retry_at").Exists() {
			t.Errorf("a success has an error or a retry: %s", data.Raw())
		}
		if i > 0 {
			wantSame(t, "request.body", data.Get("request.body"), request)
			wantSame(t, "request.method", data.Get("request.method"), `"post"`)
		}
		if i > 1 {
			wantSame(t, "response.body", data.Get("response.body"), `{"n":1.10}`)
		}
	}
	final := a.Get(jobPath(job)).Want(200).Data()
	wantSame(t, "the job as it was when it was final", hits[3].JSON().Get("data.job"), final.Raw())
	wantSame(t, "attempted_at as it started", hits[0].JSON().Get("data.job.job.attempted_at"), final.Get("job.attempted_at").Raw())
	seen := map[string]bool{}
	for _, hit := range hits {
		seen[hit.Header.Get("Webhook-Id")] = true
		wantSigned(t, hit, a.Secret)
	}
	if len(seen) != 4 {
		t.Errorf("four messages have %d ids", len(seen))
	}
}

func TestWebhook_FailedAttemptSendsItsErrorAndItsRetry(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500)).Respond(harness.Drop())
	job, hits := told(t, a.Client, target.URL, `"retries":1`, 8)
	wantTypes(t, hits, "started", "request", "response", "error", "started", "request", "error", "finished")
	first, last := hits[3].JSON().Get("data"), hits[6].JSON().Get("data")
	wantSame(t, "kind", first.Get("error.kind"), `"status"`)
	wantSame(t, "state", first.Get("job.job.state"), `"retryable"`)
	wantSame(t, "retry_at", first.Get("retry_at"), logsOf(a.Client, job)[1].Get("payload.retry_at").Raw())
	wantSame(t, "attempt", first.Get("attempt"), "1")
	wantSame(t, "kind", last.Get("error.kind"), `"closed"`)
	wantSame(t, "retry_at of the last", last.Get("retry_at"), "null")
	wantSame(t, "attempt", last.Get("attempt"), "2")
	if last.Member("response").Exists() && !last.Get("response").IsNull() {
		t.Errorf("there was no answer: %s", last.Raw())
	}
	wantSame(t, "state", hits[7].JSON().Get("data.job.job.state"), `"discarded"`)
	wantSame(t, "response.status", hits[2].JSON().Get("data.response.status"), "500")
}

func TestWebhook_CancelledAttemptSendsFinishWithoutError(t *testing.T) {
	t.Parallel()
	a := account(t)
	receiver := harness.SharedTarget(t).Route(t)
	hanging := harness.SharedTarget(t).Route(t).Respond(harness.Hang())
	job := create(a.Client, `{"url":"`+hanging.URL+`","webhook_url":"`+receiver.URL+`"}`)
	hanging.Await(t, 1, soon)
	cancelled := cancel(a.Client, job)
	hits := receiver.Await(t, 3, soon)
	wantTypes(t, hits, "started", "request", "finished")
	wantSame(t, "the job", hits[2].JSON().Get("data.job"), cancelled.Raw())
	if !receiver.Quiet(time.Second) {
		t.Errorf("more came: %q", types(receiver.Hits()))
	}
}

func TestWebhook_JobFinalWithoutAnAttemptSendsOnlyFinish(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, how := range []string{"cancel", "disable", "delete"} {
		receiver := harness.SharedTarget(t).Route(t)
		job := create(a.Client, with(waiting, `"repeat_every":60,"webhook_url":"`+receiver.URL+`"`))
		if how == "cancel" {
			cancel(a.Client, job)
		} else {
			stopSchedule(a.Client, job, how)
		}
		hits := receiver.Await(t, 1, soon)
		wantTypes(t, hits, "finished")
		wantSame(t, how, hits[0].JSON().Get("data.job"), a.Get(jobPath(job)).Want(200).Data().Raw())
		if !receiver.Quiet(300 * time.Millisecond) {
			t.Errorf("%s: more came: %q", how, types(receiver.Hits()))
		}
	}
}

func TestWebhook_EventWaitsForTheResponseToThePreviousOne(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	release := receiver.Hold(harness.Status(204))
	job := create(a.Client, `{"url":"`+target.URL+`","webhook_url":"`+receiver.URL+`"}`)
	receiver.Await(t, 1, soon)
	awaitState(t, a.Client, job, "completed") // a slow receiver delays no job
	if !receiver.Quiet(time.Second) {
		t.Errorf("events overtook one another: %q", types(receiver.Hits()))
	}
	release()
	hits := receiver.AwaitEnds(t, 4, soon)
	wantTypes(t, hits, "started", "request", "response", "finished")
	for i := 1; i < len(hits); i++ {
		if hits[i].At.Before(hits[i-1].End) {
			t.Errorf("%s came before the one before it was answered", types(hits)[i])
		}
	}
}

func TestWebhook_RedeliveryMayComeLaterThanItsSuccessors(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, receiver := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	receiver.RespondOnce(harness.Status(200), harness.Redirect(302, target.URL+"/followed"))
	create(a.Client, `{"url":"`+target.URL+`","webhook_url":"`+receiver.URL+`"}`)
	hits := receiver.Await(t, 5, 2*soon)
	wantTypes(t, hits, "started", "request", "response", "finished", "request")
	if wait := hits[3].At.Sub(hits[1].At); wait > harness.Allowed(3*time.Second, hits[1].At) {
		t.Errorf("the events after a failed one came %s later", wait)
	}
	if wait := hits[4].At.Sub(hits[1].End); wait < 4900*time.Millisecond || wait > harness.Allowed(7*time.Second, hits[1].End) {
		t.Errorf("tried again after %s, want 5 s", wait)
	}
	if hits[4].Header.Get("Webhook-Id") != hits[1].Header.Get("Webhook-Id") || string(hits[4].Body) != string(hits[1].Body) {
		t.Error("the redelivery is another message")
	}
	if len(target.Hits()) != 1 {
		t.Error("a redirect of a receiver was followed")
	}
}

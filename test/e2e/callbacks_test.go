package e2e

import (
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// called stores a job with a callback and returns its final record and the
// callback's request.
func called(t *testing.T, c *harness.Client, url, members, state string) (job harness.JSON, callback harness.Hit) {
	t.Helper()
	receiver := harness.SharedTarget(t).Route(t)
	job = create(c, with(`{"url":"`+url+`","callback_url":"`+receiver.URL+`"}`, members))
	callback = receiver.Await(t, 1, 3*soon)[0]
	job = awaitState(t, c, job, state)
	if callback.Method != "POST" || callback.Header.Get("Content-Type") != "application/json" || callback.BodyErr != nil {
		t.Errorf("the callback is %s %q", callback.Method, callback.Header)
	}
	wantKeys(t, "the callback", callback.JSON(), "job", "attempt", "request", "response", "error")
	wantSame(t, "job", callback.JSON().Get("job"), job.Raw())
	if !receiver.Quiet(700 * time.Millisecond) {
		t.Error("a second callback came")
	}
	return job, callback
}

func TestCallback_OfACompletedJobCarriesRequestAndResponse(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(201, "application/json", `{"n":1.10}`, "X-One", "1"))
	job, callback := called(t, a.Client, target.URL,
		`"method":"put","query":{"id":"$job.id"},"headers":{"x-mine":"1"},"body":{"a":1}`, "completed")
	body, id := callback.JSON(), job.Get("job_id").Raw()
	wantSame(t, "attempt", body.Get("attempt"), "1")
	wantSame(t, "error", body.Get("error"), "null")
	request := body.Get("request")
	for key, want := range map[string]string{
		"method": `"put"`, "url": quote(target.URL), "query": `{"id":` + id + `}`, "headers": `{"x-mine":"1"}`,
		"body": `{"a":1,"$job":{"id":` + id + `},"$previous":{},"$state":{}}`,
	} {
		wantSame(t, key, request.Get(key), want)
	}
	if got := len(request.Keys()); got != 5 {
		t.Errorf("request has %d keys: %s", got, request.Raw())
	}
	response := body.Get("response")
	wantKeys(t, "response", response, "status", "headers", "body", "duration_ms", "truncated")
	wantSame(t, "response", response, logsOf(a.Client, job)[1].Get("payload").Raw())
}

func TestCallback_OfAResponseOtherThan2xxHasErrorKindStatus(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(404, "text/plain", "gone"))
	_, callback := called(t, a.Client, target.URL, `"retries":0`, "discarded")
	wantSame(t, "status", callback.JSON().Get("response.status"), "404")
	wantSame(t, "body", callback.JSON().Get("response.body"), `"gone"`)
	wantKeys(t, "error", callback.JSON().Get("error"), "kind", "message")
	wantSame(t, "kind", callback.JSON().Get("error.kind"), `"status"`)
}

func TestCallback_WithoutAResponseOmitsIt(t *testing.T) {
	t.Parallel()
	a := account(t)
	_, callback := called(t, a.Client, "https://127.0.0.1:1/", `"retries":0`, "discarded")
	wantSame(t, "response", callback.JSON().Get("response"), "null")
	wantKeys(t, "error", callback.JSON().Get("error"), "kind", "message")
	wantSame(t, "kind", callback.JSON().Get("error.kind"), `"connect"`)
	wantSame(t, "request.body", callback.JSON().Get("request.body"), "null")
}

func TestCallback_IsSentOnceAfterTheLastAttempt(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	_, callback := called(t, a.Client, target.URL, `"retries":1`, "completed")
	wantSame(t, "attempt", callback.JSON().Get("attempt"), "2")
	if got := target.Hits()[1].End; callback.At.Before(got) {
		t.Errorf("called back at %s, before the attempt ended at %s", callback.At, got)
	}
}

func TestCallback_IsSentForEachRunOfASchedule(t *testing.T) {
	t.Parallel()
	a := account(t)
	receiver, target := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	job := create(a.Client, `{"repeat_every":1,"url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`)
	hits := receiver.Await(t, 3, soon)
	a.Post(schedulePath(job)+"/disable", nil).Want(200)
	seen := map[int64]bool{}
	for _, hit := range hits {
		seen[hit.JSON().Get("job.job_id").Int()] = true
	}
	if len(seen) != len(hits) {
		t.Errorf("%d callbacks tell of %d runs", len(hits), len(seen))
	}
}

func TestCallback_IsNotSentForACancelledJob(t *testing.T) {
	t.Parallel()
	a := account(t)
	receiver := harness.SharedTarget(t).Route(t)
	hanging := harness.SharedTarget(t).Route(t).Respond(harness.Hang())
	cancel(a.Client, create(a.Client, with(waiting, `"callback_url":"`+receiver.URL+`"`)))
	job := create(a.Client, `{"url":"`+hanging.URL+`","callback_url":"`+receiver.URL+`"}`)
	hanging.Await(t, 1, soon)
	cancel(a.Client, job)
	if !receiver.Quiet(1500 * time.Millisecond) {
		t.Errorf("a cancelled job called back: %s", receiver.Hits()[0].Body)
	}
}

// TestCallback_IsRetriedAfter5SecondsWithTheSameID tests this for callbacks
// only: webhooks are delivered by the same engine.
func TestCallback_IsRetriedAfter5SecondsWithTheSameID(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t)
	elsewhere := harness.SharedTarget(t).Route(t)
	for name, handler := range map[string]func(*harness.Route){
		"status 500":  func(r *harness.Route) { r.RespondOnce(harness.Status(500)) },
		"a redirect":  func(r *harness.Route) { r.RespondOnce(harness.Redirect(307, elsewhere.URL)) },
		"no answer":   func(r *harness.Route) { r.RespondOnce(harness.Drop()) },
		"retry-after": func(r *harness.Route) { r.RespondOnce(harness.Reply(503, "", "", "Retry-After", "1")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			receiver := harness.SharedTarget(t).Route(t)
			if name == "no answer" {
				// On a connection that was used before, the request would be sent again at once.
				receiver = harness.NewHTTP1Target(t).Route(t)
			}
			handler(receiver)
			create(a.For(t), `{"url":"`+target.URL+`","callback_url":"`+receiver.URL+`"}`)
			hits := receiver.AwaitEnds(t, 2, 2*soon)
			if wait := hits[1].At.Sub(hits[0].End); wait < 4900*time.Millisecond || wait > harness.Allowed(7*time.Second, hits[0].End) {
				t.Errorf("tried again after %s, want 5 s", wait)
			}
			if id := hits[0].Header.Get("Webhook-Id"); id == "" || id != hits[1].Header.Get("Webhook-Id") {
				t.Errorf("the ids are %q and %q", id, hits[1].Header.Get("Webhook-Id"))
			}
			if string(hits[0].Body) != string(hits[1].Body) {
				t.Error("the second try says something else")
			}
			wantSigned(t, hits[1], a.Secret)
			if !receiver.Quiet(time.Second) {
				t.Error("a delivered message was sent again")
			}
		})
	}
	t.Cleanup(func() {
		if len(elsewhere.Hits()) > 0 {
			t.Error("a redirect of a receiver was followed")
		}
	})
}

package e2e

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestWebhookPayload_LargeOnesArriveComplete tests that what is stored with
// logs only is inserted when an event is sent, at each attempt.
func TestWebhookPayload_LargeOnesArriveComplete(t *testing.T) {
	t.Parallel()
	a := account(t)
	large := strings.Repeat("0123456789abcdef", 4000)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(200, "application/json", `{"r":"`+large+`"}`))
	hooks := harness.SharedTarget(t).Route(t)
	back := harness.SharedTarget(t).Route(t).RespondOnce(harness.Status(500))
	job := create(a.Client, `{"method":"post","url":"`+target.URL+`","body":{"q":"`+large+`"},"callback_url":"`+back.URL+
		`","webhook_url":"`+hooks.URL+`"}`)
	job = awaitState(t, a.Client, job, "completed")
	logs := logsOf(a.Client, job)
	request, response := logs[0].Get("payload"), logs[1].Get("payload")
	for _, hit := range append(hooks.Await(t, 4, 3*soon), back.Await(t, 2, 12*soon)...) {
		body, what := hit.JSON(), hit.JSON().Get("type").Raw()
		if body.Get("data").Exists() {
			body = body.Get("data")
		}
		wantSame(t, what+" args", body.Get("job.args"), job.Get("args").Raw())
		if what != `"job.started"` {
			for _, key := range []string{"body", "headers", "query", "url"} {
				wantSame(t, what+" request."+key, body.Get("request."+key), request.Get(key).Raw())
			}
			wantKeys(t, what+" request", body.Get("request"), "method", "body", "headers", "query", "url")
		}
		if what != `"job.started"` && what != `"job.request"` {
			wantSame(t, what+" response", body.Get("response"), response.Raw())
		}
	}
	tries := back.Hits()
	if string(tries[0].Body) != string(tries[1].Body) || tries[0].Header.Get("webhook-id") != tries[1].Header.Get("webhook-id") {
		t.Error("the second try of the callback differs from the first")
	}
}

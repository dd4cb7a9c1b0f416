package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestOutcome_SuccessListDecidesWhichResponsesSucceed(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	receiver := harness.SharedTarget(t).Route(t)
	for _, x := range []struct {
		success string
		status  int
		want    string
	}{
		{`[200,"3xx",404]`, 404, "completed"},
		{`[200,"3xx",404]`, 304, "completed"},
		{`[200,"3xx",404]`, 201, "discarded"},
		{`["2xx",404]`, 410, "discarded"},
	} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.Status(x.status))
		body := `{"url":"` + target.URL + `","retries":0,"success":` + x.success + `,"callback_url":"` + receiver.URL + `"}`
		job, payload := finished(t, c, body, x.want)
		wantSame(t, "args.success", job.Get("args.success"), x.success)
		failed := []string{"attempt", "retry_at"}
		if x.want == "completed" {
			failed = nil
		}
		wantKeys(t, "the response's log", payload, append([]string{"status", "headers", "body", "duration_ms", "truncated"}, failed...)...)
	}
	for _, hit := range receiver.Await(t, 4, 3*soon) {
		callback := hit.JSON()
		if completed := callback.Get("job.job.state").Str() == "completed"; callback.Get("error").IsNull() != completed {
			t.Errorf("the callback of a %s job has the error %s", callback.Get("job.job.state"), callback.Get("error"))
		}
	}
}

func TestOutcome_NoRetryEndsTheJobAtOnce(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	route := func(r http.Handler) string { return harness.SharedTarget(t).Route(t).Respond(r).URL }
	for name, x := range map[string]struct{ url, noRetry, want string }{
		"a class":        {route(harness.Status(404)), `["4xx",501]`, "discarded"},
		"a status":       {route(harness.Status(501)), `["4xx",501]`, "discarded"},
		"another status": {route(harness.Status(500)), `["4xx",501]`, "retryable"},
		"an error kind":  {"https://127.0.0.1:1/", `["tls","connect"]`, "discarded"},
		"another kind":   {"https://127.0.0.1:1/", `["tls"]`, "retryable"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.For(t)
			job, payload := finished(t, c, `{"url":"`+x.url+`","no_retry":`+x.noRetry+`}`, x.want)
			if last := payload.Get("retry_at").IsNull(); last != (x.want == "discarded") {
				t.Errorf("retry_at is %s", payload.Get("retry_at"))
			}
			c.Post("/api/jobs/"+job.Get("job_id").Raw()+"/cancel", nil).Want(200)
		})
	}
}

func TestOutcome_BackoffReplacesTheWaits(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	create(c, `{"url":"`+target.URL+`","retries":2,"backoff":[1]}`)
	hits := target.Await(t, 3, 5*time.Second)
	for i := range 2 {
		if wait := hits[i+1].At.Sub(hits[i].At); wait < time.Second || wait > 1100*time.Millisecond+harness.Allowed(soon, hits[i].At) {
			t.Errorf("retry %d came after %v, want 1 to 1.1 s", i+1, wait)
		}
	}
}

func TestOutcome_OptionsAreReadFromForms(t *testing.T) {
	t.Parallel()
	c := account(t).Client
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(404))
	form := "url=" + target.URL + "&success[]=404&success[]=5xx&no_retry[]=4xx&no_retry[]=tls&backoff[]=10&backoff[]=1.5"
	job := c.Post("/api/jobs", form, harness.ContentType("application/x-www-form-urlencoded")).Want(201).Data()
	wantSame(t, "success", job.Get("args.success"), `[404,"5xx"]`)
	wantSame(t, "no_retry", job.Get("args.no_retry"), `["4xx","tls"]`)
	wantSame(t, "backoff", job.Get("args.backoff"), `[10,1.5]`)
}

package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

func TestAttempt_SucceedsOnAny2xx(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, status := range []int{200, 201, 202, 203, 204, 205, 206, 226, 299} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.Status(status))
		_, payload := finished(t, a.Client, `{"retries":0,"url":"`+target.URL+`"}`, "completed")
		wantSame(t, "status", payload.Get("status"), fmt.Sprint(status))
		wantKeys(t, "the log of a success", payload, "status", "headers", "body", "duration_ms", "truncated")
	}
}

func TestAttempt_FailsOnAnyOtherFinalStatus(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, status := range []int{300, 304, 400, 401, 404, 408, 410, 429, 500, 502, 503, 504, 599} {
		target := harness.SharedTarget(t).Route(t).Respond(harness.Status(status))
		job, payload := finished(t, a.Client, `{"retries":0,"url":"`+target.URL+`"}`, "discarded")
		wantEvents(t, logsOf(a.Client, job), "http.request", "http.response")
		wantSame(t, "status", payload.Get("status"), fmt.Sprint(status))
		wantSame(t, "attempt", payload.Get("attempt"), "1")
		wantSame(t, "retry_at of the last attempt", payload.Get("retry_at"), "null")
	}
}

func TestAttempt_IsRetriedAfter10SecondsUpToRetriesTimes(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	job := create(a.Client, `{"retries":1,"method":"post","body":{"a":1},"url":"`+target.URL+`"}`)
	first := awaitLogs(t, a.Client, job, 2, soon)[1]
	retryAt := instant(t, first.Get("payload.retry_at"))
	wait := retryAt.Sub(instant(t, first.Get("inserted_at")))
	if wait < 10*time.Second || wait > 11*time.Second {
		t.Errorf("tried again %s after the failure, want 10 s and up to a tenth more", wait)
	}
	hits := target.Await(t, 2, 2*soon)
	done := awaitState(t, a.Client, job, "discarded")
	for i, hit := range hits {
		if got := hit.Header.Get("X-Punctual-Attempt"); got != fmt.Sprint(i+1) {
			t.Errorf("attempt %d says it is %q", i+1, got)
		}
		if got, due := hit.Header.Get("X-Punctual-Scheduled-At"), job.Get("job.scheduled_at").Str(); got != due {
			t.Errorf("attempt %d is for %s, want the due time asked for, %s", i+1, got, due)
		}
	}
	if hits[1].At.Before(retryAt) {
		t.Errorf("tried again at %s, before %s", hits[1].At, retryAt)
	}
	if string(hits[0].Body) != string(hits[1].Body) || hits[0].Header.Get("Webhook-Id") != hits[1].Header.Get("Webhook-Id") {
		t.Error("the second attempt sent something else")
	}
	logs := logsOf(a.Client, job)
	wantEvents(t, logs, "http.request", "http.response", "http.request", "http.response")
	wantSame(t, "the second attempt", logs[3].Get("payload.attempt"), "2")
	wantSame(t, "retry_at of the last attempt", logs[3].Get("payload.retry_at"), "null")
	wantBetween(t, "attempted_at", instant(t, done.Get("job.attempted_at")), retryAt, hits[1].At)
	if !target.Quiet(12 * time.Second) {
		t.Error("a discarded job was tried again")
	}
}

func TestAttempt_SecondRetryWaits60Seconds(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Drop())
	job := create(a.Client, `{"url":"`+target.URL+`"}`)
	second := awaitLogs(t, a.Client, job, 4, 2*soon)[3]
	wantWait(t, second, 60*time.Second, 66*time.Second)
	a.Post(jobPath(job)+"/cancel", nil).Want(200)
}

// wantWait fails the test unless the log of a failure announces a retry within
// a span.
func wantWait(t *testing.T, failure harness.JSON, least, most time.Duration) {
	t.Helper()
	wait := instant(t, failure.Get("payload.retry_at")).Sub(instant(t, failure.Get("inserted_at")))
	if wait < least || wait > most+time.Millisecond {
		t.Errorf("waits %s, want %s to %s: %s", wait, least, most, failure.Raw())
	}
}

func TestAttempt_HonoursALongerRetryAfterOn429And503(t *testing.T) {
	t.Parallel()
	a := account(t)
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	tests := []struct {
		status      int
		value       string
		least, most time.Duration
	}{
		{429, "120", 120 * time.Second, 132 * time.Second},
		{503, "120", 120 * time.Second, 132 * time.Second},
		{503, in(time.Hour), 58 * time.Minute, 66 * time.Minute},
		{429, "1", 10 * time.Second, 11 * time.Second},
		{503, in(-time.Hour), 10 * time.Second, 11 * time.Second},
		{503, "in a while", 10 * time.Second, 11 * time.Second},
		{429, "9999999", 24 * time.Hour, 24*time.Hour + 144*time.Minute},
		{500, "120", 10 * time.Second, 11 * time.Second},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, " ", test.value), func(t *testing.T) {
			c := a.For(t)
			target := harness.SharedTarget(t).Route(t).Respond(harness.Reply(test.status, "", "", "Retry-After", test.value))
			job := create(c, `{"url":"`+target.URL+`"}`)
			wantWait(t, awaitLogs(t, c, job, 2, soon)[1], test.least, test.most)
			awaitState(t, c, job, "retryable")
			c.Post(jobPath(job)+"/cancel", nil).Want(200)
		})
	}
}

func TestAttempt_TimeoutCoversTheWholeResponse(t *testing.T) {
	t.Parallel()
	a := account(t)
	for name, handler := range map[string]http.Handler{
		"no answer": harness.Hang(), "half an answer": harness.HangInBody(200, "half"),
	} {
		t.Run(name, func(t *testing.T) {
			c, began := a.For(t), time.Now()
			target := harness.SharedTarget(t).Route(t).Respond(handler)
			job, payload := finished(t, c, `{"timeout":1,"retries":0,"url":"`+target.URL+`"}`, "discarded")
			wantEvents(t, logsOf(c, job), "http.request", "http.error")
			wantSame(t, "kind", payload.Get("kind"), `"timeout"`)
			took := instant(t, job.Get("job.discarded_at")).Sub(instant(t, job.Get("job.attempted_at")))
			if took < 950*time.Millisecond || took > harness.Allowed(4*time.Second, began) {
				t.Errorf("given up after %s, want 1 s", took)
			}
			target.AwaitEnds(t, 1, soon)
		})
	}
}

func TestAttempt_TimeoutIs30SecondsByDefault(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Hang())
	job := create(a.Client, `{"retries":0,"url":"`+target.URL+`"}`)
	payload := awaitLogs(t, a.Client, job, 2, 4*soon)[1].Get("payload")
	wantSame(t, "kind", payload.Get("kind"), `"timeout"`)
	target.AwaitEnds(t, 1, soon)
	ended := awaitState(t, a.Client, job, "discarded")
	began := instant(t, ended.Get("job.attempted_at"))
	if took := instant(t, ended.Get("job.discarded_at")).Sub(began); took < 29*time.Second ||
		took > harness.Allowed(33*time.Second, began) {
		t.Errorf("given up after %s, want 30 s", took)
	}
}

func TestAttempt_SlowResponseWithinTheTimeoutSucceeds(t *testing.T) {
	t.Parallel()
	a := account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Delay(1500*time.Millisecond, harness.Status(200)))
	_, payload := finished(t, a.Client, `{"timeout":300,"retries":0,"url":"`+target.URL+`"}`, "completed")
	if got := payload.Get("duration_ms").Raw(); len(strings.Split(got, ".")[0]) < 4 {
		t.Errorf("duration_ms is %s, want at least some 1500", got)
	}
}

package view

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// logAt returns a log written seconds after noon.
func logAt(seconds int, event, payload string) *job.Log {
	return &job.Log{ID: uuid.New(), Job: 7, Event: event, InsertedAt: noon.Add(time.Duration(seconds) * time.Second),
		Payload: rawjson.Value(payload)}
}

const request = `{"body":{"a":1},"headers":{},"query":{},"url":"https://x"}`

// titles returns the titles of a timeline and the texts below them.
func titles(d *Job) []string {
	var lines []string
	for _, m := range d.timeline(func(string, ...any) string { return "/there" }) {
		lines = append(lines, strings.TrimSpace(m.tone+" "+m.title+": "+m.text))
	}
	return lines
}

func detail(state job.State, logs ...*job.Log) *Job {
	args := rawjson.Value(`{"url":"https://x","retries":2,"method":"post"}`)
	return &Job{
		Job: &job.Job{Number: 7, InsertedAt: noon, ScheduledAt: noon.Add(time.Second), State: state, Args: args}, Spec: job.ReadSpec(args),
		Logs: logs, Attempts: AttemptsOf(logs), Now: noon.Add(time.Hour),
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestTimeline_RetriedJob(t *testing.T) {
	d := detail(job.Retryable,
		logAt(1, job.EventRequest, request), logAt(2, job.EventError,
			`{"kind":"timeout","message":"no answer within 1 s","duration_ms":1000,"attempt":1,"retry_at":"2026-03-01T12:00:12.000000Z"}`),
		logAt(12, job.EventRequest, request), logAt(13, job.EventResponse,
			`{"status":503,"headers":{},"body":"","duration_ms":12.5,"truncated":false,"attempt":2,"retry_at":"2026-03-01T12:01:12.000000Z"}`),
	)
	d.Job.Attempt, d.Job.DueAt = 2, noon.Add(72*time.Second)
	d.Now = noon.Add(20 * time.Second)
	wantLines(t, titles(d),
		"calm Created:", "calm Due:",
		"bad Attempt 1 failed: timeout: Started 0.0 ms after it was due. Took 1.00 s. No answer within 1 s.",
		"bad Attempt 2: response 503: Took 12 ms. The target responded with 503, which is no success.",
		"soon Attempt 3: The last attempt.")
	if got := d.started(); got != 2 {
		t.Errorf("%d attempts started", got)
	}
	if a := d.response(); a == nil || a.Status != 503 || !a.RetryAt.Equal(noon.Add(72*time.Second)) {
		t.Errorf("the last response is %+v", a)
	}
}

func TestTimeline_FinalJob(t *testing.T) {
	d := detail(job.Completed, logAt(1, job.EventRequest, request),
		logAt(2, job.EventResponse, `{"status":200,"headers":{},"body":{"ok":true},"duration_ms":1,"truncated":false}`))
	d.Job.CompletedAt = noon.Add(2 * time.Second)
	d.Spec.CallbackURL, d.Spec.WebhookURL = "https://x/c", "https://x/w"
	d.Deliveries = []*job.Delivery{{Channel: job.Webhook, Event: "job.finished", Attempt: 2, DueAt: noon.Add(2 * time.Hour)},
		{Channel: job.Webhook, Event: "job.error"}}
	wantLines(t, titles(d), "calm Created:", "calm Due:", "good Attempt 1: response 200: Started 0.0 ms after it was due. Took 1.0 ms.",
		"good Completed:",
		"soon Event job.finished: 2 attempts without a 2xx response; retrying.", "soon Event job.error: Waiting for the previous event.",
		"good The callback was delivered:")
}

func TestTimeline_PendingJob(t *testing.T) {
	d := detail(job.Available)
	d.Job.ScheduledAt = noon.Add(2 * time.Hour)
	wantLines(t, titles(d), "calm Created:", "soon Due:")
}

func TestTimeline_InterruptedAttemptsDoNotCount(t *testing.T) {
	d := detail(job.Discarded,
		logAt(1, job.EventRequest, request), logAt(2, job.EventError,
			`{"kind":"interrupted","message":"the service stopped","duration_ms":3,"attempt":1,"retry_at":"2026-03-01T12:00:02.000000Z"}`),
		logAt(3, job.EventRequest, request), logAt(4, job.EventResponse,
			`{"status":500,"headers":{},"body":"","duration_ms":1,"truncated":false,"attempt":1,"retry_at":"2026-03-01T12:00:14.000000Z"}`),
		logAt(14, job.EventRequest, request), logAt(15, job.EventError,
			`{"kind":"blocked","message":"no","duration_ms":0,"attempt":2,"retry_at":null}`),
		logAt(90, job.EventCallbackFailed, `{"url":"https://x/c","attempts":8,"response":null,"error":null}`),
	)
	d.Job.DiscardedAt = noon.Add(15 * time.Second)
	wantLines(t, titles(d), "calm Created:", "calm Due:",
		"warn Attempt 1 was interrupted: Started 0.0 ms after it was due. Took 3.0 ms. The service stopped.",
		"bad Attempt 1: response 500: Took 1.0 ms. The target responded with 500, which is no success.",
		"bad Attempt 2 failed: blocked address: Took 0.0 ms. No.",
		"bad Failed: Jobs may not call this address, so there is no retry.", "bad The callback failed: No 2xx after 8 attempts.")
}

func TestTimeline_RequestTooLarge(t *testing.T) {
	d := detail(job.Discarded,
		logAt(1, job.EventRequest, request), logAt(1, job.EventError,
			`{"kind":"too_large","message":"the body would be too large","duration_ms":0,"attempt":1,"retry_at":null}`))
	d.Job.DiscardedAt = noon.Add(time.Second)
	wantLines(t, titles(d), "calm Created:", "calm Due:",
		"bad Attempt 1 failed: request too large: Started 0.0 ms after it was due. Took 0.0 ms. The body would be too large.",
		"bad Failed: Another attempt would fail in the same way, so there is no retry.")
}

package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// logAt makes a log that came seconds after noon.
func logAt(seconds int, event, payload string) *job.Log {
	return &job.Log{ID: uuid.New(), Job: 7, Event: event, InsertedAt: noon.Add(time.Duration(seconds) * time.Second), Payload: rawjson.Value(payload)}
}

const request = `{"body":{"a":1},"headers":{},"query":{},"url":"https://x"}`

// titles shows a timeline by its titles and what stands below them.
func titles(d *jobDetail) []string {
	var lines []string
	for _, m := range d.timeline(func(string, ...any) string { return "/there" }) {
		lines = append(lines, strings.TrimSpace(m.tone+" "+m.title+": "+m.text))
	}
	return lines
}

func detail(state job.State, logs ...*job.Log) *jobDetail {
	args := rawjson.Value(`{"url":"https://x","retries":2,"method":"post"}`)
	return &jobDetail{
		job: &job.Job{Number: 7, InsertedAt: noon, ScheduledAt: noon.Add(time.Second), State: state, Args: args}, spec: job.ReadSpec(args),
		logs: logs, attempts: attemptsOf(logs), now: noon.Add(time.Hour),
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestTimelineOfARetriedJob(t *testing.T) {
	d := detail(job.Retryable,
		logAt(1, job.EventRequest, request), logAt(2, job.EventError, `{"kind":"timeout","message":"no answer within 1 s","duration_ms":1000,"attempt":1,"retry_at":"2026-03-01T12:00:12.000000Z"}`),
		logAt(12, job.EventRequest, request), logAt(13, job.EventResponse, `{"status":503,"headers":{},"body":"","duration_ms":12.5,"truncated":false,"attempt":2,"retry_at":"2026-03-01T12:01:12.000000Z"}`),
	)
	d.job.Attempt, d.job.DueAt = 2, noon.Add(72*time.Second)
	d.now = noon.Add(20 * time.Second)
	wantLines(t, titles(d),
		"calm Created:", "calm Due:",
		"bad Attempt 1 failed: timeout: Began 0.0 ms after it was due. Took 1.00 s. No answer within 1 s.",
		"bad Attempt 2 was answered with 503: Took 12 ms.",
		"soon Attempt 3: The last one.")
	if got := d.begun(); got != 2 {
		t.Errorf("%d attempts were begun", got)
	}
	if a := d.answer(); a == nil || a.status != 503 || !a.retryAt.Equal(noon.Add(72*time.Second)) {
		t.Errorf("the last answer is %+v", a)
	}
}

func TestTimelineOfAFinalJob(t *testing.T) {
	d := detail(job.Completed, logAt(1, job.EventRequest, request), logAt(2, job.EventResponse, `{"status":200,"headers":{},"body":{"ok":true},"duration_ms":1,"truncated":false}`))
	d.job.CompletedAt = noon.Add(2 * time.Second)
	d.spec.CallbackURL, d.spec.WebhookURL = "https://x/c", "https://x/w"
	d.messages = []*job.Delivery{{Channel: job.Webhook, Event: "job.finished", Attempt: 2, DueAt: noon.Add(2 * time.Hour)}, {Channel: job.Webhook, Event: "job.error"}}
	wantLines(t, titles(d), "calm Created:", "calm Due:", "good Attempt 1 was answered with 200: Began 0.0 ms after it was due. Took 1.0 ms.", "good Completed:",
		"soon Event job.finished: 2 tries without a 2xx; it is tried again.", "soon Event job.error: Waits for the one before it.", "good The callback was delivered:")
}

func TestTimelineOfAJobThatWaits(t *testing.T) {
	d := detail(job.Available)
	d.job.ScheduledAt = noon.Add(2 * time.Hour)
	wantLines(t, titles(d), "calm Created:", "soon Due:")
}

func TestInterruptedAttemptsDoNotCount(t *testing.T) {
	d := detail(job.Discarded,
		logAt(1, job.EventRequest, request), logAt(2, job.EventError, `{"kind":"interrupted","message":"the service stopped","duration_ms":3,"attempt":1,"retry_at":"2026-03-01T12:00:02.000000Z"}`),
		logAt(3, job.EventRequest, request), logAt(4, job.EventResponse, `{"status":500,"headers":{},"body":"","duration_ms":1,"truncated":false,"attempt":1,"retry_at":"2026-03-01T12:00:14.000000Z"}`),
		logAt(14, job.EventRequest, request), logAt(15, job.EventError, `{"kind":"blocked","message":"no","duration_ms":0,"attempt":2,"retry_at":null}`),
		logAt(90, job.EventCallbackFailed, `{"url":"https://x/c","attempts":8,"response":null,"error":null}`),
	)
	d.job.DiscardedAt = noon.Add(15 * time.Second)
	wantLines(t, titles(d), "calm Created:", "calm Due:",
		"warn Attempt 1 was interrupted: Began 0.0 ms after it was due. Took 3.0 ms. The service stopped.",
		"bad Attempt 1 was answered with 500: Took 1.0 ms.", "bad Attempt 2 failed: blocked: Took 0.0 ms. No.",
		"bad Discarded: The address may not be called, so it is not tried again.", "bad The callback was given up: No 2xx after 8 tries.")
}

func TestAnAttemptThatWasTooLarge(t *testing.T) {
	d := detail(job.Discarded,
		logAt(1, job.EventRequest, request), logAt(1, job.EventError, `{"kind":"too_large","message":"the body would be too large","duration_ms":0,"attempt":1,"retry_at":null}`))
	d.job.DiscardedAt = noon.Add(time.Second)
	wantLines(t, titles(d), "calm Created:", "calm Due:", "bad Attempt 1 failed: too_large: Began 0.0 ms after it was due. Took 0.0 ms. The body would be too large.",
		"bad Discarded: Another attempt would fail in the same way, so it is not tried again.")
}

func TestTheRequestAsItWasMade(t *testing.T) {
	d := detail(job.Completed, logAt(1, job.EventRequest, `{"body":{"a":"it's","$job":{"id":7}},"headers":{"X-A":["1","2"]},"query":{"q":"a b"},"url":"https://x/y"}`))
	want := `curl -X POST 'https://x/y?q=a+b' \
  -H 'X-A: 1' \
  -H 'X-A: 2' \
  -H 'content-type: application/json' \
  --data-raw '{"a":"it'\''s","$job":{"id":7}}'`
	curl := func(d *jobDetail) string {
		o, err := d.outgoing()
		if err != nil {
			t.Error(err)
		}
		return requestCurl(o)
	}
	if got := curl(d); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	literal := detail(job.Completed, logAt(1, job.EventRequest, `{"body":"$job","headers":{},"query":{"q":"$state.a"},"url":"https://x/y"}`))
	if got, want := curl(literal), "curl -X POST 'https://x/y?q=%24state.a' \\\n  -H 'content-type: application/json' \\\n  --data-raw '\"$job\"'"; got != want {
		t.Errorf("of texts that only look like dynamic fields: got %s\nwant %s", got, want)
	}
	never := detail(job.Available)
	if got := curl(never); got != `curl -X POST 'https://x'` {
		t.Errorf("of a job that was not attempted: %s", got)
	}
}

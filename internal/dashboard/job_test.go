package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

// requested returns the page of a job that was attempted with a request; "" for
// none.
func requested(request string) *view.Job {
	d := &view.Job{Job: &job.Job{Number: 7}, Spec: job.ReadSpec(rawjson.Value(`{"url":"https://x","retries":2,"method":"post"}`))}
	if request != "" {
		d.Attempts = []view.Attempt{{Number: 1, Request: &job.Log{Event: job.EventRequest, Payload: rawjson.Value(request)}}}
	}
	return d
}

func TestJob_ShowsTheRequestAsSent(t *testing.T) {
	d := requested(`{"body":{"a":"it's","$job":{"id":7}},"headers":{"X-A":["1","2"]},"query":{"q":"a b"},"url":"https://x/y"}`)
	want := `curl -X POST 'https://x/y?q=a+b' \
  -H 'X-A: 1' \
  -H 'X-A: 2' \
  -H 'content-type: application/json' \
  --data-raw '{"a":"it'\''s","$job":{"id":7}}'`
	curl := func(d *view.Job) string {
		o, err := outgoing(d)
		if err != nil {
			t.Error(err)
		}
		return requestCurl(o)
	}
	if got := curl(d); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	literal := requested(`{"body":"$job","headers":{},"query":{"q":"$state.a"},"url":"https://x/y"}`)
	if got, want := curl(literal), "curl -X POST 'https://x/y?q=%24state.a' \\\n  -H 'content-type: application/json' \\\n  --data-raw '\"$job\"'"; got != want {
		t.Errorf("of texts that only look like dynamic fields: got %s\nwant %s", got, want)
	}
	never := requested("")
	if got := curl(never); got != `curl -X POST 'https://x'` {
		t.Errorf("of a job that was not attempted: %s", got)
	}
}

// The page of a job draws its attempts and leads to their comparison. What it draws the
// parts from is not shown where logs are shown as they are in the API.
func TestJob_DrawsAttemptsAndComparesThem(t *testing.T) {
	w := newSite(t, false)
	b := w.citizen()
	ann := w.owner("ann@example.com")
	j := w.create(ann, `{"url":"https://example.com/hook","name":"Twice","retries":1}`)
	at := w.clock()
	log := func(event string, after time.Duration, payload string) job.Log {
		return job.Log{ID: job.NewID(at.Add(after)), Owner: ann, Job: j.Number, Event: event, InsertedAt: at.Add(after),
			Payload: rawjson.Value(payload)}
	}
	sent := `{"body":{"n":%d},"headers":{"x-same":"1"},"query":{},"url":"https://example.com/hook"}`
	logs := []job.Log{
		log(job.EventRequest, 2*time.Millisecond, fmt.Sprintf(sent, 1)),
		log(job.EventResponse, time.Second, `{"status":503,"headers":{},"body":"busy","duration_ms":900,"timings":[0,100,0,0,800,0],"truncated":false,"attempt":1,"retry_at":"`+job.FormatTime(at.Add(2*time.Second))+`"}`),
		log(job.EventRequest, 2*time.Second, fmt.Sprintf(sent, 2)),
		log(job.EventResponse, 3*time.Second, `{"status":200,"headers":{},"body":"fine","duration_ms":450,"timings":[0,0,0,0,450,0],"truncated":false}`),
	}
	_, err := w.s.JobChange(w.Context(), ann, job.Ref{Number: j.Number}, func(m *store.Snapshot) *store.Changes {
		after := *m.Job
		after.Begin(at)
		after.Complete(at.Add(3 * time.Second))
		return &store.Changes{Job: &after, Logs: logs}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.pass(time.Minute)
	page := b.want(b.get(fmt.Sprintf("/jobs/%d", j.Number)), 200, `aria-label="connect 100 ms, wait 800 ms"`)
	for _, says := range []string{
		`<rect class="wait" x="11.11%" width="88.89%" height="10">`, `aria-label="wait 450 ms"`,
		`<rect class="wait" x="0%" width="50%" height="10">`,
		"2 attempts in 2.45 s: Attempt 1: 503; Attempt 2: 200.", "Lateness of 2 attempts: latest on time · median 0.0 ms · worst 2.0 ms.",
		fmt.Sprintf(`href="/jobs/%d/compare?b=2"`, j.Number),
	} {
		b.want(page, 200, says)
	}
	compared := b.want(b.get(fmt.Sprintf("/jobs/%d/compare?b=2", j.Number)), 200, "1 line differs")
	b.want(compared, 200, `<tr class="differs"><td><code>HTTP 503</code></td><td>≠</td><td><code>HTTP 200</code></td></tr>`)
	b.want(compared, 200, `<tr><td><code>x-same: 1</code></td><td></td><td><code>x-same: 1</code></td></tr>`)
	for _, path := range []string{fmt.Sprintf("/jobs/%d/logs/%s", j.Number, logs[1].ID), "/logs/" + logs[1].ID.String(), "/logs/export"} {
		if a := b.want(b.get(path), 200, "duration_ms"); strings.Contains(a.body, "timings") {
			t.Errorf("%s shows the timings", path)
		}
	}
	one := w.create(ann, `{"url":"https://example.com/hook","schedule_in":600}`)
	b.want(b.get(fmt.Sprintf("/jobs/%d/compare", one.Number)), 404, "no two attempts")
	again := w.create(ann, `{"url":"https://example.com/hook"}`)
	b.want(b.post(fmt.Sprintf("/jobs/%d/rerun", again.Number)), 303, fmt.Sprintf("/jobs/%d?done=again", again.Number+1))
	b.want(b.get(fmt.Sprintf("/jobs/%d", again.Number)), 200, "Run again as")
	b.want(b.get(fmt.Sprintf("/jobs/%d", again.Number+1)), 200, "Run again from")
}

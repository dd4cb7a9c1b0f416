package dashboard

import (
	"testing"

	"github.com/punctual-dev/punctual/internal/dashboard/view"
	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
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

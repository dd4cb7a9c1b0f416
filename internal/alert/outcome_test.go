package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
	"github.com/punctual-dev/punctual/internal/store"
)

func TestRecord_DescribesTheLastAttempt(t *testing.T) {
	at := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	name := "nightly"
	discarded := &job.Job{Number: 5, State: job.Discarded, DiscardedAt: at, Name: &name,
		Args: rawjson.Value(`{"url":"https://x/?a=1","tags":["a","b"],"headers":{"k":"hush"},"body":"hush"}`)}
	completed := &job.Job{Number: 6, State: job.Completed, CompletedAt: at, Args: rawjson.Value(`{"url":"https://x/"}`)}
	retryable := &job.Job{Number: 7, State: job.Retryable, Args: rawjson.Value(`{"url":"https://x/"}`)}
	log := func(event, payload string) []job.Log {
		return []job.Log{{Event: "other"}, {Event: event, Payload: rawjson.Value(payload)}}
	}
	long := strings.Repeat("é", 200)
	for what, c := range map[string]struct {
		changes *store.Changes
		want    string
	}{
		"a status": {&store.Changes{Job: discarded,
			Logs: log(job.EventResponse, `{"status":503,"headers":{},"body":"no\n","duration_ms":1,"attempt":1,"retry_at":null}`)},
			`2 5 [a b] {"name":"nightly","status":503,"error":{"kind":"status","message":"the target responded with 503"},"excerpt":"no\n","url":"https://x/?a=1"}`},
		"no response": {&store.Changes{Job: discarded,
			Logs: log(job.EventError, `{"kind":"dns","message":"no such host","duration_ms":1}`)},
			`2 5 [a b] {"name":"nightly","status":null,"error":{"kind":"dns","message":"no such host"},"excerpt":"","url":"https://x/?a=1"}`},
		"$fail": {&store.Changes{Job: discarded, Logs: log(job.EventResponse,
			`{"status":200,"body":{"$fail":"no"},"error":{"kind":"answer","message":"no"}}`)},
			`2 5 [a b] {"name":"nightly","status":200,"error":{"kind":"answer","message":"no"},"excerpt":"{\"$fail\":\"no\"}","url":"https://x/?a=1"}`},
		"a long body": {&store.Changes{Job: completed, Logs: log(job.EventResponse, `{"status":200,"body":"`+long+`"}`)},
			`1 6 [] {"status":200,"error":null,"excerpt":"` + long[:300] + `","url":"https://x/"}`},
		"a binary body": {&store.Changes{Job: completed, Logs: log(job.EventResponse, `{"status":200,"body":"AAA=","encoding":"base64"}`)},
			`1 6 [] {"status":200,"error":null,"excerpt":"","url":"https://x/"}`},
		"no log":  {&store.Changes{Job: completed}, `1 6 [] {"status":null,"error":null,"excerpt":"","url":"https://x/"}`},
		"a retry": {&store.Changes{Job: retryable, Logs: log(job.EventError, `{}`)}, ""},
		"nothing": {&store.Changes{}, ""},
		"points of the next": {&store.Changes{Job: completed, Next: &store.NewJob{Logs: log(job.EventSkipped, `{}`)}},
			`1 6 [] {"status":null,"error":null,"excerpt":"","url":"https://x/"} 3 6 [] {"status":null,"error":null,"excerpt":"","url":"https://x/"}`},
		"points, and a retry": {&store.Changes{Job: retryable, Logs: log(job.EventSkipped, `{}`)},
			`3 7 [] {"status":null,"error":null,"excerpt":"","url":"https://x/"}`},
		"an end": {&store.Changes{Job: discarded, Logs: append(log(job.EventError, `{"kind":"dns","message":"no such host"}`),
			log(job.EventEnded, `{"reason":"failures"}`)...)},
			`2 5 [a b] {"name":"nightly","status":null,"error":{"kind":"dns","message":"no such host"},"excerpt":"","url":"https://x/?a=1"} ` +
				`4 5 [a b] {"name":"nightly","status":null,"error":{"kind":"dns","message":"no such host"},"excerpt":"","url":"https://x/?a=1","reason":"failures"}`},
		"a next without points": {&store.Changes{Job: retryable, Next: &store.NewJob{Logs: log("other", `{}`)}}, ""},
	} {
		var got []string
		Record(c.changes)
		for _, o := range c.changes.Outcomes {
			got = append(got, fmt.Sprintf("%d %d [%s] %s", o.Kind, o.Job, o.Tags, o.Detail))
			if o.Kind != store.AlertSkipped && !o.At.Equal(at) {
				t.Errorf("%s: at %v", what, o.At)
			}
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, c.want)
		}
	}
}

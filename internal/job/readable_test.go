package job_test

import (
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/internal/job"
	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestAppendLog_IsValidWhateverIsStored(t *testing.T) {
	for payload, want := range map[string]string{
		`{"body":{"p":1},"headers":{},"query":,"url":"https://x"}`:                  `{"body":{"p":1},"headers":{},"query":{},"url":"https://x"}`,
		`{"body":",\"query\":,\"url\":","headers":{},"query":{},"url":"https://x"}`: `{"body":",\"query\":,\"url\":","headers":{},"query":{},"url":"https://x"}`,
		`{"body":{"a":1,"a":2}}`: `{"body":{"a":1,"a":2}}`,
		`{"body":`:               `{"unreadable":"{\"body\":"}`,
		``:                       `{"unreadable":""}`,
		"{\"body\":\"\xff\"}":    `{"unreadable":"{\"body\":\"` + "\ufffd" + `\"}"}`,
	} {
		record := rawjson.Value(job.AppendLog(nil, &job.Log{Event: job.EventRequest, Payload: rawjson.Value(payload)}))
		if got := rawjson.Get(record, "payload"); string(got) != want {
			t.Errorf("%q is shown as %s, want %s", payload, got, want)
		}
	}
	large := rawjson.Value(strings.Repeat("\x01", 1<<20))
	if record := job.AppendLog(nil, &job.Log{Event: job.EventRequest, Payload: large}); len(record) > 64<<10 {
		t.Errorf("a damaged payload of 1 MiB is shown in %d bytes", len(record))
	}
}

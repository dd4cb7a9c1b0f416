package job

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/punctual-dev/punctual/internal/rawjson"
)

func TestTimings_AreStoredAndNotShown(t *testing.T) {
	timings := Timings{DNSPhase: 1500 * time.Microsecond, WaitPhase: 2 * time.Second}
	for _, body := range []string{`"x"`, `{"truncated":false,"timings":[9,9,9]}`, `"\",\"timings\":[9],"`,
		`[",\"timings\":[1]",{"a":1,"timings":[7]}]`} {
		r := &Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body)}
		plain := append(AppendResponse([]byte{'{'}, r, time.Second), '}')
		for _, rest := range []string{`}`, `,"error":{"kind":"answer","message":",\"timings\":[5]"},"attempt":1,"retry_at":null}`,
			`,"awaiting":true}`} {
			shown := string(plain[:len(plain)-1]) + rest
			stored := rawjson.Value(string(AppendTimings(plain[:len(plain)-1:len(plain)-1], timings)) + rest)
			if got := ReadTimings(stored); got != timings {
				t.Errorf("%s: read %v", stored, got)
			}
			if got := string(WithoutTimings(EventResponse, stored)); got != shown {
				t.Errorf("shown as %s, want %s", got, shown)
			}
			if log := string(AppendLog(nil, &Log{Event: EventResponse, Payload: stored})); !strings.Contains(log, `"payload":`+shown+`,`) {
				t.Errorf("the log is %s", log)
			}
			// A log without timings is shown as it is, whatever the target has sent.
			if got := string(WithoutTimings(EventResponse, rawjson.Value(shown))); got != shown {
				t.Errorf("without timings: %s, want %s", got, shown)
			}
		}
	}
	request := rawjson.Value(`{"url":"https://example.com/","body":{"duration_ms":1,"timings":[[1],2]}}`)
	if log := string(AppendLog(nil, &Log{Event: EventRequest, Payload: request})); !strings.Contains(log,
		`"payload":`+string(request)+`,`) {
		t.Errorf("the log of a request is %s", log)
	}
	if got := AppendTimings(nil, Timings{}); len(got) != 0 {
		t.Errorf("nothing was measured: %s", got)
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/client"
)

func TestPrintPunctuality(t *testing.T) {
	t.Parallel()
	const report = `{"schedule_id":"s","month":"2026-11","complete":false,"due":7,"made":3,"completed":2,"failed":1,"cancelled":0,"late":1,
		"missed":{"down":4,"overlap":0,"limit":0,"expired":0,"next":1},"late_after_ms":60000,
		"lateness_ms":{"p50":0.93,"p99":2,"p999":15420000,"worst":15431207.52},
		"outages":[{"reason":"service","from":"2026-11-07T02:00:00.000000Z","to":"2026-11-07T06:17:11.207520Z","runs":5}],"outages_omitted":2}`
	var p client.SchedulePunctuality
	if err := json.Unmarshal([]byte(report), &p); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := printPunctuality(&out, terminal{}, &p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no: earlier runs are still being counted", "1 by more than 60 s", "4 down, 1 next",
		"p50 0.93 ms, p99 2 ms, p99.9 15420000 ms", ": service, 5 runs", "and 2 shorter ones"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

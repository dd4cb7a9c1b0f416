package e2e

import (
	"net/http"
	"testing"
)

// Older clients name messages in a JSON body: calls that ignored it would cancel or remove
// all of them. A zone without a name would be UTC.
func TestQStash_RefusesWhatItWouldMisread(t *testing.T) {
	t.Parallel()
	a := account(t)
	later := http.Header{"Upstash-Delay": {"1h"}, "Upstash-Label": {"kept"}}
	kept := qstash(t, a, "POST", "/v2/publish/https://example.com/", "", later).Get("messageId").Str()
	later.Set("Upstash-Label", "other")
	other := qstash(t, a, "POST", "/v2/publish/https://example.com/", "", later).Get("messageId").Str()
	for _, refused := range []string{
		`{"messageIds":[]}`, `{"messageIds":null}`, `{"messageIds":[null]}`, `{"messageIds":[{}]}`, `{"ids":["x"]}`, `["x"]`, `{`,
		`{"messageIds":""}`, `{"label":[""]}`,
	} {
		if status, text := qstashStatus(t, a, "DELETE", "/v2/messages", refused, nil); status != http.StatusBadRequest {
			t.Errorf("a cancel with the body %s: %d %s", refused, status, text)
		}
	}
	for _, refused := range []string{
		"messages?messageIds=", "dlq?messageId=", "workflows/runs?workflowRunId=", "workflows/dlq?messageId=msg_x",
	} {
		if status, text := qstashStatus(t, a, "DELETE", "/v2/"+refused, "", nil); status != http.StatusBadRequest {
			t.Errorf("DELETE %s: %d %s", refused, status, text)
		}
	}
	for _, cron := range []string{"CRON_TZ= 0 9 * * *", "CRON_TZ=Nowhere/Here 0 9 * * *"} {
		header := http.Header{"Upstash-Cron": {cron}}
		if status, text := qstashStatus(t, a, "POST", "/v2/schedules/https://example.com/", "", header); status != http.StatusBadRequest {
			t.Errorf("a schedule by %q: %d %s", cron, status, text)
		}
	}
	wantSame(t, "cancelled by an unknown id", qstash(t, a, "DELETE", "/v2/messages", `{"messageIds":["msg_x"]}`, nil).Get("cancelled"), `0`)
	wantSame(t, "cancelled by id", qstash(t, a, "DELETE", "/v2/messages", `{"messageIds":["`+other+`"]}`, nil).Get("cancelled"), `1`)
	wantSame(t, "cancelled by label", qstash(t, a, "DELETE", "/v2/messages", `{"label":"other","count":5}`, nil).Get("cancelled"), `0`)
	if status, text := qstashStatus(t, a, "DELETE", "/v2/messages/"+kept, "", nil); status != http.StatusOK {
		t.Errorf("the message that no call named: %d %s", status, text)
	}
}

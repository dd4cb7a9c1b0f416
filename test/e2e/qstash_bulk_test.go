package e2e

import (
	"net/http"
	"testing"
)

// Older clients name messages in a JSON body. Calls that ignored it would cancel or remove
// all messages.
func TestQStash_BulkCallsReadTheirBody(t *testing.T) {
	t.Parallel()
	a := account(t)
	later := http.Header{"Upstash-Delay": {"1h"}, "Upstash-Label": {"kept"}}
	kept := qstash(t, a, "POST", "/v2/publish/https://example.com/", "", later).Get("messageId").Str()
	later.Set("Upstash-Label", "other")
	other := qstash(t, a, "POST", "/v2/publish/https://example.com/", "", later).Get("messageId").Str()
	for _, refused := range []string{
		`{"messageIds":[]}`, `{"messageIds":null}`, `{"messageIds":[null]}`, `{"messageIds":[{}]}`, `{"ids":["x"]}`, `["x"]`, `{`,
	} {
		if status, text := qstashStatus(t, a, "DELETE", "/v2/messages", refused, nil); status != http.StatusBadRequest {
			t.Errorf("a cancel with the body %s: %d %s", refused, status, text)
		}
	}
	wantSame(t, "cancelled by an unknown id", qstash(t, a, "DELETE", "/v2/messages", `{"messageIds":["msg_x"]}`, nil).Get("cancelled"), `0`)
	wantSame(t, "cancelled by id", qstash(t, a, "DELETE", "/v2/messages", `{"messageIds":["`+other+`"]}`, nil).Get("cancelled"), `1`)
	wantSame(t, "cancelled by label", qstash(t, a, "DELETE", "/v2/messages", `{"label":"other","count":5}`, nil).Get("cancelled"), `0`)
	if status, text := qstashStatus(t, a, "DELETE", "/v2/messages/"+kept, "", nil); status != http.StatusOK {
		t.Errorf("the message that no call named: %d %s", status, text)
	}
}

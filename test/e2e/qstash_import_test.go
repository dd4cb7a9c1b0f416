package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// TestQStash_ImportTakesOverAnAccount imports one account into another, twice.
func TestQStash_ImportTakesOverAnAccount(t *testing.T) {
	t.Parallel()
	from, to := account(t), account(t)
	qstash(t, from, "POST", "/v2/queues", `{"queueName":"q","parallelism":3,"paused":true}`, nil)
	qstash(t, from, "POST", "/v2/topics/both/endpoints",
		`{"endpoints":[{"name":"a","url":"https://example.com/a"},{"url":"https://example.com/b"}]}`, nil)
	qstashStatus(t, from, "POST", "/v2/flowControl/tenant%2F7/pin?rate=5&period=60", "", nil)
	header := http.Header{
		"Upstash-Cron": {"CRON_TZ=Europe/Berlin 0 4 1 1 *"}, "Upstash-Schedule-Id": {"yearly"}, "Upstash-Method": {"PUT"},
		"Upstash-Retries":  {"1"},
		"Upstash-Callback": {"https://example.com/c"}, "Upstash-Label": {"l,m"}, "Upstash-Forward-X-A": {"b"},
		"Content-Type":             {"text/plain"},
		"Upstash-Flow-Control-Key": {"k"}, "Upstash-Flow-Control-Value": {"rate=5, period=1m, parallelism=2"}, "Upstash-Queue-Name": {"q"},
		"Upstash-Retry-Delay": {"1000 * (1 + retried)"},
	}
	qstash(t, from, "POST", "/v2/schedules/https://example.com/?a=b", "hello\xff", header)
	header.Set("Upstash-Schedule-Id", "paused")
	qstash(t, from, "POST", "/v2/schedules/both", "to all", header)
	qstashStatus(t, from, "PATCH", "/v2/schedules/paused/pause", "", nil)
	header.Set("Upstash-Schedule-Id", "hidden")
	header.Set("Upstash-Redact-Fields", "body")
	qstash(t, from, "POST", "/v2/schedules/https://example.com/", "secret", header)

	url := from.Client.Service.URL()
	run := func(args ...string) harness.Result {
		env := []string{"QSTASH_URL=" + url, "QSTASH_TOKEN=" + from.Key, "PUNCTUAL_URL=" + url, "PUNCTUAL_API_KEY=" + to.Key}
		return harness.Command(t, env, append([]string{"import", "qstash"}, args...)...)
	}
	lists := func(a *harness.Account) (all [3]string) {
		for i, path := range []string{"/v2/schedules", "/v2/queues", "/v2/topics"} {
			all[i] = string(qstash(t, a, "GET", path, "", nil))
		}
		return all
	}
	if r := run("--dry-run"); r.Code != 1 || !strings.Contains(r.Stdout, "would be imported") || lists(to) != [3]string{"[]", "[]", "[]"} {
		t.Errorf("the dry run: status %d\n%s%s%v", r.Code, r.Stdout, r.Stderr, lists(to))
	}
	for range 2 {
		r := run()
		if r.Code != 1 || !strings.Contains(r.Stderr, "schedule hidden: not imported: has a redacted body") ||
			!strings.Contains(r.Stderr, "1 of 6 items could not be imported") {
			t.Errorf("the import: status %d\n%s%s", r.Code, r.Stdout, r.Stderr)
		}
	}
	same := func(what, path string, fields ...string) {
		t.Helper()
		before, after := qstash(t, from, "GET", path, "", nil), qstash(t, to, "GET", path, "", nil)
		for _, field := range fields {
			wantSame(t, what+" "+field, after.Get(field), string(before.Get(field)))
		}
	}
	for _, id := range []string{"yearly", "paused"} {
		same(id, "/v2/schedules/"+id, "scheduleId", "cron", "destination", "method", "header", "retries", "retryDelayExpression",
			"callback", "queueName",
			"flowControlKey", "rate", "period", "parallelism", "labels", "isPaused")
	}
	if runs := to.Client.Get("/api/jobs?state=scheduled").Want(200).Data().Items(); len(runs) != 1 {
		t.Errorf("%d runs are due, want that of the schedule that is not paused", len(runs))
	}
	same("the body", "/v2/schedules/yearly", "bodyBase64")
	same("the body", "/v2/schedules/paused", "body")
	same("the queue", "/v2/queues/q", "name", "parallelism", "paused")
	same("the topic", "/v2/topics/both", "endpoints")
	same("the flow control key", "/v2/flowControl/tenant%2F7", "rateMax", "ratePeriod", "isPinnedRate", "isPinnedParallelism")
	if status, _ := qstashStatus(t, to, "GET", "/v2/schedules/hidden", "", nil); status != 404 {
		t.Errorf("what can't be imported: %d", status)
	}
	for _, wrong := range []string{"QSTASH_TOKEN=" + to.Key, "QSTASH_URL="} {
		env := []string{"QSTASH_URL=" + url, "QSTASH_TOKEN=" + from.Key, "PUNCTUAL_URL=" + url, "PUNCTUAL_API_KEY=" + to.Key, wrong}
		if r := harness.Command(t, env, "import", "qstash"); r.Code != 2 {
			t.Errorf("with %s: status %d %s", wrong, r.Code, r.Stderr)
		}
	}
}

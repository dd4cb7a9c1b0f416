package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/punctual-dev/punctual/test/e2e/harness"
)

// tokenIsSigned verifies the JWT of a request as the receivers of the QStash API do.
func tokenIsSigned(t *testing.T, hit harness.Hit, url, key string) {
	t.Helper()
	parts := strings.Split(hit.Header.Get("Upstash-Signature"), ".")
	if len(parts) != 3 {
		t.Fatalf("the signature is %q", hit.Header.Get("Upstash-Signature"))
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(parts[0] + "." + parts[1]))
	if base64.RawURLEncoding.EncodeToString(mac.Sum(nil)) != parts[2] {
		t.Errorf("the signature is not by the key %s…", key[:8])
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims, sum := harness.JSON(text), sha256.Sum256(hit.Body)
	if claims.Get("iss").Str() != "Upstash" || claims.Get("sub").Str() != url ||
		claims.Get("body").Str() != base64.RawURLEncoding.EncodeToString(sum[:]) {
		t.Errorf("the claims are %s", text)
	}
}

// qstash makes a call of the QStash-compatible API, which the API document does not have.
func qstash(t *testing.T, a *harness.Account, method, path, body string, header http.Header) harness.JSON {
	t.Helper()
	status, text := qstashStatus(t, a, method, path, body, header)
	if status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return harness.JSON(text)
}

func qstashStatus(t *testing.T, a *harness.Account, method, path, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, a.Client.Service.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header.Clone()
	}
	r.Header.Set("Authorization", "Bearer "+a.Key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestQStash_MessageIsSentSignedAndReported(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, callback := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	keys := qstash(t, a, "GET", "/v2/keys", "", nil)
	header := http.Header{
		"Content-Type": {"application/json"}, "Upstash-Forward-X-My": {"v"}, "Upstash-Label": {"one, Two words"},
		"Upstash-Callback":                {callback.URL},
		"Upstash-Callback-Forward-X-Back": {"w"}, "Upstash-Retries": {"0"},
	}
	sent := qstash(t, a, "POST", "/v2/publish/"+target.URL, `{"a": "$job.id"}`, header)
	id := sent.Get("messageId").Str()
	hit := target.Await(t, 1, soon)[0]
	if hit.Method != "POST" || string(hit.Body) != `{"a": "$job.id"}` || hit.Header.Get("X-My") != "v" ||
		hit.Header.Get("Upstash-Message-Id") != id ||
		hit.Header.Get("Upstash-Retried") != "0" || hit.Header.Get("Upstash-Label") != "one,Two words" {
		t.Errorf("sent %s %s %v", hit.Method, hit.Body, hit.Header)
	}
	tokenIsSigned(t, hit, target.URL, keys.Get("current").Str())
	back := callback.Await(t, 1, soon)[0]
	report := harness.JSON(back.Body)
	if report.Get("sourceMessageId").Str() != id || report.Get("status").Raw() != "200" || back.Header.Get("X-Back") != "w" ||
		report.Get("sourceBody").Str() != base64.StdEncoding.EncodeToString([]byte(`{"a": "$job.id"}`)) {
		t.Errorf("the callback is %s", back.Body)
	}
	tokenIsSigned(t, back, callback.URL, keys.Get("current").Str())
	rotated := qstash(t, a, "POST", "/v2/keys/rotate", "", nil)
	if rotated.Get("current").Str() != keys.Get("next").Str() {
		t.Error("the next key did not become the current one")
	}
}

func TestQStash_TopicsSendToTheirEndpoints(t *testing.T) {
	t.Parallel()
	a := account(t)
	one, two := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	endpoints := func(texts ...string) string { return `{"endpoints":[` + strings.Join(texts, ",") + `]}` }
	named := func(name, url string) string { return `{"name":"` + name + `","url":"` + url + `"}` }
	qstash(t, a, "POST", "/v2/topics/both/endpoints", endpoints(named("first", one.URL)), nil)
	qstash(t, a, "POST", "/v2/topics/both/endpoints", endpoints(`{"url":"`+two.URL+`"}`, `{"url":"`+one.URL+`"}`),
		nil) // the second is there
	topic := qstash(t, a, "GET", "/v2/topics/both", "", nil)
	wantSame(t, "the endpoints", topic.Get("endpoints"), `[`+named("first", one.URL)+`,{"url":"`+two.URL+`"}]`)
	if topic.Get("name").Str() != "both" || topic.Get("createdAt").Int() == 0 ||
		topic.Get("updatedAt").Int() < topic.Get("createdAt").Int() {
		t.Errorf("the topic is %s", topic)
	}
	wantSame(t, "the list", qstash(t, a, "GET", "/v2/topics", "", nil), `[`+string(topic)+`]`)

	header := http.Header{"Upstash-Deduplication-Id": {"d"}, "Upstash-Retries": {"0"}}
	sent := qstash(t, a, "POST", "/v2/publish/both", "hello", header).Items()
	if len(sent) != 2 || sent[0].Get("url").Str() != one.URL || sent[1].Get("url").Str() != two.URL ||
		sent[1].Get("messageId").Str() == "" {
		t.Errorf("the messages are %s", sent)
	}
	for _, route := range []*harness.Route{one, two} {
		if hit := route.Await(t, 1, soon)[0]; string(hit.Body) != "hello" || hit.Header.Get("Upstash-Signature") == "" {
			t.Errorf("the request has %q, %v", hit.Body, hit.Header)
		}
	}
	if again := qstash(t, a, "POST", "/v2/publish/both", "hello", header).Items(); len(again) != 2 ||
		string(again[1].Get("deduplicated")) != "true" {
		t.Errorf("the repeat is answered with %s", again)
	}
	message := qstash(t, a, "GET", "/v2/messages/"+sent[0].Get("messageId").Str(), "", nil)
	wantSame(t, "topicName", message.Get("topicName"), `"both"`)

	batch := qstash(t, a, "POST", "/v2/batch", `[{"destination":"both","body":"b"},{"destination":"`+one.URL+
		`","body":"c"},{"destination":"gone"}]`, nil).Items()
	if len(batch) != 3 || len(batch[0].Items()) != 2 || batch[1].Get("messageId").Str() == "" ||
		!strings.Contains(string(batch[2]), "topic gone not found") {
		t.Errorf("the batch is answered with %s", batch)
	}
	schedule := qstash(t, a, "POST", "/v2/schedules/both", "s", http.Header{"Upstash-Cron": {"0 9 * * *"}}).Get("scheduleId").Str()
	wantSame(t, "the destination", qstash(t, a, "GET", "/v2/schedules/"+schedule, "", nil).Get("destination"), `"both"`)
	qstash(t, a, "DELETE", "/v2/schedules/"+schedule, "", nil)

	qstash(t, a, "DELETE", "/v2/topics/both/endpoints", endpoints(`{"name":"first"}`), nil)
	wantSame(t, "the endpoints that remain", qstash(t, a, "GET", "/v2/topics/both", "", nil).Get("endpoints"), `[{"url":"`+two.URL+`"}]`)
	qstash(t, a, "DELETE", "/v2/topics/both/endpoints", endpoints(`{"url":"`+two.URL+`"}`), nil)
	wantSame(t, "the list without topics", qstash(t, a, "GET", "/v2/topics", "", nil), `[]`)
}

func TestQStash_ProvidersAreRefusedByName(t *testing.T) {
	t.Parallel()
	a := account(t)
	for _, path := range []string{"/llm/v1/chat/completions", "/v2/publish/api/llm"} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", a.Client.Service.URL()+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+a.Key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "language models") {
			t.Errorf("%s: %d %s %v", path, response.StatusCode, text, err)
		}
	}
}

// TestQStash_TopicsKeepWhatIsAddedAtOnce adds and removes endpoints in calls at once, with
// the topic coming and going: none is lost.
func TestQStash_TopicsKeepWhatIsAddedAtOnce(t *testing.T) {
	t.Parallel()
	a := account(t)
	const calls = 16
	endpoint := func(i int) string {
		return `{"endpoints":[{"name":"e` + strconv.Itoa(i) + `","url":"https://example.com/` + strconv.Itoa(i) + `"}]}`
	}
	change := func(method string, which func(int) bool) {
		var all sync.WaitGroup
		for i := range calls {
			if which(i) {
				all.Go(func() { qstash(t, a, method, "/v2/topics/shared/endpoints", endpoint(i), nil) })
			}
		}
		all.Wait()
	}
	every, odd := func(int) bool { return true }, func(i int) bool { return i%2 == 1 }
	change("POST", every)
	if got := len(qstash(t, a, "GET", "/v2/topics/shared", "", nil).Get("endpoints").Items()); got != calls {
		t.Errorf("%d of %d endpoints were kept", got, calls)
	}
	change("DELETE", odd)
	if got := len(qstash(t, a, "GET", "/v2/topics/shared", "", nil).Get("endpoints").Items()); got != calls/2 {
		t.Errorf("%d of %d endpoints remain", got, calls/2)
	}
	change("DELETE", func(i int) bool { return !odd(i) })
	wantSame(t, "the topics", qstash(t, a, "GET", "/v2/topics", "", nil), `[]`)
}

// TestQStash_AccountsSeeNothingOfEachOther uses what one account has with the key of
// another.
func TestQStash_AccountsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	a, other := account(t), account(t)
	target := harness.SharedTarget(t).Route(t).Respond(harness.Status(500))
	same := http.Header{"Upstash-Delay": {"1d"}, "Upstash-Deduplication-Id": {"d"}}
	content := http.Header{"Upstash-Delay": {"1d"}, "Upstash-Content-Based-Deduplication": {"true"}}
	ids := map[string]bool{}
	for _, one := range []*harness.Account{a, other} {
		for _, header := range []http.Header{same, content, same, content} {
			ids[qstash(t, one, "POST", "/v2/publish/https://example.com/", "b", header).Get("messageId").Str()] = true
		}
	}
	if len(ids) != 4 {
		t.Errorf("%d messages were stored, want 4: two for each account", len(ids))
	}
	message := qstash(t, a, "POST", "/v2/publish/"+target.URL, "secret", http.Header{"Upstash-Retries": {"0"}}).Get("messageId").Str()
	target.Await(t, 1, soon)
	var dead harness.JSON
	harness.Eventually(t, soon, "dead letter", func() bool {
		dead = qstash(t, a, "GET", "/v2/dlq", "", nil).Get("messages.0")
		return len(dead) > 0
	})
	schedule := qstash(t, a, "POST", "/v2/schedules/https://example.com/", "s",
		http.Header{"Upstash-Cron": {"0 9 * * *"}, "Upstash-Schedule-Id": {"mine"}}).Get("scheduleId").Str()
	qstash(t, a, "POST", "/v2/topics/mine/endpoints", `{"endpoints":[{"url":"https://example.com/"}]}`, nil)
	qstash(t, a, "POST", "/v2/queues", `{"queueName":"mine"}`, nil)
	letter := dead.Get("dlqId").Str()
	for _, call := range [][2]string{
		{"GET", "/v2/messages/" + message}, {"DELETE", "/v2/messages/" + message}, {"GET", "/v2/dlq/" + letter},
		{"DELETE", "/v2/dlq/" + letter},
		{"POST", "/v2/dlq/retry/" + letter}, {"POST", "/v2/dlq/retry?dlqIds=" + letter}, {"GET", "/v2/schedules/" + schedule},
		{"DELETE", "/v2/schedules/" + schedule},
		{"PATCH", "/v2/schedules/" + schedule + "/pause"}, {"GET", "/v2/topics/mine"}, {"DELETE", "/v2/topics/mine"},
		{"POST", "/v2/publish/mine"},
		{"GET", "/v2/queues/mine"}, {"POST", "/v2/queues/mine/pause"}, {"DELETE", "/v2/queues/mine"},
	} {
		if status, text := qstashStatus(t, other, call[0], call[1], "", nil); status != 404 || strings.Contains(text, "secret") {
			t.Errorf("%s %s of another account: %d %s", call[0], call[1], status, text)
		}
	}
	// The cursors of one account lead another only through its own messages.
	page := qstash(t, a, "GET", "/v2/logs?count=1", "", nil)
	events := qstash(t, other, "GET", "/v2/events?cursor="+page.Get("cursor").Str(), "", nil).Get("events").Items()
	if logs := qstash(t, other, "GET", "/v2/logs?cursor="+page.Get("cursor").Str(), "", nil).Get("logs").Items(); len(logs) != len(events) {
		t.Errorf("/v2/logs has %d events, /v2/events %d", len(logs), len(events))
	}
	for _, event := range events {
		if !ids[event.Get("messageId").Str()] || event.Get("body").Str() != base64.StdEncoding.EncodeToString([]byte("b")) {
			t.Errorf("behind the cursor of another account is %s", event)
		}
	}
	wantSame(t, "letters by id", qstash(t, other, "GET", "/v2/dlq?dlqIds="+letter, "", nil).Get("messages"), `[]`)
	wantSame(t, "deleted by id", qstash(t, other, "DELETE", "/v2/dlq?dlqIds="+letter, "", nil).Get("deleted"), `0`)
	if status, text := qstashStatus(t, a, "POST", "/v2/dlq/retry/"+letter, "", nil); status != 201 ||
		harness.JSON(text).Get("messageId").Str() == "" {
		t.Errorf("a retry: %d %s", status, text)
	}
	wantSame(t, "cancelled by id", qstash(t, other, "DELETE", "/v2/messages?messageIds="+message, "", nil).Get("cancelled"), `0`)
	mine, theirs := qstash(t, a, "GET", "/v2/keys", "", nil), qstash(t, other, "GET", "/v2/keys", "", nil)
	qstash(t, other, "POST", "/v2/keys/rotate", "", nil)
	wantSame(t, "the keys after another account rotated its own", qstash(t, a, "GET", "/v2/keys", "", nil), string(mine))
	if mine.Get("current").Str() == theirs.Get("current").Str() || mine.Get("next").Str() == theirs.Get("next").Str() {
		t.Error("two accounts have the same signing keys")
	}
}

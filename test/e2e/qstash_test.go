package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
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
	if claims.Get("iss").Str() != "Upstash" || claims.Get("sub").Str() != url || claims.Get("body").Str() != base64.RawURLEncoding.EncodeToString(sum[:]) {
		t.Errorf("the claims are %s", text)
	}
}

// qstash makes a call of the QStash-compatible API, which the API document does not have.
func qstash(t *testing.T, a *harness.Account, method, path, body string, header http.Header) harness.JSON {
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
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %s %v", method, path, response.StatusCode, text, err)
	}
	return harness.JSON(text)
}

func TestQStash_MessageIsSentSignedAndReported(t *testing.T) {
	t.Parallel()
	a := account(t)
	target, callback := harness.SharedTarget(t).Route(t), harness.SharedTarget(t).Route(t)
	keys := qstash(t, a, "GET", "/v2/keys", "", nil)
	header := http.Header{
		"Content-Type": {"application/json"}, "Upstash-Forward-X-My": {"v"}, "Upstash-Label": {"one, Two words"}, "Upstash-Callback": {callback.URL},
		"Upstash-Callback-Forward-X-Back": {"w"}, "Upstash-Retries": {"0"},
	}
	sent := qstash(t, a, "POST", "/v2/publish/"+target.URL, `{"a": "$job.id"}`, header)
	id := sent.Get("messageId").Str()
	hit := target.Await(t, 1, soon)[0]
	if hit.Method != "POST" || string(hit.Body) != `{"a": "$job.id"}` || hit.Header.Get("X-My") != "v" || hit.Header.Get("Upstash-Message-Id") != id ||
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
	qstash(t, a, "POST", "/v2/topics/both/endpoints", endpoints(`{"url":"`+two.URL+`"}`, `{"url":"`+one.URL+`"}`), nil) // the second is there
	topic := qstash(t, a, "GET", "/v2/topics/both", "", nil)
	wantSame(t, "the endpoints", topic.Get("endpoints"), `[`+named("first", one.URL)+`,{"url":"`+two.URL+`"}]`)
	if topic.Get("name").Str() != "both" || topic.Get("createdAt").Int() == 0 || topic.Get("updatedAt").Int() < topic.Get("createdAt").Int() {
		t.Errorf("the topic is %s", topic)
	}
	wantSame(t, "the list", qstash(t, a, "GET", "/v2/topics", "", nil), `[`+string(topic)+`]`)

	header := http.Header{"Upstash-Deduplication-Id": {"d"}, "Upstash-Retries": {"0"}}
	sent := qstash(t, a, "POST", "/v2/publish/both", "hello", header).Items()
	if len(sent) != 2 || sent[0].Get("url").Str() != one.URL || sent[1].Get("url").Str() != two.URL || sent[1].Get("messageId").Str() == "" {
		t.Errorf("the messages are %s", sent)
	}
	for _, route := range []*harness.Route{one, two} {
		if hit := route.Await(t, 1, soon)[0]; string(hit.Body) != "hello" || hit.Header.Get("Upstash-Signature") == "" {
			t.Errorf("the request has %q, %v", hit.Body, hit.Header)
		}
	}
	if again := qstash(t, a, "POST", "/v2/publish/both", "hello", header).Items(); len(again) != 2 || string(again[1].Get("deduplicated")) != "true" {
		t.Errorf("the repeat is answered with %s", again)
	}
	message := qstash(t, a, "GET", "/v2/messages/"+sent[0].Get("messageId").Str(), "", nil)
	wantSame(t, "topicName", message.Get("topicName"), `"both"`)

	batch := qstash(t, a, "POST", "/v2/batch", `[{"destination":"both","body":"b"},{"destination":"`+one.URL+`","body":"c"},{"destination":"gone"}]`, nil).Items()
	if len(batch) != 3 || len(batch[0].Items()) != 2 || batch[1].Get("messageId").Str() == "" || !strings.Contains(string(batch[2]), "topic gone not found") {
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

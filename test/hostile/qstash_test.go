package hostile

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

const publishPath = "/v2/publish/https://127.0.0.1:1443/"

// publishes returns an attack that publishes messages that are due in a year.
func publishes(name, body string, headers ...string) attack {
	return sends(name, publishPath, body, append([]string{"Upstash-Delay", "365d"}, headers...)...)
}

// forwards returns n headers that are forwarded, each with a value.
func forwards(n int, value string) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("Upstash-Forward-H%d", i), value)
	}
	return all
}

// message returns an item of a batch.
func message(members string) string {
	return `{"destination":"https://127.0.0.1:1443/","headers":{"Upstash-Delay":"365d"` + members + `}}`
}

// numbered returns an attack that makes calls with bodies and headers made from a number.
func numbered(name, method string, path func(n int) string, body string, headers func(n int) []string) attack {
	return attack{name, func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(n int) {
			s.call(method, path(n), key, []byte(body), append([]string{"Upstash-Delay", "365d"}, headers(n)...)...)
		})
	}}
}

func always(path string) func(int) string { return func(int) string { return path } }

// with returns a header whose value is made from a number.
func with(name, format string) func(int) []string {
	return func(n int) []string { return []string{name, fmt.Sprintf(format, n)} }
}

func without(int) []string { return nil }

// qstashAttacks are those through the QStash-compatible API.
var qstashAttacks = []attack{
	publishes("900 headers that are forwarded", "", forwards(900, "v")...),
	publishes("headers of 8 KB that are forwarded", "", forwards(7, fill("\xff", 8*kib))...),
	publishes("a delay of 30 KB", "", "Upstash-Delay", fill("1s", 30*kib)),
	publishes("a retry delay of 30 KB", "", "Upstash-Retry-Delay", fill("1+", 30*kib)+"1"),
	publishes("a retry delay of powers of powers", "", "Upstash-Retry-Delay", fill("pow(9,", 220)+"9"+fill(")", 35)),
	publishes("a retry delay of parentheses", "", "Upstash-Retry-Delay", strings.Repeat("(", 127)+"1"+strings.Repeat(")", 127)),
	publishes("10,000 labels", "", "Upstash-Label", members(6000, "l%d")),
	publishes("3,000 fields that are redacted", "", "Upstash-Redact-Fields", members(2500, "header[h%d]")),
	publishes("bodies of a megabyte by content", fill("b", almost), "Upstash-Content-Based-Deduplication", "true"),
	publishes("a callback of 30 KB", "", "Upstash-Callback", "https://127.0.0.1:1443/"+fill("c", 30*kib)),
	sends("a batch of 500,000 empty messages", "/v2/batch", list("{}", 500_000)),
	sends("a batch of 1,000 messages with 100 headers", "/v2/batch", list(message(","+members(100, `"Upstash-Forward-H%d":"v"`)), 1000)),
	sends("a batch of batches", "/v2/batch", nested("[", "", "]", 400_000)),
	sends("a batch of 1,000 bad expressions", "/v2/batch", list(message(`,"Upstash-Retry-Delay":"`+strings.Repeat("(", 250)+`"`), 1000)),
	sends("10,000 endpoints", "/v2/topics/t/endpoints", `{"endpoints":[`+members(10_000, `{"name":"e%d","url":"https://127.0.0.1:1443/"}`)+
		`]}`),
	numbered("endpoints that are added to one topic at once", http.MethodPost, always("/v2/topics/t/endpoints"),
		`{"endpoints":[{"url":"https://127.0.0.1:1443/"}]}`, without),
	numbered("a topic with each call", http.MethodPost, func(n int) string { return fmt.Sprintf("/v2/topics/t%d/endpoints", n) },
		`{"endpoints":[{"url":"https://127.0.0.1:1443/"}]}`, without),
	numbered("a deduplication id with each message", http.MethodPost, always(publishPath), "", with("Upstash-Deduplication-Id", "d%d")),
	numbered("a queue with each message", http.MethodPost,
		func(n int) string { return fmt.Sprintf("/v2/enqueue/q%d/https://127.0.0.1:1443/", n) }, "", without),
	numbered("a flow control key with each message", http.MethodPost, always(publishPath), "",
		func(n int) []string {
			return []string{"Upstash-Flow-Control-Key", fmt.Sprint("f", n), "Upstash-Flow-Control-Value", fmt.Sprintf("rate=%d", n+1)}
		}),
	numbered("one flow control key that each message changes", http.MethodPost, always(publishPath), "",
		func(n int) []string {
			return []string{"Upstash-Flow-Control-Key", "f", "Upstash-Flow-Control-Value", fmt.Sprintf("rate=%d, parallelism=%d", n+1, n+1)}
		}),
	numbered("a schedule with each call", http.MethodPost, always("/v2/schedules/https://127.0.0.1:1443/"), "",
		with("Upstash-Cron", "%[1]d 0 1 1 *")),
	numbered("a wrong token with each call", http.MethodGet,
		func(n int) string { return fmt.Sprintf("/v2/logs?qstash_token=%d%s", n, fill("A", kib)) }, "", without),
	asks("logs that nothing matches", "/v2/logs?label=none&url=https://127.0.0.1:1443/none"),
	asks("dead letters that nothing matches, behind a huge cursor", "/v2/dlq?responseStatus=599&cursor=9223372036854775807"),
	asks("a filter with 5,000 values", "/v2/logs?label="+fill("a,", 10_000)),
	reads("logs of messages of a megabyte", 8, "/v2/logs?count=1000"),
	{"keys that rotate", func(ctx context.Context, s *strike) {
		key := s.own()
		s.flood(ctx, 8, func(int) { s.call(http.MethodPost, "/v2/keys/rotate", key, nil) })
	}},
	{"all messages cancelled again and again", func(ctx context.Context, s *strike) {
		key := s.own()
		s.call(http.MethodPost, "/v2/batch", key, []byte(list(message(""), 1000)))
		s.flood(ctx, 8, func(int) { s.call(http.MethodDelete, "/v2/messages", key, nil) })
	}},
}
